"""Going through windows in order while their members come and go.

         0    5    10   15
a        [------)               0 to 7
b           [-----------)       3 to 15
c                     !         13
windows  [----)                 a, b
              [----)            a, b
                   [----)       b, c
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin import ClipPolicy, IncrementalAggregate, Window
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.evaluators.keyed.computation import ModuleComputation, Slide, sweep
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from tests.core.build import Members, RunningTotal, first_value

A = StoredEvent("a", 0, 7, (1,), 0, 7)
B = StoredEvent("b", 3, 15, (10,), 3, 15)
C = StoredEvent("c", 13, 14, (100,), 13, 14)
NOWHERE = StoredEvent("n", 4, 6, (1000,), 4, 4)


def windows(size: int, hop: int, *, first: int = 0, last: int = 10) -> list[Window]:
    return [Window(start, start + size) for start in range(first, last + 1, hop)]


def seen(cut: list[Window], *events: StoredEvent) -> list[tuple[str, ...]]:
    """The members, those who entered and those who left, for each step."""
    return [
        ("".join(map(str, step.members)), *("".join(str(e.id) for e in some) for some in (step.entered, step.left)))
        for step in sweep(cut, events)
    ]


def test_members_enter_once_and_leave_once() -> None:
    assert seen(windows(5, 5), C, B, A) == [("ab", "ab", ""), ("ab", "", ""), ("bc", "c", "a")]


def test_an_event_whose_membership_is_empty_is_nowhere() -> None:
    assert seen(windows(5, 5), NOWHERE) == []


def test_a_step_without_members_follows_one_that_had_some() -> None:
    assert seen(windows(5, 5, last=25), C) == [("c", "c", ""), ("", "", "c")]


def test_gaps_between_windows_may_swallow_an_event() -> None:
    point = StoredEvent("p", 6, 7, (0,), 6, 7)
    assert seen(windows(4, 10), point, A, C) == [("a", "a", ""), ("c", "c", "a")]


def test_each_window_of_many_that_overlap_has_its_members() -> None:
    for step in sweep(windows(6, 1, first=-8, last=20), [C, A, B]):
        start, end = step.window.start, step.window.end
        assert set(step.members) == {e.id for e in (A, B, C) if e.since < end and e.until > start}


def results(module: Any, cut: list[Window], *events: StoredEvent) -> list[Any]:
    slide = Slide(ModuleComputation(Binding(module, first_value), ClipPolicy.NONE), "k")
    found = []
    for step in sweep(cut, events):
        if step.members:
            found.append(slide.result(step))
        else:
            slide.skip()
    return found


def test_a_state_slides_from_window_to_window() -> None:
    module = RunningTotal()
    assert results(module, windows(6, 1, first=-5, last=14), A, B, C) == [
        *[1] * 3,
        *[11] * 9,
        10,
        *[110] * 6,
        10,
    ]
    assert (module.built, module.added, module.removed) == (1, 3, 2)


def test_a_state_is_built_anew_where_more_left_than_stayed() -> None:
    module = RunningTotal()
    crowd = [StoredEvent(id, 0, 1, (1,), 0, 1) for id in range(9)]
    assert results(module, windows(5, 5), B, *crowd) == [19, 10, 10]
    assert (module.built, module.removed) == (2, 0)


def test_a_slide_starts_anew_after_a_step_it_passed() -> None:
    module = RunningTotal()
    late = StoredEvent("l", 40, 41, (7,), 40, 41)
    assert results(module, windows(5, 5, last=45), A, late) == [1, 1, 7]
    assert module.built == 2


def test_a_module_without_a_state_gets_all_members_each_time() -> None:
    assert results(Members(), windows(5, 5), A, B, C) == [(1, 10), (1, 10), (10, 100)]


class NeverRemoves(IncrementalAggregate[int, int, int]):
    """A running total of what came."""

    name, version = "test.never_removes", "1"

    def __init__(self) -> None:
        self.built = 0

    def create_state(self) -> int:
        self.built += 1
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def compute_result(self, state: int) -> int:
        return state


def test_a_state_that_nothing_can_leave_goes_on_for_as_long_as_nothing_does() -> None:
    """The steps of windows that grow have ever more members; only those after event a ends lose one."""
    module = NeverRemoves()
    assert results(module, windows(5, 5), A, B, C) == [11, 11, 110]
    assert module.built == 2
