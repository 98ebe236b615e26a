"""Early results are what their window was when its trigger fired, and final ones are as if there were no trigger.

Each case has a stream and a trigger of its own: every window, shape and refinement, under compositions of all kinds of
triggers, with a clock that stands still now and then and signals that come out of nowhere, and a restart between any
two batches. The oracle looks at the whole history of each window, batch after batch.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from muntin import INFINITY, Refinement, ResultRefinement
from muntin.windows import HoppingWindows
from muntin_engine.core.changes import Timing
from muntin_engine.evaluators.general import triggered
from muntin_engine.evaluators.general.affected import Affected
from muntin_engine.evaluators.general.window_entry import TriggerState
from muntin_engine.evaluators.general.window_index import WindowIndex
from tests.core.refinements import EverySecond, OtherThanBefore
from tests.differential.cases import WINDOWS, Case, policies
from tests.differential.drive import check, failure
from tests.differential.early import EarlyCase, put_out, run_early
from tests.differential.modules import SHAPES
from tests.differential.test_inputs import insertions, samples

HOPPING = [name for name, window in WINDOWS.items() if isinstance(window, HoppingWindows)]
KEPT_SHAPES = [shape for shape in SHAPES if shape != "operator that looks back"]


def cases(
    window: str, refinement: Refinement | ResultRefinement, *, is_edge: bool = False, has_ids: bool = True
) -> list[EarlyCase]:
    """Every shape, under one of its policies."""
    random = Random(f"{window} {refinement}")
    chosen = [(shape, random.choice(list(policies(shape)))) for shape in KEPT_SHAPES]
    return [
        EarlyCase(Case(window, shape, *both, is_edge=is_edge, has_ids=has_ids), refinement, number)
        for number, (shape, both) in enumerate(chosen)
    ]


@pytest.mark.parametrize("window", WINDOWS)
def test_retracted_results_stand_for_what_each_open_window_last_was(window: str) -> None:
    for case in cases(window, Refinement.RETRACT):
        check(case, case.stream, run_early)


@pytest.mark.parametrize("window", HOPPING)
def test_accumulated_results_are_the_whole_window_so_far(window: str) -> None:
    for case in cases(window, Refinement.ACCUMULATE):
        check(case, case.stream, run_early)


@pytest.mark.parametrize("window", HOPPING)
def test_discarding_results_are_what_came_since_the_last(window: str) -> None:
    for case in cases(window, Refinement.DISCARD, has_ids=False):
        check(case, insertions(case), run_early)


@pytest.mark.parametrize("refinement", [OtherThanBefore(), EverySecond()], ids=str)
@pytest.mark.parametrize("window", HOPPING)
def test_refined_results_are_what_the_refinement_makes_of_each_result(
    window: str, refinement: ResultRefinement
) -> None:
    tried = [case for case in cases(window, refinement) if "operator" not in case.case.shape]
    assert len(tried) > 5
    for case in tried:
        check(case, case.stream, run_early)


@pytest.mark.parametrize("window", WINDOWS)
def test_samples_have_early_results_too(window: str) -> None:
    for case in cases(window, Refinement.RETRACT, is_edge=True):
        check(case, samples(case.seed), run_early)


def test_the_streams_have_early_results_of_all_kinds() -> None:
    tried = [case for window in HOPPING for case in cases(window, Refinement.RETRACT)]
    lines = [line for case in tried for line in put_out(case, case.stream)]
    assert sum(timing == Timing.EARLY for *_, timing, _ in lines) > 100
    assert sum(timing == Timing.FINAL for *_, timing, _ in lines) > 100
    assert max(firing for *_, firing in lines) > 3


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "time wakes no window": (TriggerState, "wakes", lambda *_: False),
    "time wakes no key": (WindowIndex, "wake_ups", lambda _self: (INFINITY, INFINITY)),
    "a window closes and its trigger is not told": (triggered, "due_limit", lambda *_: None),
    "whatever happens is no change": (Affected, "touches_members", property(lambda _self: False)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_evaluator_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = cases("overlapping", Refinement.RETRACT)
    monkeypatch.setattr(*FAULTS[fault])
    assert any(failure(case, case.stream, run_early) for case in found)


def test_a_state_of_a_refinement_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [case for case in cases("overlapping", EverySecond()) if "operator" not in case.case.shape]
    monkeypatch.setattr(
        TriggerState, "_replace", lambda self, **new: TriggerState(**self._asdict() | new | {"refined": None})
    )
    assert any(failure(case, case.stream, run_early) for case in found)
