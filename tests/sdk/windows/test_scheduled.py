"""Windows of a timetable: the tutorial's twenty lines, against a walk over all minutes, and unusual timetables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from muntin import INFINITY, Window, instant, ticks
from muntin.catalog.named_windows import continues_windows
from muntin.errors import WindowError
from muntin.testing import WindowKindLaws, laws_of
from muntin.windows import ScheduledWindows, Stretches
from muntin.windows.kind import next_frontier
from tests.docs.pages import DOCS, blocks

NO_EVENTS = Stretches()
"""Windows of a timetable do not depend on events: they are cut anywhere on the axis."""
MINUTE = ticks("1 minute")
TUTORIAL = next(block for block in blocks(DOCS / "how-to/write-a-window-type.md") if block.language == "python")


@dataclass(frozen=True, slots=True)
class Shifts(ScheduledWindows):
    """The windows that a plan lists, each by its start and its end as the clock shows them."""

    name = "test.shifts"
    version = "1.0"
    title = "shifts"

    plan: tuple[tuple[str, str], ...]

    def ending_after(self, shown: datetime) -> Iterator[tuple[datetime, datetime]]:
        return ((datetime.fromisoformat(start), datetime.fromisoformat(end)) for start, end in self.plan)


@dataclass(frozen=True, slots=True)
class Watches(ScheduledWindows):
    """Watches of some hours that overlap: one begins at each half hour, at 20 and 50 minutes past."""

    name = "test.watches"
    version = "1.0"
    title = "watches"

    hours: int = 3

    def ending_after(self, shown: datetime) -> Iterator[tuple[datetime, datetime]]:
        start = shown.replace(minute=20, second=0) - timedelta(hours=self.hours + 1)
        while True:
            yield start, start + timedelta(hours=self.hours)
            start += timedelta(minutes=30)


def trading_sessions(**fields: Any) -> ScheduledWindows:
    """Return the windows of the tutorial: from 9:30 to 16:00 on weekdays that are no holidays."""
    namespace: dict[str, Any] = {"__name__": "tests.sdk.tutorial"}
    exec(compile(TUTORIAL.text, "write-a-window-type.md", "exec", dont_inherit=True), namespace)
    windows: ScheduledWindows = namespace["TradingSessions"](**fields)
    return windows


def at(text: str) -> int:
    """Return the tick of a time in UTC."""
    return instant(datetime.fromisoformat(text))


def spelled_windows(windows: Iterable[Window]) -> list[str]:
    """Return windows as text, with their days and times in UTC."""
    return [f"{window.starts_at:%d %H:%M} - {window.ends_at:%d %H:%M}" for window in windows]


def test_the_kind_of_the_tutorial_has_twenty_lines_with_its_imports() -> None:
    assert len([line for line in TUTORIAL.lines if line.strip()]) <= 20


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/London", "Asia/Tokyo", "Australia/Lord_Howe", "UTC"])
def test_a_session_is_a_run_of_minutes_in_which_the_clock_says_that_the_market_is_open(zone: str) -> None:
    """The weeks have the days on which clocks are set in most of these zones."""
    start = at("2024-03-01")
    end = at("2024-04-15")
    holidays = {date(2024, 3, 29), date(2024, 4, 1)}

    def is_open(tick: int) -> bool:
        clock = datetime.fromtimestamp(tick / 1_000_000, UTC).astimezone(ZoneInfo(zone))
        is_weekday = clock.weekday() < 5
        is_in_hours = time(9, 30) <= clock.time() < time(16)
        return is_weekday and is_in_hours and clock.date() not in holidays

    def lies_within(window: Window) -> bool:
        return start < window.start and window.end < end

    expected: list[Window] = []
    for is_open_then, minutes in groupby(range(start, end, MINUTE), is_open):
        first, *_, last = minutes
        if is_open_then:
            expected.append(Window(first, last + MINUTE))

    kind = trading_sessions(zone=zone, holidays=tuple(day.isoformat() for day in sorted(holidays)))
    windows = list(filter(lies_within, kind.cut(NO_EVENTS, start, end)))
    assert windows == list(filter(lies_within, expected))
    assert len(windows) > 25


@pytest.mark.parametrize("law", laws_of(WindowKindLaws))
@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        (trading_sessions(zone="America/New_York", second=1), 72_000),
        (
            Shifts(
                (("1970-01-01T00:00:02", "1970-01-01T00:00:09"), ("1970-01-01T00:00:20", "1970-01-01T00:00:21")),
                second=1,
            ),
            1,
        ),
        (Watches(zone="Africa/Monrovia", second=1), 5_000),
    ],
    ids=["sessions", "a plan that ends", "watches"],
)
def test_timetables_keep_the_laws_of_kinds(kind: ScheduledWindows, scale: int, law: str) -> None:
    laws: Any = type("TestKind", (WindowKindLaws,), {"kind": kind, "scale": scale})()
    raises_if_broken = getattr(laws, law)
    raises_if_broken()


def test_an_event_that_ends_before_the_next_window_is_a_member_of_none() -> None:
    kind = trading_sessions(zone="America/New_York")
    saturday = at("2024-03-09 12:00")
    monday_opening = at("2024-03-11 13:30")
    nowhere = (saturday, saturday)
    assert kind.membership(saturday, saturday + 1) == nowhere
    assert kind.membership(saturday, monday_opening) == nowhere
    assert kind.membership(saturday, monday_opening + 1) == (saturday, monday_opening + 1)
    assert kind.membership(saturday, INFINITY) == (saturday, INFINITY)


ONE_SHIFT = (("2024-03-30 14:00", "2024-03-30 22:00"),)


def test_after_the_last_window_of_a_plan_no_window_may_change_and_events_are_members_of_none() -> None:
    kind = Shifts(ONE_SHIFT)
    start = at("2024-03-30 14:00")
    end = at("2024-03-30 22:00")
    assert next_frontier(kind, NO_EVENTS, end - 1) == start
    assert next_frontier(kind, NO_EVENTS, end) == end
    assert next_frontier(kind, NO_EVENTS, end + 5) == end + 5
    assert kind.membership(end, INFINITY) == (end, end)


def test_a_window_in_an_hour_that_the_clock_skips_is_left_out() -> None:
    """In Berlin there was no time from 2:00 to 3:00 on 31 March 2024."""
    kind = Shifts(
        (
            ("2024-03-31 01:00", "2024-03-31 02:00"),
            ("2024-03-31 02:00", "2024-03-31 02:30"),
            ("2024-03-31 02:30", "2024-03-31 04:00"),
        ),
        zone="Europe/Berlin",
    )
    assert spelled_windows(kind.cut(NO_EVENTS, at("2024-03-30"), at("2024-04-02"))) == [
        "31 00:00 - 31 01:00",
        "31 01:00 - 31 02:00",
    ]


def test_a_time_that_the_clock_shows_twice_is_the_first_of_the_two() -> None:
    """In Berlin the times from 2:00 to 3:00 came twice on 27 October 2024; at the first 2:30 it was 0:30 UTC."""
    kind = Shifts(
        (("2024-10-27 01:00", "2024-10-27 02:30"), ("2024-10-27 02:30", "2024-10-27 06:00")), zone="Europe/Berlin"
    )
    assert spelled_windows(kind.cut(NO_EVENTS, at("2024-10-26"), at("2024-10-30"))) == [
        "26 23:00 - 27 00:30",
        "27 00:30 - 27 05:00",
    ]


def test_windows_that_overlap_ascend_also_where_the_clock_is_set() -> None:
    """Berlin's clocks were set from 2:00 to 3:00 at 1:00 UTC. Watches to begin or end in between do so at that time.

    Of those that then begin together, at 2:20 and 2:50, the longer one is there; of those that end together, too.
    """
    kind = Watches(zone="Europe/Berlin")
    start = at("2024-03-30 18:00")
    end = at("2024-03-31 09:00")
    clock_set = at("2024-03-31 01:00")
    watches = list(kind.cut(NO_EVENTS, start, end))
    for watch, next_watch in pairwise(watches):
        assert watch.start < next_watch.start
        assert watch.end < next_watch.end
    assert [watch.duration // MINUTE for watch in watches if watch.start == clock_set] == [170]
    assert [watch.duration // MINUTE for watch in watches if watch.end == clock_set] == [160]

    # Whatever the part that is asked for.
    for tick in range(start, end, 10 * MINUTE):
        assert list(kind.cut(NO_EVENTS, tick, end)) == [watch for watch in watches if watch.end > tick]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ((("2024-03-30 14:00", "2024-03-30 14:00"),), "ends at 2024-03-30 14:00:00 and starts at"),
        ((("2024-03-30 14:00", "2024-03-30 15:00"), ("2024-03-29 14:00", "2024-03-30 16:00")), "windows in order"),
        ((("2024-03-30 14:00", "2024-03-30 15:00"), ("2024-03-30 14:30", "2024-03-30 15:00")), "windows in order"),
        ((("2024-03-30 14:00+01:00", "2024-03-30 15:00+01:00"),), "without a zone"),
        ((("2024-03-30 14:00:00.5", "2024-03-30 15:00"),), "in whole seconds"),
    ],
    ids=["an empty window", "starts that do not ascend", "ends that do not ascend", "a zone", "a part of a second"],
)
def test_a_timetable_that_is_not_in_order_or_has_other_times_than_those_of_a_clock_is_refused(
    plan: tuple[tuple[str, str], ...], reason: str
) -> None:
    with pytest.raises(WindowError, match=reason):
        list(Shifts(plan).cut(NO_EVENTS, at("2024-03-01"), at("2024-05-01")))


def test_a_timetable_has_no_windows_beyond_the_years_of_datetimes() -> None:
    kind = trading_sessions(zone="America/New_York")
    assert list(kind.cut(NO_EVENTS, -(2**62), at("0001-12-31 00:00"))) == []
    assert list(kind.cut(NO_EVENTS, at("9998-06-01"), 2**62)) == []


def test_a_timetable_has_windows_from_the_year_2_to_the_year_9997() -> None:
    kind = trading_sessions(zone="America/New_York")
    first = next(kind.cut(NO_EVENTS, -(2**62), INFINITY))
    assert first.starts_at is not None
    assert first.starts_at.date().isoformat() == "0002-01-01"
    *_, last = kind.cut(NO_EVENTS, at("9997-12-25"), INFINITY)
    assert last.starts_at is not None
    assert last.starts_at.date().isoformat() == "9997-12-31"


def test_a_timetable_is_plain_data_and_another_plan_does_not_continue_from_it() -> None:
    kind = Shifts(ONE_SHIFT, zone="Europe/Berlin")
    data = kind.to_dict()
    assert data["plan"] == [["2024-03-30 14:00", "2024-03-30 22:00"]]
    assert Shifts.from_dict(data) == kind
    assert not continues_windows({**data, "plan": []}, kind)


def test_a_timetable_is_spelled_by_its_name_and_fields() -> None:
    kind = Shifts(ONE_SHIFT, zone="Europe/Berlin")
    assert str(kind) == "window('test.shifts', zone='Europe/Berlin', plan=(('2024-03-30 14:00', '2024-03-30 22:00'),))"
