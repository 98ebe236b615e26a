"""Windows of a timetable that has gaps, overlaps and an end, on random streams against the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from unittest.mock import patch

import pytest

from muntin import EmitPolicy, Refinement
from muntin.testing import Script
from muntin.windows import ScheduledWindows
from muntin_engine.evaluators.keyed.bucket import BatchResult
from muntin_engine.state.codec import Codec
from tests.core.build import stored_states
from tests.differential import cases
from tests.differential.cases import Case
from tests.differential.drive import Run, check, follow
from tests.differential.early import EarlyCase, run_early
from tests.differential.kinds import cases_of

LAST = 41
"""Where the plan ends."""


@dataclass(frozen=True, slots=True)
class Shifts(ScheduledWindows):
    """A plan that is data: the seconds at which shifts start and end."""

    name, version, title = "test.shifts", "1.0", "shifts"

    plan: tuple[tuple[int, int], ...]

    def ending_after(self, shown: datetime) -> Iterator[tuple[datetime, datetime]]:
        epoch = datetime.fromisoformat("1970-01-01")
        return ((epoch + timedelta(seconds=start), epoch + timedelta(seconds=end)) for start, end in self.plan)


KINDS = {
    "a plan that ends": Shifts(((-9, 3), (3, 8), (12, 20), (15, 24), (30, LAST)), second=1),
    "a plan that starts late": Shifts(((20, 21), (21, LAST)), second=1),
}
EVERY_KIND = pytest.mark.parametrize("name", KINDS)


class PlanRun(Run):
    """Also checks that the output watermark does not go back, and that nothing is kept for windows that never come."""

    def _check_promise(self, result: BatchResult) -> None:
        assert result.watermark >= self.promised
        self.promised = result.watermark

    def _check_held(self, result: BatchResult) -> None:
        super()._check_held(result)
        watermark = self.progress.watermark
        if watermark > LAST:
            states = stored_states(self.query, self.cells, Codec(), self.identity)
            assert all(max(event.until, event.end) >= watermark for state in states for event in state.events)


def run(case: Case, stream: Script) -> None:
    follow(PlanRun(case), stream)


@pytest.fixture(autouse=True)
def _named() -> Iterator[None]:
    with patch.dict(cases.BY_NAME, KINDS):
        yield


@pytest.mark.parametrize("emit", EmitPolicy)
@EVERY_KIND
def test_the_output_is_that_of_the_reference_after_every_batch(name: str, emit: EmitPolicy) -> None:
    every = [case for case in cases_of(name, emit) if case.timestamps.name != "TIME_BOUND"]
    for case in Random(f"{name} {emit}").sample(every, 12):
        check(case, case.stream, run)


@EVERY_KIND
def test_early_output_is_that_of_the_reference(name: str) -> None:
    case = EarlyCase(Case(name, "time-sensitive aggregate"), Refinement.RETRACT, 7)
    check(case, case.stream, run_early)
