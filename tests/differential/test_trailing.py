"""Trailing windows on random streams: the output is that of the reference after every batch, in order or not."""

from __future__ import annotations

from random import Random

import pytest

from muntin import EmitPolicy, Refinement, trailing
from muntin.testing import Computation, Script, WindowedQuery
from muntin_stats import Count
from tests.differential.cases import TRAILING, Case
from tests.differential.drive import check, run
from tests.differential.early import EarlyCase, run_early
from tests.differential.kinds import cases_of


def test_an_event_that_lasts_is_a_member_of_the_windows_that_it_lasts_into() -> None:
    """
                 0        10        20
    a            [--------)                it has ended before the window at 16, and lasts into that at 12
    b, c                    !   !
    """
    stream = Script().insert("a", 0, 10).point("b", 12).point("c", 16).close()
    results = stream.run(WindowedQuery(trailing(6), [Computation(Count())]))[None]
    assert [(row.start, row.end, row.value[0]) for row in results] == [(-5, 1, 1), (7, 13, 2), (11, 17, 2)]


EVERY_KIND = pytest.mark.parametrize("window", TRAILING)


def runnable(window: str, emit: EmitPolicy) -> list[Case]:
    """Return the cases that can be run.

    An event that no window has as a member holds back the output watermark, and not the output, of windows that wait
    for the ends of their members; where each start has a window there is no such event.
    """
    cases = cases_of(window, emit)
    return cases if window == "trailing" else [case for case in cases if not case.query.waits_for_ends]


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_KIND
def test_the_output_is_that_of_the_reference_after_every_batch(window: str, emit: EmitPolicy) -> None:
    cases = runnable(window, emit)
    assert len(cases) > 30
    for case in Random(f"{window} {emit}").sample(cases, 20):
        check(case, case.stream, run)


@EVERY_KIND
def test_early_output_is_that_of_the_reference(window: str) -> None:
    case = EarlyCase(Case(window, "incremental aggregate"), Refinement.RETRACT, 7)
    check(case, case.stream, run_early)
