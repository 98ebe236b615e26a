"""Aggregates that are added to a query, or removed from it, between two starts of it.

One that is added sees the rows that come from then on; the results of the others are those of a query that was never
stopped. The oracle looks at each window that such a query emits, and at the rows in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from operator import itemgetter
from random import Random
from typing import Any, NamedTuple

import pytest

from muntin import INFINITY, Aggregate, IncrementalAggregate, Module, hopping, session, snapshot, tumbling
from muntin.windows import WindowSpecification
from muntin_engine.errors import StateMismatchError
from muntin_engine.state.cells import MemoryCells
from muntin_stats import Max, Min, Sum
from tests.scenarios.feed import Deducted, Feed, Members, RunningTotal, Total, at, query, row
from tests.scenarios.running import extent


class Maximum(Aggregate[int, int]):
    """The largest payload, of all payloads of a window."""

    name, version = "test.maximum", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return max(payloads)


class Largest(IncrementalAggregate[int, list[int], int]):
    """The largest payload, whose state has no result without payloads."""

    name, version = "test.largest", "1.0.0"

    def create_state(self) -> list[int]:
        return []

    def add_events(self, state: list[int], payloads: Sequence[int]) -> list[int]:
        return [max([*state, *payloads])]

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        return [max(state + other)]

    def compute_result(self, state: list[int]) -> int:
        return state[0]


class Definition(NamedTuple):
    """An aggregate: its module, and the function of payloads that it computes."""

    module: Callable[[], Module]
    function: Callable[[Sequence[int]], Any]


Aggregates = Mapping[str, Definition]
"""Aggregates by name."""

MODULES: Mapping[str, Aggregates] = {
    "columnar": {
        "sum": Definition(Sum[int], sum),
        "min": Definition(Min[int], min),
        "max": Definition(Max[int], max),
    },
    "sliced": {"total": Definition(Deducted, sum), "largest": Definition(Largest, max)},
    "grouped": {
        "total": Definition(Total, sum),
        "members": Definition(Members, sorted),
        "maximum": Definition(Maximum, max),
    },
}
WINDOWS = {
    "tumbling": (tumbling(10), "points"),
    "hopping": (hopping(12, 4), "points"),
    "sessions": (session(3), "points"),
    "lasting": (hopping(12, 4), "intervals"),
    "snapshots": (snapshot(), "intervals"),
}
UNSUPPORTED = {("sliced", "lasting"), ("sliced", "snapshots"), ("columnar", "snapshots")}
CASES = [case for case in product(MODULES, WINDOWS) if case not in UNSUPPORTED]


@pytest.mark.cases(26)
@pytest.mark.parametrize(("evaluator", "name"), [*CASES, ("sums", "snapshots")])
@pytest.mark.parametrize("seed", range(6))
def test_an_added_aggregate_sees_later_rows_and_the_others_go_on(evaluator: str, name: str, seed: int) -> None:
    aggregates: Aggregates = {"sum": Definition(Sum[int], sum)} if evaluator == "sums" else MODULES[evaluator]
    evaluator = "columnar" if evaluator == "sums" else evaluator
    random = Random(f"{evaluator} {name} {seed}")
    specification, lifetimes = WINDOWS[name]
    cells = MemoryCells()

    def started(names: Sequence[str]) -> Feed:
        modules = [aggregates[aggregate].module() for aggregate in names]
        return Feed(query(specification, *modules, lifetimes=lifetimes), evaluator, cells)

    never_stopped = Feed(query(specification, Total(), lifetimes=lifetimes), "general")
    names = [random.choice([*aggregates])]
    added_in = dict.fromkeys(names, 0)
    feed = started(names)
    arrived_rows: list[tuple[int, Mapping[str, Any]]] = []  # each with the number of its batch
    compared = 0
    for number in range(14):
        if random.random() < 0.4:
            add_or_remove_one(random, names, list(aggregates))
            added_in = {aggregate: added_in.get(aggregate, number) for aggregate in names}
            feed = started(names)
            feed.restart()
        rows = [random_row(random, 5 * number, lifetimes) for _ in range(random.randrange(5))]
        arrived_rows += [(number, new_row) for new_row in rows]
        watermark = INFINITY if number == 13 else max(0, 5 * number - 12)
        results = by_window(feed.batch(*rows, watermark=watermark).rows)
        windows = by_window(never_stopped.batch(*rows, watermark=watermark).rows)
        for (key, window, values), (expected_key, expected_window, _) in zip(results, windows, strict=True):
            assert (key, window) == (expected_key, expected_window)
            members: list[tuple[int, int]] = []
            for batch, arrived_row in arrived_rows:
                if arrived_row["key"] == key and is_in_window(arrived_row, *window):
                    members.append((batch, arrived_row["payload"]))
            for aggregate, value in zip(names, values, strict=True):
                payloads = [x for batch, x in members if batch >= added_in[aggregate] or evaluator == "grouped"]
                expected = aggregates[aggregate].function(payloads) if payloads else None
                assert value == expected, (aggregate, window, members)
                if expected is not None:
                    compared += 1
    assert compared > 3


def add_or_remove_one(random: Random, names: list[str], choices: Sequence[str]) -> None:
    """Add another aggregate at a random place, or remove one if there are several."""
    new_names = [name for name in choices if name not in names]
    if new_names and (len(names) == 1 or random.random() < 0.7):
        names.insert(random.randrange(len(names) + 1), random.choice(new_names))
    elif len(names) > 1:
        names.remove(random.choice(names))


def random_row(random: Random, newest: int, lifetimes: str) -> dict[str, Any]:
    """Draw a row that is not late."""
    start = newest + random.randrange(-5, 6)
    value = random.randrange(100)
    key = random.choice("ab")
    if lifetimes == "points":
        return at(start, value, key)
    return row(None, start, start + random.randrange(1, 9), value, key)


def is_in_window(row: Mapping[str, Any], start: int, end: int) -> bool:
    return bool(row["start"] < end and row["end"] > start)


def by_window(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, tuple[int, int], list[Any]]]:
    """Return results as their key, their window and their values, in order."""
    results: list[tuple[str, tuple[int, int], list[Any]]] = []
    for result in rows:
        values = [value for name, value in result.items() if name not in ("key", "window")]
        results.append((result["key"], extent(result["window"]), values))
    return sorted(results, key=itemgetter(0, 1))


def continued(
    window: WindowSpecification, evaluator: str, old: Sequence[Module], new: Sequence[Module]
) -> list[list[Any]]:
    """Start a query with the state of another one, and return its results."""
    feed = Feed(query(window, *old, lifetimes="points"), evaluator)
    feed.batch(at(1, 3), watermark=0)
    changed = Feed(query(window, *new, lifetimes="points"), evaluator, feed.cells)
    return [values for _, _, values in by_window(changed.batch(at(2, 4), watermark=INFINITY).rows)]


@pytest.mark.parametrize(
    ("evaluator", "old", "new", "message"),
    [
        ("columnar", [Sum[int]()], [Max[int]()], "not both at once"),
        ("columnar", [Sum[int](), Min[int]()], [Sum[int](), Max[int]()], "not both at once"),
        ("general", [Total()], [Total(), RunningTotal()], "cannot be added or removed here: the state of each key"),
        ("general", [Total(), RunningTotal()], [Total()], "cannot be added or removed here: the state of each key"),
    ],
)
def test_a_query_that_cannot_continue_is_refused_with_the_reason(
    evaluator: str, old: Sequence[Module], new: Sequence[Module], message: str
) -> None:
    with pytest.raises(StateMismatchError, match=message):
        continued(tumbling(10), evaluator, old, new)


def test_the_order_of_aggregates_is_no_difference() -> None:
    assert continued(tumbling(10), "columnar", [Sum[int](), Min[int]()], [Min[int](), Sum[int]()]) == [[3, 7]]
