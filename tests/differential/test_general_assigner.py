"""Muntin's own kinds without their fast assigners, against the same oracle: the general assigner is right for all.

The oracle defines these kinds from the events, and calls nothing of what is tested here.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from unittest.mock import patch

import pytest

from muntin import EmitPolicy, Refinement, TimestampPolicy
from muntin.windows import WindowKind
from muntin_engine.evaluators.general.assignment.general import GeneralAssigner
from muntin_engine.evaluators.general.key_state import SPECIAL, assigner_of
from tests.differential.cases import WINDOWS, Case, policies
from tests.differential.drive import check, run
from tests.differential.early import EarlyCase, run_early
from tests.differential.modules import SHAPES
from tests.differential.test_early import HOPPING
from tests.differential.test_inputs import some_policies
from tests.differential.test_time_bound import FIXED_VALUES, run_every_tick, run_every_tick_of_any_window

EVERY_WINDOW = pytest.mark.parametrize("window", WINDOWS)


@pytest.fixture(autouse=True)
def _without_special_assigners() -> Iterator[None]:
    with patch.dict(SPECIAL, clear=True):
        yield


@pytest.mark.parametrize("kind", WINDOWS.values(), ids=str)
def test_the_general_assigner_is_what_is_tested(kind: WindowKind) -> None:
    assert isinstance(assigner_of(kind), GeneralAssigner)


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_WINDOW
def test_the_output_is_that_of_the_reference(window: str, emit: EmitPolicy) -> None:
    random = Random(f"{window} {emit}")
    cases = [Case(window, shape, *both, emit) for shape in SHAPES for both in policies(shape)]
    for case in random.sample(cases, 3):
        check(case, case.stream, run)


@EVERY_WINDOW
def test_early_output_is_that_of_the_reference(window: str) -> None:
    refinement = Refinement.ACCUMULATE if window in HOPPING else Refinement.RETRACT
    case = EarlyCase(Case(window, "time-sensitive aggregate"), refinement, 7)
    check(case, case.stream, run_early)


@EVERY_WINDOW
def test_time_bound_output_is_that_of_the_reference(window: str) -> None:
    moves = WINDOWS[window].ends_move
    shape = FIXED_VALUES[0] if moves else sorted({shape for shape, _ in some_policies()})[0]
    clip = next(clip for of, clip in some_policies() if of == shape)
    case = Case(window, shape, clip, TimestampPolicy.TIME_BOUND, EmitPolicy.EAGER)
    check(case, case.stream, run_every_tick_of_any_window if moves else run_every_tick)
