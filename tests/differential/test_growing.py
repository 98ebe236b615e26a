"""Windows that share a start, on random streams, against windows that are listed as they are."""

from __future__ import annotations

from random import Random

import pytest

from muntin import EmitPolicy, OutputContract, Refinement, TimestampPolicy
from tests.differential.cases import GROWING, Case, policies
from tests.differential.drive import check, run
from tests.differential.early import EarlyCase, run_early
from tests.differential.modules import SHAPES

EVERY_WINDOW = pytest.mark.parametrize("window", GROWING)


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_WINDOW
def test_the_output_is_that_of_the_reference_after_every_batch(window: str, emit: EmitPolicy) -> None:
    cases = [Case(window, shape, *both, emit) for shape in SHAPES for both in policies(shape)]
    for case in Random(f"{window} {emit}").sample(cases, 40):
        check(case, case.stream, run)


@EVERY_WINDOW
def test_without_a_contract_output_may_lie_before_its_window_and_is_never_final(window: str) -> None:
    contract = OutputContract.UNRESTRICTED
    case = Case(window, "operator that looks back", timestamps=TimestampPolicy.UNCHANGED, contract=contract)
    check(case, case.stream, run)


@pytest.mark.parametrize("refinement", [Refinement.ACCUMULATE, Refinement.RETRACT])
@EVERY_WINDOW
def test_early_output_is_that_of_the_reference(window: str, refinement: Refinement) -> None:
    for number in range(5):
        case = EarlyCase(Case(window, "time-sensitive aggregate"), refinement, number)
        check(case, case.stream, run_early)
