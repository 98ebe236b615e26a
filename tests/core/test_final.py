"""Final output: each window once, when nothing can alter it, at a cost that in a batch does not depend on overlap."""

from __future__ import annotations

import pytest

from muntin import INFINITY, EarlyEmission, EmitPolicy, count_by_start, early, hopping, landmark, snapshot, tumbling
from muntin.triggers import every_count
from muntin.windows import WindowKind
from muntin_engine.core.evaluator_query import Binding, EvaluatorQuery
from muntin_engine.evaluators.keyed.event_index import EventIndex
from tests.core.build import Feed, Lengths, RunningTotal, first_value, output, query, revision, row, spelled


def test_a_window_is_put_out_once_with_all_corrections_in() -> None:
    """
                  0    5    10
    a             [------->              to infinity, then to 7, then to 2
    b                 !                  deleted before it counted
    """
    feed = Feed(query(tumbling(5), emit=EmitPolicy.FINAL))
    assert spelled(feed.batch(row("a", 0, value=1), row("b", 4, 5, 9))) == []
    assert spelled(feed.batch(revision("a", 0, INFINITY, 7), revision("b", 4, 5, 4), watermark=4)) == []
    assert spelled(feed.batch(watermark=10)) == ["+1 [0,5) (1,)", "+2 [5,10) (1,)"]
    assert spelled(feed.batch(watermark=INFINITY)) == []


def test_windows_come_in_order() -> None:
    feed = Feed(query(hopping(6, 2)))
    feed.batch(row("a", 9, 10), row("b", 3, 4), row("c", -5, -4))
    starts = [change.window.start for change in output(feed.batch(watermark=INFINITY))]
    assert starts == sorted(starts) == [-10, -8, -6, -2, 0, 2, 4, 6, 8]


def test_an_empty_window_puts_out_nothing() -> None:
    feed = Feed(query(tumbling(5)))
    feed.batch(row("a", 1, 2), row("b", 21, 22))
    assert [change.window.start for change in output(feed.batch(watermark=INFINITY))] == [0, 20]


@pytest.mark.parametrize("emit", [EmitPolicy.FINAL, early(every_count(9), refinement="retract")], ids=str)
def test_a_state_does_not_slide_across_a_window_that_closed_before(emit: EmitPolicy | EarlyEmission) -> None:
    """
                  0    5    10   15   20   25   30
    a             [----------------------------)    may still be shortened at 10, so its window waits
    b                  .                            its window is complete at 10
    c                                 .
    """
    bindings = (Binding(RunningTotal(), first_value), Binding(Lengths(), first_value))
    feed = Feed(EvaluatorQuery(count_by_start(1), bindings, emit=emit))
    result = feed.batch(row("a", 0, 30, 1), row("b", 5, 6, 2), row("c", 20, 21, 4), watermark=10)
    assert spelled(result) == ["+1 [5,6) (2, (1,))"]
    assert spelled(feed.batch(watermark=INFINITY)) == ["+2 [0,1) (1, (30,))", "+3 [20,21) (4, (1,))"]


@pytest.mark.parametrize("overlap", [1, 10, 1000])
def test_each_row_enters_once_and_leaves_once_whatever_the_overlap_of_windows(overlap: int) -> None:
    module = RunningTotal()
    feed = Feed(query(hopping(overlap, 1), module))
    feed.batch(*(row(at, at, at + 1, 1) for at in range(2000)))
    assert len(output(feed.batch(watermark=INFINITY))) == 2000 + overlap - 1
    assert module.built <= 2000 / overlap + 2
    assert module.added + module.removed <= 2000 * 2 + overlap


@pytest.mark.parametrize(("window", "every", "batches"), [(hopping(50, 10), 10, 5), (hopping(50, 10), 50, 2)])
def test_a_row_enters_again_in_each_micro_batch_that_closes_windows_of_it(
    window: WindowKind, every: int, batches: int
) -> None:
    """A row is in five windows; where each batch closes one, it enters five times, and where one closes five, twice."""
    module = RunningTotal()
    feed = Feed(query(window, module))
    for start in range(0, 1000, every):
        feed.batch(*(row(at, at, at + 1, 1) for at in range(start, start + every)), watermark=start + every)
    feed.batch(watermark=INFINITY)
    entered = module.added / 1000
    assert batches - 1 < entered <= batches


def test_no_row_leaves_windows_that_only_grow() -> None:
    """A row enters in each batch, and is kept; `explain()` says both."""
    module = RunningTotal()
    feed = Feed(query(landmark(10), module))
    for start in range(0, 200, 10):
        result = feed.batch(*(row(at, at, at + 1, 1) for at in range(start, start + 10)), watermark=start + 10)
    assert (module.built, module.added) == (20, sum(range(10, 210, 10)))
    assert result.held.events == 200


@pytest.mark.parametrize("window", [snapshot(), count_by_start(50)])
def test_so_it_does_for_windows_that_events_make(window: object) -> None:
    module = RunningTotal()
    feed = Feed(query(window, module))  # type: ignore[arg-type]  # either
    feed.batch(*(row(at, at, at + 50, 1) for at in range(1000)))
    assert output(feed.batch(watermark=INFINITY))
    assert module.added + module.removed <= 1000 * 2 + 50


def test_old_events_cost_a_batch_nothing_but_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules are called with rows that close, and the index is asked for no event that did not change."""
    module = RunningTotal()
    feed = Feed(query(tumbling(10), module))
    feed.batch(*(row(f"old {n}", 1, 10**6 + n) for n in range(500)))
    looked_up: list[object] = []
    get = EventIndex.get

    def watched(self: EventIndex, id: object) -> object:
        looked_up.append(id)
        return get(self, id)

    monkeypatch.setattr(EventIndex, "get", watched)
    feed.batch(row("new", 2, 3))
    assert looked_up == [("new", 2)]
    assert module.added == 0
