"""Trailing windows on random streams: the output is that of the reference after every batch, in order or not."""

from __future__ import annotations

from random import Random

import pytest

from muntin import EmitPolicy, Refinement
from tests.differential.cases import TRAILING, Case, policies
from tests.differential.drive import check, run
from tests.differential.early import EarlyCase, run_early
from tests.differential.modules import SHAPES

EVERY_KIND = pytest.mark.parametrize("window", TRAILING)


def cases_of(window: str, emit: EmitPolicy) -> list[Case]:
    """Return the cases that can be run.

    An event that no window has as a member holds back the output watermark, and not the output, of windows that wait
    for the ends of their members; where each start has a window there is no such event.
    """
    cases = [Case(window, shape, *both, emit) for shape in SHAPES for both in policies(shape)]
    return cases if window == "trailing" else [case for case in cases if not case.query.waits_for_ends]


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_KIND
def test_the_output_is_that_of_the_reference_after_every_batch(window: str, emit: EmitPolicy) -> None:
    cases = cases_of(window, emit)
    assert len(cases) > 30
    for case in Random(f"{window} {emit}").sample(cases, 20):
        check(case, case.stream, run)


@EVERY_KIND
def test_early_output_is_that_of_the_reference(window: str) -> None:
    case = EarlyCase(Case(window, "incremental aggregate"), Refinement.RETRACT, 7)
    check(case, case.stream, run_early)
