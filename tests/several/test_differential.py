"""A module with several inputs gets the events of each of them that live in a window, by definition."""

from __future__ import annotations

import pytest

from muntin.windows.specification import Unwindowed
from muntin_engine.state.cells import MemoryCells
from tests.differential.lifetimes import Row
from tests.several.drive import batch, check, emitted, task
from tests.several.modules import Answers


@pytest.mark.parametrize("seed", range(4))
def test_results_are_those_of_each_inputs_events_in_a_window(seed: int) -> None:
    check(seed)


def test_a_stream_operator_follows_the_events_of_several_inputs() -> None:
    # west  1 at 3, 2 at 5      3 at 20
    # east          2 at 9           3 at 21, 1 at 40
    query, cells = task(Answers(), Unwindowed(), "event_by_event", has_ids=False), MemoryCells()
    given = {"west": [(3, 1), (5, 2), (20, 3)], "east.far": [(9, 2)], "east.near": [(21, 3), (40, 1)], "else": [(4, 1)]}
    found = []
    for source, events in given.items():
        rows = [Row("insert", None, at, None, None, number) for at, number in events]
        found += emitted(query, cells, batch("a", source, [*rows, Row("close")], has_ids=False))
    assert [(row["lifetime"]["start"], row["value"]) for row in found] == [(9, 4), (21, 1), (40, 37)]
