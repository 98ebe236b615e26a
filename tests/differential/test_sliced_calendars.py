"""Calendar windows over slices say what the reference says, around changes of clocks in both directions.

The reference walks over dates and minutes, and never hears of numbered days or months.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from muntin import INFINITY, Event
from muntin.changes import Insertion, Punctuation
from muntin.testing import Computation, WindowedQuery
from muntin.testing.batches import KeyedChange, Step
from muntin.testing.scripts import Script
from muntin.windows import CalendarWindows
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.arrays import closing
from muntin_engine.exchange import counting
from muntin_engine.testing import crash_everywhere
from muntin_stats import Average
from tests.differential.calendars import LASTING, SLICED, spread
from tests.differential.drive import check, failure
from tests.differential.slices import SliceCase, as_point, run


def sliced(name: str, *, is_point: bool = True) -> SliceCase:
    kind, origin, scale = SLICED[name]
    return SliceCase((kind,), "all", is_point, spread=(origin, scale))


@pytest.mark.parametrize(
    ("name", "is_point"), [*((name, True) for name in SLICED), *((name, False) for name in LASTING)]
)
def test_the_output_is_that_of_the_reference_after_every_batch(name: str, is_point: bool) -> None:
    case = sliced(name, is_point=is_point)
    check(case, case.stream, run)


@pytest.mark.parametrize("is_point", [True, False], ids=["points", "lifetimes"])
def test_what_is_done_only_with_many_periods_makes_no_difference(
    is_point: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in (
        (counting, "_DENSE", 0),
        (closing, "MOST_CELLS", 4),
        (closing, "MOST_WINDOWS", 3),
    ):
        monkeypatch.setattr(module, name, value)
    for name in ("days, back", "three days, by two", "months"):
        case = sliced(name, is_point=is_point)
        check(case, case.stream, run)


def test_days_and_weeks_of_a_zone_share_their_slices() -> None:
    day, origin, scale = SLICED["days, forward"]
    several = (day, replace(day, size=7, hop=7, start="1970-01-05"), replace(day, size=3, hop=2))
    case = SliceCase(several, "all", spread=(origin, scale))
    check(case, case.stream, run)


RESTARTED = (
    "days, back",
    "a day that was skipped",
    "three days, by two",
    "every other day",
    "weeks",
    "months",
    "years",
)


@pytest.mark.parametrize("name", RESTARTED)
def test_all_evaluators_say_the_same_whatever_restarts(name: str) -> None:
    kind, origin, scale = SLICED[name]
    random, steps = Random(name), list[Step]()
    for at in sorted(random.randrange(-12, 12) for _ in range(9)):
        event = Event.point(at, float(random.randrange(-9, 9)))
        steps += [Punctuation(at)] * (random.random() < 0.4)
        steps.append(KeyedChange(random.choice("ab"), Insertion(len(steps), event)))
    moved = spread(Script((*steps, Punctuation(INFINITY))), origin, scale)
    script = Script(tuple(as_point(step) if isinstance(step, KeyedChange) else step for step in moved.steps))
    survived = crash_everywhere(script, WindowedQuery(kind, [Computation(Average())]))
    assert survived.evaluators == ("general", "sliced", "columnar")


def test_a_row_that_goes_into_the_slice_before_its_own_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(self: SliceGrid, numbers: int) -> int:
        return (numbers - self.offset - 1) // self.width

    cases = [sliced(name) for name in ("days, forward", "weeks", "months")]
    assert all(isinstance(case.window, CalendarWindows) for case in cases)
    monkeypatch.setattr(SliceGrid, "slices_at", late)
    assert all(failure(case, case.stream, run) for case in cases)
