"""Calendar windows, against pandas for random instants in many zones, and by hand where clocks are set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from random import Random
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo, available_timezones

import pytest

from muntin import INFINITY, Window, calendar, instant, ticks, tumbling
from muntin.axis import EARLIEST
from muntin.errors import DurationError, WindowError
from muntin.testing import LawError, WindowKindLaws, laws_of
from muntin.windows import CalendarWindows, Stretches
from muntin.windows.specification import WrittenWindows
from muntin.windows.wall_clock import shown_at, zone_named

NO_EVENTS = Stretches()
"""Calendar windows do not depend on events: they are cut anywhere on the axis."""
SECOND = ticks("1 second")
HOUR = ticks("1 hour")
DAY = ticks("1 day")


def at(text: str) -> int:
    """Return the tick of a time in UTC."""
    return instant(datetime.fromisoformat(text))


def window_of(kind: CalendarWindows, tick: int) -> Window:
    """Return the one window of a tick."""
    (window,) = kind.cut(NO_EVENTS, tick, tick + 1)
    return window


# a zone, a day by its clock, and the hours of the windows of this day and the two after it
@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("America/Sao_Paulo", "2018-11-03", [24, 23, 24]),  # no midnight: the clock is set from 00:00 to 01:00
        ("America/Sao_Paulo", "2018-02-17", [25, 24, 24]),  # 23:00 twice
        ("America/Havana", "2023-11-04", [24, 25, 24]),  # midnight twice: the day begins with the first
        ("Africa/Cairo", "2024-04-25", [24, 23, 24]),
        ("Africa/Cairo", "2024-10-31", [25, 24, 24]),
        ("Asia/Beirut", "2024-03-30", [24, 23, 24]),
        ("Australia/Lord_Howe", "2024-04-06", [24, 24.5, 24]),
        ("Australia/Lord_Howe", "2024-10-05", [24, 23.5, 24]),
        ("America/Toronto", "1919-03-30", [23.5, 23.5, 24]),  # from 23:30 to 00:30: the day begins at 00:30
        ("America/St_Johns", "2010-11-06", [24, 25, 24]),  # from 00:01 back to 23:01
        ("Pacific/Apia", "2011-12-29", [24, 24, 24]),  # the 30th was skipped
        ("Pacific/Kwajalein", "1969-09-29", [24, 47, 24]),  # the 30th came twice, but for an hour
    ],
)
def test_a_day_begins_when_the_clock_first_shows_it(zone: str, day: str, hours: list[float]) -> None:
    clock = zone_named(zone)
    noon = datetime.fromisoformat(day).replace(hour=12, tzinfo=clock).astimezone(UTC)
    days = list(islice(calendar("day", zone=zone).cut(NO_EVENTS, instant(noon), INFINITY), 3))
    assert [window.duration / HOUR for window in days] == pytest.approx(hours)
    assert all(first.end == second.start for first, second in pairwise(days))

    # The clock shows midnight at the start of a day; or a later time, if a second before it showed the day before.
    for window in days:
        start = window.start // SECOND
        seconds_shown = shown_at(clock, start)
        midnight = seconds_shown - seconds_shown % 86_400
        assert seconds_shown == midnight or shown_at(clock, start - 1) < midnight


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (calendar("week"), "2024-05-13 00:00"),
        (calendar("week", start="sunday"), "2024-05-12 00:00"),
        (calendar("week", start="sunday 18:00", zone="America/New_York"), "2024-05-12 22:00"),
        (calendar("2 weeks", start="2024-01-05"), "2024-05-10 00:00"),
        (calendar("day", start="06:00"), "2024-05-15 06:00"),
        (calendar("month", start="2000-01-25"), "2024-04-25 00:00"),
        (calendar("quarter"), "2024-04-01 00:00"),
        (calendar("quarter", start="february"), "2024-05-01 00:00"),
        (calendar("year", start="october"), "2023-10-01 00:00"),
        (calendar("year", start="1900-04-06", zone="Europe/London"), "2024-04-05 23:00"),
        (calendar("year", start="april 06:30"), "2024-04-01 06:30"),
    ],
    ids=str,
)
def test_a_start_moves_the_windows(kind: CalendarWindows, expected: str) -> None:
    assert window_of(kind, at("2024-05-15 14:00")).start == at(expected)
    assert CalendarWindows.from_dict(kind.to_dict()) == kind
    assert eval(kind.spell(), {"calendar": calendar}) == kind


CYCLE = 146_097 * DAY
"""The days of 400 years, after which a calendar repeats itself, weekdays too."""


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Africa/Casablanca", "Pacific/Apia", "UTC"])
@pytest.mark.parametrize("size", ["day", "month", "week"])
@pytest.mark.parametrize(("time", "direction"), [("9900-03-31 12:00", 1), ("0300-03-31 12:00", -1)])
def test_windows_beyond_the_years_of_datetimes_are_those_of_400_years_before_or_later(
    zone: str, size: str, time: str, direction: int
) -> None:
    """Windows of these two times follow the last rule of the zone, and the first one."""
    kind = calendar(size, zone=zone)
    window = window_of(kind, at(time))
    for cycles in (1, 3, 340):
        distance = direction * cycles * CYCLE
        assert window_of(kind, at(time) + distance) == Window(window.start + distance, window.end + distance)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia"])
@pytest.mark.parametrize("start", ["0001-12-15", "9998-12-15"])
def test_windows_meet_where_the_years_of_datetimes_begin_and_end(zone: str, start: str) -> None:
    days = list(calendar("day", zone=zone).cut(NO_EVENTS, at(start), at(start) + 40 * DAY))
    assert len(days) == 41
    assert all(first.end == second.start for first, second in pairwise(days))


@pytest.mark.parametrize(
    "kind", [calendar("day", zone="Asia/Tehran"), calendar("year", "month", zone="Asia/Tehran")], ids=str
)
def test_any_tick_that_an_event_may_have_has_windows(kind: CalendarWindows) -> None:
    for tick in (-(2**62), -(2**62) + 1, -1, 0, 2**61, 2**62 - 1):
        windows = list(kind.cut(NO_EVENTS, tick, tick + 1))
        assert len(windows) == kind.size // kind.hop
        assert all(window.start <= tick < window.end for window in windows)


def test_windows_start_where_the_periods_of_pandas_do() -> None:
    """Pandas finds the local start of a period, and the instant of it; of two instants it is told to take the first.

    It is given the zones of Python's database: it may have one of its own, of another release.
    """
    pandas = pytest.importorskip("pandas")
    random = Random(12)
    periods = {"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}
    compared = 0
    set_back_over_start = 0
    for zone in random.sample(sorted(available_timezones() - {"localtime"}), 30):
        zone_info = ZoneInfo(zone)
        instants = [random.randrange(at("1970-01-01"), at("2037-01-01")) for _ in range(12)]
        timestamps = pandas.to_datetime([tick * 1000 for tick in instants])  # in nanoseconds
        local_times = timestamps.tz_localize("UTC").tz_convert(zone_info).tz_localize(None)
        for size, period in periods.items():
            kind = calendar(size, zone=zone)
            local_starts = local_times.to_period(period).start_time
            for tick, local_start in zip(instants, local_starts, strict=True):
                start = local_start.tz_localize(zone_info, ambiguous=True, nonexistent="shift_forward").value // 1000
                window = window_of(kind, tick)
                if window.start != start:
                    # The clock was set back over the start of the window, to a time of the one before.
                    assert start < window.start <= tick < window.start + 2 * HOUR, (zone, size, tick)
                    set_back_over_start += 1
                compared += 1
    assert compared == 30 * 12 * len(periods)
    assert set_back_over_start < 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: calendar("hour"),
            "a calendar has no 'hour'\n  expected: 'day', 'week', 'month', 'quarter', 'year', or",
        ),
        (lambda: calendar("monht"), "a calendar has no 'monht'\n  did you mean 'month'?\n  expected: 'day', 'week', "),
        (lambda: calendar("3monhts"), "a calendar has no '3monhts'\n  did you mean '3 months'?"),
        (lambda: calendar("2weeks"), "a calendar has no '2weeks'\n  did you mean '2 weeks'?"),
        (lambda: calendar("1.5 days"), "a calendar has no '1.5 days'\n  expected:"),
        (lambda: calendar("-2 weeks"), "a calendar has no '-2 weeks'\n  expected:"),
        (lambda: calendar(7), "a calendar has no 7"),  # type: ignore[arg-type]
        (lambda: calendar("0 days"), "a calendar window needs a size above zero, got 0 days"),
        (
            lambda: calendar("month", "0 months"),
            "a calendar window needs a size and a hop above zero, got a size of 1 and a hop of 0 months",
        ),
        (lambda: calendar("month", "week"), "a calendar window of 'month' cannot hop by 'week': months have no fixed"),
        (
            lambda: calendar("day", zone="Europe/Berln"),
            "no time zone is named 'Europe/Berln'\n  did you mean 'Europe/Berlin'?",
        ),
        (lambda: calendar("day", zone="../etc"), "no time zone is named '../etc'"),
        (lambda: calendar("day", zone=""), "no time zone is named ''"),
        (
            lambda: calendar("day", start="tomorrow"),
            "'tomorrow' is not a start of calendar windows\n  expected: a date",
        ),
        (lambda: calendar("day", start=""), "'' is not a start of calendar windows"),
        (lambda: calendar("week", start=["sunday"]), "['sunday'] is not a start of"),  # type: ignore[arg-type]
        (lambda: calendar("day", start="25:00"), "'25:00' is not a start of calendar windows"),
        (
            lambda: calendar("day", start="sunday"),
            "start='sunday' is a day of the week, and these windows are no whole",
        ),
        (lambda: calendar("month", start="2024-01-31"), "not every month has the day on which windows from 2024-01-31"),
        (lambda: calendar("day", reach=-1), "the reach of a window cannot be negative, got -1"),
        (lambda: CalendarWindows(1, 1, "hour"), "a calendar window counts days or months, got 'hour'"),  # type: ignore[arg-type]
        (
            lambda: calendar("100000 years").check_lengths(2**60),
            "calendar('100000 years', zone='UTC') is too long for a",
        ),
    ],
)
def test_windows_that_no_calendar_has_are_refused(make: Any, message: str) -> None:
    with pytest.raises(WindowError) as refused:
        make()
    assert str(refused.value).startswith(message)


def test_a_reach_that_is_too_long_is_spelled_as_the_query_has_it() -> None:
    windows = calendar("day", reach=2**61)
    with pytest.raises(WindowError, match=r"^day\(reach=2\*\*61\) has a length that is too long"):
        windows.check_lengths(2**60, WrittenWindows(windows, in_python="day(reach=2**61)"))


def test_a_month_as_a_duration_is_refused_with_the_windows_that_have_months() -> None:
    with pytest.raises(DurationError, match=r"windows of whole months or years are calendar\('1 month'\)"):
        tumbling("1 month")


def test_a_zone_on_a_machine_without_a_database_of_zones_says_what_to_install() -> None:
    with (
        patch("muntin.windows.wall_clock.available_timezones", return_value=set()),
        patch("muntin.windows.wall_clock.ZoneInfo", side_effect=KeyError("Europe/Berlin")),
        pytest.raises(WindowError, match="no time zone database\n  install one, for example with pip install tzdata"),
    ):
        calendar("day", zone="Europe/Berlin")


def test_the_zone_is_utc_unless_another_one_is_given() -> None:
    assert calendar("day").zone == "UTC"


def test_days_and_weeks_in_utc_are_a_grid_of_one_length() -> None:
    kind = calendar("week", start="sunday 06:00")
    grid: Any = kind.grid()
    assert list(kind.cut(NO_EVENTS, 0, 30 * DAY)) == list(grid.cut(NO_EVENTS, 0, 30 * DAY))
    assert kind.longest == 7 * DAY


@pytest.mark.parametrize(
    ("kind", "length"),
    [
        (calendar("week", "day", zone="Asia/Tokyo", start="2024-03-31"), "1 week"),
        (calendar("2 months", "quarter", start="2024-02-15 06:00"), "2 months"),
    ],
    ids=str,
)
def test_days_of_a_zone_and_months_are_a_grid_of_periods(kind: CalendarWindows, length: str) -> None:
    grid: Any = kind.grid()
    assert grid.periods.spell(grid.size) == length
    assert kind.longest is None

    first_periods = [grid.offset + number * grid.hop for number in range(9)]
    windows_of_grid: list[Window] = []
    for period in first_periods:
        windows_of_grid.append(Window(grid.periods.begins(period), grid.periods.begins(period + grid.size)))
    start = windows_of_grid[0].start
    end = windows_of_grid[-1].end
    windows = kind.cut(NO_EVENTS, start, end)
    assert [window for window in windows if start <= window.start and window.end <= end] == windows_of_grid


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_calendar_windows_with_a_reach_are_no_grid(zone: str) -> None:
    assert calendar("day", zone=zone, reach=5).grid() is None
    assert calendar("week", zone=zone, reach=5).grid() is None


ZONES_THAT_SKIPPED_A_DAY = ["Pacific/Apia", "Pacific/Kwajalein", "Pacific/Kiritimati", "Asia/Manila"]
OTHER_ZONES = ["Europe/Berlin", "America/Sitka"]


@pytest.mark.parametrize("zone", ZONES_THAT_SKIPPED_A_DAY)
def test_days_that_overlap_are_no_grid_in_a_zone_that_skipped_a_day(zone: str) -> None:
    assert calendar("2 days", "day", zone=zone).grid() is None
    periods_of_two_days: Any = calendar("2 days", zone=zone).grid()
    assert periods_of_two_days.periods.some_are_empty
    assert calendar("2 months", "month", zone=zone).grid() is not None


@pytest.mark.parametrize("zone", OTHER_ZONES)
def test_days_that_overlap_are_a_grid_in_other_zones(zone: str) -> None:
    assert calendar("2 days", "day", zone=zone).grid() is not None
    periods_of_two_days: Any = calendar("2 days", zone=zone).grid()
    assert not periods_of_two_days.periods.some_are_empty
    assert calendar("2 months", "month", zone=zone).grid() is not None


def test_days_that_overlap_are_a_grid_in_utc() -> None:
    assert calendar("2 days", "day").grid() is not None
    assert calendar("2 months", "month").grid() is not None


# with ticks of a second, so that the laws draw short numbers; and how far apart they draw events
IN_SECONDS = [
    (CalendarWindows(1, 1, "day", "America/Santiago", second=1), timedelta(days=2)),
    (CalendarWindows(1, 3, "day", "Pacific/Kwajalein", reach=40_000, second=1), timedelta(days=7)),
    (CalendarWindows(3, 1, "month", "America/New_York", "1970-02-25", second=1), timedelta(days=9)),
    (CalendarWindows(1, 4, "month", second=1), timedelta(days=11)),
]


@pytest.mark.parametrize("law", laws_of(WindowKindLaws))
@pytest.mark.parametrize(("kind", "scale"), IN_SECONDS, ids=lambda value: str(value).split(",")[0])
def test_calendar_windows_keep_all_laws(kind: CalendarWindows, scale: timedelta, law: str) -> None:
    laws: Any = type("TestCalendar", (WindowKindLaws,), {"kind": kind, "scale": int(scale.total_seconds())})()
    try:
        getattr(laws, law)()
    except LawError as broken:
        pytest.fail(str(broken))


@pytest.mark.parametrize(
    "kind", [calendar("3 days", "day", zone="Pacific/Apia"), calendar("quarter", "month", zone="Asia/Beirut")], ids=str
)
def test_a_window_of_any_event_goes_on_for_more_than_holds_past_after_it(kind: CalendarWindows) -> None:
    """So an event and the next one share a window if they are no further apart than that."""
    day_and_a_half = DAY // 2 * 3
    for number in range(400):
        tick = at("2011-05-01") + number * day_and_a_half
        windows = kind.cut(NO_EVENTS, tick, tick + 1)
        assert any(window.end > tick + kind.holds_past for window in windows)


def test_an_event_without_a_start_is_a_member_where_windows_have_gaps() -> None:
    assert calendar("day", "2 days").membership(EARLIEST, 5) == (EARLIEST, 5)
