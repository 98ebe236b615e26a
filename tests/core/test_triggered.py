"""Early results: which windows are put out, what a refinement does to them, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from muntin import INFINITY, Window, count_by_start, early, hopping, snapshot
from muntin.errors import ModuleContractError, ModuleFailedError
from muntin.triggers import (
    Decision,
    Trigger,
    TriggerView,
    after_count,
    every,
    every_count,
    on_signal,
    past_part,
    percentile,
    repeat,
    when,
)
from muntin.windows import WindowKind
from tests.core.build import Members, RunningTotal, output, revision, row
from tests.core.early import at, fed, fired
from tests.differential.modules import Positive

# Which windows fire


def test_only_the_windows_whose_trigger_fires_are_put_out() -> None:
    """
                  0    5    10   15   20
    events         1  1      1           two in [0, 10), one in [10, 20)
    """
    feed = fed(every_count(2))
    assert fired(feed.batch(at(1), at(4), at(11))) == ["early 0 [0,10) 2"]
    assert fired(feed.batch(at(12, 5))) == ["early 0 [10,20) 6"]


def test_a_window_fires_once_in_a_batch_however_much_comes() -> None:
    feed = fed(every_count(2))
    assert fired(feed.batch(*(at(1) for _ in range(9)))) == ["early 0 [0,10) 9"]
    assert fired(feed.batch(at(2))) == []
    assert fired(feed.batch(at(2))) == ["early 1 [0,10) 11"]


def test_every_window_of_a_member_has_a_trigger_of_its_own() -> None:
    """
                  0    5    10   15
    events           1     1             one in [-5, 5) and [0, 10), the other in [0, 10) and [5, 15)
    """
    feed = fed(every_count(2), hopping(10, 5))
    feed.batch(at(3))
    assert fired(feed.batch(at(9))) == ["early 0 [0,10) 2"]


def test_a_firing_without_a_change_since_the_last_puts_out_nothing() -> None:
    feed = fed(repeat(on_signal("now")))
    assert fired(feed.batch(at(1), signals=["now"])) == ["early 0 [0,10) 1"]
    assert fired(feed.batch(signals=["now"])) == []
    assert fired(feed.batch(at(1))) == []
    assert fired(feed.batch(signals=["now"])) == ["early 1 [0,10) 2"]


def test_a_window_that_closes_is_put_out_for_good_and_not_early_as_well() -> None:
    feed = fed(every_count(1))
    assert fired(feed.batch(at(1), watermark=10)) == ["final 0 [0,10) 1"]
    assert fired(feed.batch(at(11))) == ["early 0 [10,20) 1"]
    assert fired(feed.batch(at(12), watermark=INFINITY)) == ["final 1 [10,20) 2"]


def test_a_trigger_that_is_finished_leaves_the_rest_to_the_final_result() -> None:
    feed = fed(after_count(1))
    assert fired(feed.batch(at(1))) == ["early 0 [0,10) 1"]
    assert fired(feed.batch(at(2))) == []
    assert fired(feed.batch(watermark=10)) == ["final 1 [0,10) 2"]


def test_a_clock_wakes_windows_without_rows() -> None:
    feed = fed(every(60))
    feed.batch(at(1), clock=70)
    assert fired(feed.batch(clock=119)) == []
    assert fired(feed.batch(clock=125)) == ["early 0 [0,10) 1"]
    assert fired(feed.batch(clock=900)) == []
    feed.batch(at(2), clock=905)
    assert fired(feed.batch(clock=960)) == ["early 1 [0,10) 2"]


def test_while_no_clock_was_read_a_timer_waits_for_the_first_reading() -> None:
    feed = fed(every(60))
    feed.batch(at(1))
    feed.batch(clock=70)
    assert fired(feed.batch(clock=120)) == ["early 0 [0,10) 1"]


def test_the_watermark_wakes_windows_of_other_keys() -> None:
    feed = fed(past_part(0.5))
    feed.batch(at(1), key="x")
    assert fired(feed.batch(at(4), key="y")) == []
    assert sorted(fired(feed.batch(at(5), key="y"))) == ["early 0 [0,10) 1", "early 0 [0,10) 2"]


def test_a_percentile_asks_for_a_member_of_the_window_itself() -> None:
    feed = fed(percentile(0.5))
    feed.batch(at(1), key="x")
    assert fired(feed.batch(at(5), key="y")) == ["early 0 [0,10) 1"]
    assert fired(feed.batch(at(7), key="x")) == ["early 0 [0,10) 2"]


def test_a_signal_reaches_every_open_window_of_every_key() -> None:
    feed = fed(on_signal("dusk"))
    feed.batches([(("x",), [at(1), at(11)]), (("y",), [at(2)])])
    assert fired(feed.batch(signals=["dawn"])) == []
    woken = fired(feed.batch(at(21), key="z", signals=["dusk", "dawn"]))
    assert sorted(woken) == ["early 0 [0,10) 1", "early 0 [0,10) 1", "early 0 [10,20) 1", "early 0 [20,30) 1"]


def test_a_condition_asks_each_new_member() -> None:
    feed = fed(repeat(when("v > 5")), expressions={"v > 5": lambda payload: payload[0] > 5})
    assert fired(feed.batch(at(1, 5))) == []
    assert fired(feed.batch(at(2, 6), at(3, 1))) == ["early 0 [0,10) 12"]
    assert fired(feed.batch(at(4, 2))) == []


def test_an_operator_that_has_nothing_to_say_fires_all_the_same() -> None:
    feed = fed(every_count(1), module=Positive())
    assert fired(feed.batch(at(1, -3))) == []
    assert [change.firing for change in output(feed.batch(at(1, 3)))] == [1]


# What refinements do


def test_accumulate_discard_and_retract_differ_as_in_the_dataflow_model() -> None:
    """Two panes, of 3 and of 8 and 1: the panes, the last of them, and their sum."""
    found = {}
    for refinement in ("accumulate", "discard", "retract"):
        feed = fed(early(every_count(1), refinement=refinement))
        found[refinement] = fired(feed.batch(at(1, 3))) + fired(feed.batch(at(2, 8), at(3, 1)))
    assert found == {
        "accumulate": ["early 0 [0,10) 3", "early 1 [0,10) 12"],
        "discard": ["early 0 [0,10) 3", "early 1 [0,10) 9"],
        "retract": ["early 0 [0,10) 3", "-early 0 [0,10) 3", "early 1 [0,10) 12"],
    }


def test_the_final_result_of_discard_is_the_rest() -> None:
    feed = fed(early(every_count(2), refinement="discard"))
    feed.batch(at(1, 3), at(2, 4))
    feed.batch(at(3, 5))
    assert fired(feed.batch(watermark=10)) == ["final 1 [0,10) 5"]


def test_where_nothing_is_left_discard_has_no_final_result() -> None:
    feed = fed(early(every_count(2), refinement="discard"))
    feed.batch(at(1, 3), at(2, 4))
    assert fired(feed.batch(watermark=10)) == []


def test_what_was_put_out_last_is_taken_back_before_the_final_result() -> None:
    feed = fed(early(every_count(1), refinement="retract"))
    feed.batch(at(1, 3))
    feed.batch(at(2, 4))
    assert fired(feed.batch(watermark=10)) == ["-early 1 [0,10) 7", "final 2 [0,10) 7"]


def test_a_snapshot_that_is_cut_in_two_is_taken_back() -> None:
    """
                  0    5    10
    a             [---------)            put out as one snapshot
    b                  [----)            cuts it at 5
    """
    feed = fed(early(every_count(1), refinement="retract"), snapshot(), Members(), has_ids=True)
    assert fired(feed.batch(row("a", 0, 10, 1))) == ["early 0 [0,10) (1,)"]
    assert fired(feed.batch(row("b", 5, 10, 2))) == [
        "-early 0 [0,10) (1,)",
        "early 0 [0,5) (1,)",
        "early 0 [5,10) (1, 2)",
    ]


def test_a_window_that_loses_its_last_member_is_taken_back_and_starts_anew() -> None:
    feed = fed(early(every_count(1), refinement="retract"), has_ids=True)
    feed.batch(row("a", 1, 2, 3))
    assert fired(feed.batch(revision("a", 1, 2, 1))) == ["-early 0 [0,10) 3"]
    assert fired(feed.batch(row("b", 1, 2, 4))) == ["early 0 [0,10) 4"]


# What it costs, and what can go wrong


def test_windows_that_are_not_touched_or_due_are_not_asked() -> None:
    asked: list[Window] = []

    @dataclass(frozen=True)
    class Watched(Trigger):
        name: ClassVar[str] = "test.watched"

        def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
            asked.append(window)
            return state, Decision.WAIT

        def next_clock(self, state: Any, window: Window) -> int:
            return 50 if window.start == 10 else INFINITY

    feed = fed(Watched())
    feed.batch(*(at(start) for start in range(0, 50, 10)))
    asked.clear()
    feed.batch(at(31), clock=49)
    assert asked == [Window(30, 40)]
    feed.batch(clock=50)
    assert asked == [Window(30, 40), Window(10, 20)]


def test_a_module_is_called_for_windows_that_fire_alone() -> None:
    module = RunningTotal()
    feed = fed(every_count(100), hopping(100, 10), module)
    for start in range(60):
        feed.batch(at(start))
    assert module.built == 0


def test_windows_that_fire_together_share_the_work() -> None:
    module = RunningTotal()
    feed = fed(on_signal("now"), hopping(1000, 1), module)
    feed.batch(*(at(start) for start in range(2000)))
    assert len(fired(feed.batch(signals=["now"]))) == 2999
    assert module.added + module.removed <= 2 * 2000


def test_a_trigger_that_fails_is_named_with_its_key_and_window() -> None:
    @dataclass(frozen=True)
    class Broken(Trigger):
        name: ClassVar[str] = "test.broken"

        def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
            raise KeyError("price")

    with pytest.raises(ModuleFailedError, match=r"test\.broken 1 failed in step: KeyError: 'price'") as failed:
        fed(Broken()).batch(at(1))
    assert (failed.value.key, failed.value.window) == (("k",), Window(0, 10))


def test_a_trigger_that_answers_something_else_is_told_what_is_expected() -> None:
    @dataclass(frozen=True)
    class Vague(Trigger):
        name: ClassVar[str] = "test.vague"

        def step(self, state: Any, window: Window, view: TriggerView) -> Any:
            return True

    with pytest.raises(ModuleContractError, match=r"answered True .*\n  expected: a pair of its state and a Decision"):
        fed(Vague()).batch(at(1))


@pytest.mark.parametrize("refinement", ["accumulate", "discard"])
@pytest.mark.parametrize("window", [snapshot(), count_by_start(2)])
def test_windows_that_events_cut_must_be_retracted(window: WindowKind, refinement: str) -> None:
    with pytest.raises(
        ValueError, match="is cut by events, so a window whose result was emitted early may cease to exist"
    ):
        fed(early(every_count(1), refinement=refinement), window)


@pytest.mark.parametrize("changing", [{"has_ids": True}, {"is_edge": True}])
def test_what_may_be_revised_cannot_be_discarded(changing: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="use 'accumulate' or 'retract', or leave the id out"):
        fed(early(every_count(1), refinement="discard"), **changing)
