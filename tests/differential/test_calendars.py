"""Calendar windows on random streams around changes of clocks, against dates and minutes that are walked over."""

from __future__ import annotations

from random import Random

import pytest

from muntin import EmitPolicy, Refinement
from tests.differential.calendars import CALENDARS
from tests.differential.cases import Case
from tests.differential.drive import check, run
from tests.differential.early import EarlyCase, run_early
from tests.differential.kinds import cases_of

EVERY_CALENDAR = pytest.mark.parametrize("window", CALENDARS)


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_CALENDAR
def test_the_output_is_that_of_the_reference_after_every_batch(window: str, emit: EmitPolicy) -> None:
    cases = cases_of(window, emit)
    for case in Random(f"{window} {emit}").sample(cases, 4):
        check(case, case.stream, run)


@pytest.mark.parametrize("refinement", [Refinement.ACCUMULATE, Refinement.RETRACT])
@EVERY_CALENDAR
def test_early_output_is_that_of_the_reference(window: str, refinement: Refinement) -> None:
    case = EarlyCase(Case(window, "time-sensitive aggregate"), refinement, 7)
    check(case, case.stream, run_early)
