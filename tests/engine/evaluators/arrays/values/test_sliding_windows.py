"""Windows that are made from the one before, beside windows of the same slices that are a slice each."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from muntin import IncrementalAggregate, hopping, tumbling
from muntin_engine import events, module


class Listed(IncrementalAggregate[int, list[int], list[int]]):
    """The values of a window, from the oldest to the newest: rows are added and removed, and states never combined."""

    name, version = "test.listed", "1"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [*state, *payloads]

    def remove_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return state[len(payloads) :]

    def compute_result(self, state: list[int]) -> list[int]:
        return state


def test_a_window_of_one_slice_has_a_state_of_its_rows() -> None:
    """The slices of a module that only adds and removes rows are rows, which are no state of the module yet."""
    rows = pa.table({"k": [1, 1, 1, 2], "at": [1, 1, 3, 5], "value": [10, 20, 30, 40]})
    stream = events(rows, key="k", at="at").windows(long=hopping(6, 2), short=tumbling(2))
    query = stream.aggregate(values=module(Listed, "value"))
    assert query.plan.arrays.slides, "states go on from window to window"

    results: dict[str, list[tuple[int, int, list[int]]]] = {"long": [], "short": []}
    for row in query.results().to_pylist():
        results[row["window_name"]].append((row["k"], row["window"]["start"], row["values"]))
    assert sorted(results["short"]) == [(1, 0, [10, 20]), (1, 2, [30]), (2, 4, [40])]
    assert sorted(results["long"]) == [
        (1, -4, [10, 20]),
        (1, -2, [10, 20, 30]),
        (1, 0, [10, 20, 30]),
        (1, 2, [30]),
        (2, 0, [40]),
        (2, 2, [40]),
        (2, 4, [40]),
    ]
