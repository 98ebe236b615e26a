"""Output before its time: put out early, corrected when it changes, and no more than what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from muntin import (
    INFINITY,
    Aggregate,
    EmitPolicy,
    Module,
    TimestampPolicy,
    count_by_start,
    hopping,
    snapshot,
    tumbling,
)
from muntin_engine.core.changes import OutputKind
from muntin_engine.state.codec import Codec
from tests.core.build import Feed, Members, RunningTotal, Total, output, query, revision, row, spelled

SPECULATIVE = EmitPolicy.SPECULATIVE
EAGER = EmitPolicy.EAGER


def test_a_window_is_put_out_when_the_watermark_passes_its_end() -> None:
    """
                  0    5    10
    a                [-)                 3 to 5
    b                     !              9: the largest start seen, so the max event time is 9
    c                       !            10: [0, 10) is in sight
    """
    feed = Feed(query(tumbling(10), emit=SPECULATIVE))
    assert spelled(feed.batch(row("a", 3, 5), row("b", 9, 10))) == []
    assert spelled(feed.batch(row("c", 10, 11))) == ["+1 [0,10) (0, 0)"]


def test_a_row_of_another_key_moves_the_watermark_too() -> None:
    feed = Feed(query(tumbling(10), emit=SPECULATIVE))
    feed.batch(row("a", 3, 5), key="x")
    assert spelled(feed.batch(row("b", 12, 13), key="y")) == ["+1 [0,10) (0,)"]


def test_a_late_row_takes_back_what_it_changes_and_nothing_else() -> None:
    """
                  0    5    10   15
    windows  [---------)                 not out: it had no member
                  [---------)            out
                       [---------)       out
    late            !                    at 2: in the first two
    """
    feed = Feed(query(hopping(10, 5), emit=SPECULATIVE))
    feed.batch(row("a", 6, 7, 1), row("b", 15, 16, 2))
    late = feed.batch(row("c", 2, 3, 3))
    assert spelled(late) == ["+3 [-5,5) (3,)", "-1 [0,10) (1,)", "+4 [0,10) (1, 3)"]


class Counted(NamedTuple):
    values: list[int]
    size: int


def showing(kind: Any, show: Callable[[list[int]], Any]) -> Module:
    """Return a module that shows its sorted payloads in a way, declared to be of a type."""

    class Shown(Aggregate[int, kind]):
        name, version = "test.shown", "1.0.0"

        def compute_result(self, payloads: Sequence[int]) -> Any:
            return show(sorted(payloads))

    return Shown()


SHOWN: dict[str, tuple[Any, Callable[[list[int]], Any], Any]] = {
    "array": (list[int], np.array, [1, 2]),
    "matrix": (list[list[int]], lambda values: np.array([values]), [[1, 2]]),
    "in a map": (dict[str, list[int]], lambda values: {"a": np.array(values)}, {"a": [1, 2]}),
    "in a record": (Counted, lambda values: Counted(np.array(values), 2), Counted([1, 2], 2)),  # type: ignore[arg-type]
    "iterator": (list[int], iter, [1, 2]),
    "tuple": (list[int], tuple, (1, 2)),
}


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("emit", [EAGER, EmitPolicy.FINAL])
def test_a_list_may_be_an_array_whether_or_not_results_are_kept(name: str, emit: EmitPolicy) -> None:
    kind, show, plain = SHOWN[name]
    feed = Feed(query(tumbling(10), showing(kind, show), emit=emit), Codec([Counted]))
    out = output(feed.batch(row("a", 3, 5, 1), row("b", 4, 5, 2))) + output(feed.batch(watermark=20))
    assert [change.value for change in out] == [(plain,)]
    if emit is EAGER:
        output(feed.batch(row("c", 33, 34, 1), row("d", 34, 35, 2), watermark=30))
        retraction, _ = output(feed.batch(revision("c", 33, 34, 33)))
        assert (retraction.kind, retraction.value) == (OutputKind.RETRACT, (plain,))


def test_a_window_whose_result_stays_the_same_puts_out_nothing() -> None:
    feed = Feed(query(tumbling(10), Total(), emit=EAGER))
    feed.batch(row("a", 3, 5, 7))
    assert spelled(feed.batch(row("b", 4, 5, 0))) == []
    assert spelled(feed.batch(revision("a", 3, 5, 6))) == []
    assert spelled(feed.batch(row("c", 4, 5, 1), row("d", 4, 5, -1))) == []


def test_an_eager_window_is_put_out_with_its_first_member() -> None:
    feed = Feed(query(tumbling(10), emit=EAGER))
    assert spelled(feed.batch(row("a", 3, 12))) == ["+1 [0,10) (0,)", "+2 [10,20) (0,)"]
    assert spelled(feed.batch(revision("a", 3, 12, 8))) == ["-2 [10,20) (0,)"]
    assert spelled(feed.batch(revision("a", 3, 8, 3))) == ["-1 [0,10) (0,)"]
    feed.batch(watermark=4)
    assert feed.states == []


def test_an_open_event_gets_new_windows_as_the_horizon_moves() -> None:
    feed = Feed(query(tumbling(10), emit=EAGER))
    assert spelled(feed.batch(row("a", 3), key="x")) == ["+1 [0,10) (0,)"]
    assert spelled(feed.batch(row("b", 9, 10), key="y")) == ["+1 [0,10) (0,)"]
    both = feed.batch(row("c", 25, 26, 5), key="y")
    assert sorted(spelled(both)) == ["+2 [10,20) (0,)", "+2 [20,30) (5,)", "+3 [20,30) (0,)"]


def test_snapshots_split_and_merge() -> None:
    """
                  0    5    10
    a             [---------)
    b                [--)                splits the snapshot of "a" in three
    """
    feed = Feed(query(snapshot(), emit=EAGER))
    assert spelled(feed.batch(row("a", 0, 10, 1))) == ["+1 [0,10) (1,)"]
    assert spelled(feed.batch(row("b", 3, 6, 2))) == [
        "+2 [0,3) (1,)",
        "-1 [0,10) (1,)",
        "+3 [3,6) (1, 2)",
        "+4 [6,10) (1,)",
    ]
    assert spelled(feed.batch(revision("b", 3, 6, 3))) == [
        "-2 [0,3) (1,)",
        "+5 [0,10) (1,)",
        "-3 [3,6) (1, 2)",
        "-4 [6,10) (1,)",
    ]


def test_count_windows_give_way_to_a_start_between_theirs() -> None:
    feed = Feed(query(count_by_start(2), emit=EAGER))
    assert spelled(feed.batch(row("a", 0, 1, 1), row("b", 9, 10, 2))) == ["+1 [0,10) (1, 2)"]
    assert spelled(feed.batch(row("c", 5, 6, 3))) == ["+2 [0,6) (1, 3)", "-1 [0,10) (1, 2)", "+3 [5,10) (2, 3)"]


def test_points_at_the_end_are_retracted_and_inserted_there() -> None:
    feed = Feed(query(tumbling(10), emit=EAGER, timestamps=TimestampPolicy.POINT_AT_END))
    feed.batch(row("a", 3, 5, 1))
    assert spelled(feed.batch(row("b", 4, 5, 2))) == ["-1 [10,11) (1,)", "+2 [10,11) (1, 2)"]


def test_a_closed_window_is_out_of_reach() -> None:
    feed = Feed(query(tumbling(10), emit=SPECULATIVE))
    feed.batch(row("a", 3, 25), watermark=10)
    assert spelled(feed.batch(revision("a", 3, 25, 15), row("b", 20, 21))) == ["+2 [10,20) (0,)"]


@pytest.mark.parametrize("overlap", [2, 200])
def test_rows_in_order_cost_the_same_whatever_the_overlap_of_windows(overlap: int) -> None:
    """A window that comes into sight is part of a slide: each row enters once and leaves once."""
    module = RunningTotal()
    feed = Feed(query(hopping(10 * overlap, 10), module, emit=SPECULATIVE))
    for first in range(0, 4000, 400):
        feed.batch(*(row(at, at, at + 1, 1) for at in range(first, first + 400)))
    feed.batch(watermark=INFINITY)
    assert module.added + module.removed <= 4000 * 2 + 11 * 10 * overlap + 400


def test_the_second_change_of_a_window_updates_its_state() -> None:
    module = RunningTotal()
    feed = Feed(query(tumbling(100), module, emit=EAGER))
    feed.batch(*(row(at, at, at + 1, 1) for at in range(50)))
    feed.batch(row("first", 60, 61, 1))
    assert module.added == 50 + 51
    feed.batch(row("second", 61, 62, 1), revision(3, 3, 4, 3))
    assert (module.added, module.removed, module.built) == (102, 1, 2)
    assert spelled(feed.batch(row("third", 62, 63, 5)))[-1].endswith(" 56")


def test_a_change_calls_no_module_for_windows_it_does_not_affect() -> None:
    calls: list[int] = []

    class Counting(Members):
        def compute_result(self, payloads: object) -> tuple[int, ...]:
            calls.append(1)
            return ()

    feed = Feed(query(tumbling(10), Counting(), emit=EAGER))
    feed.batch(*(row(at, at, at + 1) for at in range(0, 1000, 10)))
    calls.clear()
    feed.batch(row("late", 503, 504))
    assert len(calls) == 1
