"""Windows that share a start, on random streams, against windows that are listed as they are."""

from __future__ import annotations

from random import Random

import pytest

from muntin import EmitPolicy, Refinement
from tests.differential.cases import GROWING, Case
from tests.differential.drive import check, run
from tests.differential.early import EarlyCase, run_early
from tests.differential.kinds import cases_of, check_looking_back, check_samples_and_events_without_ids
from tests.differential.test_inputs import insertions

EVERY_WINDOW = pytest.mark.parametrize("window", GROWING)


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_WINDOW
def test_the_output_is_that_of_the_reference_after_every_batch(window: str, emit: EmitPolicy) -> None:
    cases = cases_of(window, emit)
    for case in Random(f"{window} {emit}").sample(cases, 20):
        check(case, case.stream, run)


@EVERY_WINDOW
def test_without_a_contract_output_may_lie_before_its_window_and_is_never_final(window: str) -> None:
    check_looking_back(window)


@pytest.mark.parametrize("refinement", [Refinement.ACCUMULATE, Refinement.RETRACT])
@EVERY_WINDOW
def test_early_output_is_that_of_the_reference(window: str, refinement: Refinement) -> None:
    for number in range(5):
        case = EarlyCase(Case(window, "time-sensitive aggregate"), refinement, number)
        check(case, case.stream, run_early)


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_WINDOW
def test_samples_and_events_without_ids_have_the_output_of_the_reference(window: str, emit: EmitPolicy) -> None:
    check_samples_and_events_without_ids(window, emit)


@EVERY_WINDOW
def test_results_that_discard_cover_what_came_since(window: str) -> None:
    for number in range(5):
        case = EarlyCase(Case(window, "time-sensitive aggregate", has_ids=False), Refinement.DISCARD, number)
        check(case, insertions(case), run_early)
