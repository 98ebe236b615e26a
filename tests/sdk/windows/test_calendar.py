"""Calendar windows, against pandas for random instants in every zone, and by hand where clocks do what is odd."""

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

NOTHING = Stretches()
HOUR = ticks("1 hour")
DAY = ticks("1 day")


def at(text: str) -> int:
    return instant(datetime.fromisoformat(text))


def windows(kind: CalendarWindows, start: str, end: str) -> list[str]:
    """Return the windows over a stretch, with their lengths in hours."""
    windows = kind.cut(NOTHING, at(start), at(end))
    return [f"{window.starts_at:%Y-%m-%d %H:%M:%S} {window.duration / HOUR:g}" for window in windows]


def window_of(kind: CalendarWindows, tick: int) -> Window:
    """Return the one window of a tick."""
    (window,) = kind.cut(NOTHING, tick, tick + 1)
    return window


@pytest.mark.parametrize(
    ("zone", "day", "lengths"),
    [
        ("America/Sao_Paulo", "2018-11-03", [24, 23, 24]),  # no midnight: from 00:00 to 01:00
        ("America/Sao_Paulo", "2018-02-17", [25, 24, 24]),  # 23:00 twice
        ("America/Havana", "2023-11-04", [24, 25, 24]),  # midnight twice: the day begins with the first
        ("Africa/Cairo", "2024-04-25", [24, 23, 24]),
        ("Africa/Cairo", "2024-10-31", [25, 24, 24]),
        ("Asia/Beirut", "2024-03-30", [24, 23, 24]),
        ("Australia/Lord_Howe", "2024-04-06", [24, 24.5, 24]),
        ("Australia/Lord_Howe", "2024-10-05", [24, 23.5, 24]),
        ("America/Toronto", "1919-03-30", [23.5, 23.5, 24]),  # from 23:30 to 00:30: the day begins at 00:30
        ("America/St_Johns", "2010-11-06", [24 + 1 / 60 - 1 / 60, 25, 24]),  # from 00:01 back to 23:01
        ("Pacific/Apia", "2011-12-29", [24, 24, 24]),  # the 30th was skipped
        ("Pacific/Kwajalein", "1969-09-29", [24, 47, 24]),  # the 30th came twice, but for an hour
    ],
)
def test_a_day_begins_when_the_clock_first_shows_it(zone: str, day: str, lengths: list[float]) -> None:
    clock = zone_named(zone)
    noon = datetime.fromisoformat(day).replace(hour=12, tzinfo=clock).astimezone(UTC)
    days = list(islice(calendar("day", zone=zone).cut(NOTHING, instant(noon), INFINITY), 3))
    assert [window.duration / HOUR for window in days] == pytest.approx(lengths)
    assert all(first.end == second.start for first, second in pairwise(days))
    for window in days:
        shown = shown_at(clock, window.start // 1_000_000)
        assert shown % 86_400 == 0 or shown_at(clock, window.start // 1_000_000 - 1) < shown - shown % 86_400


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
    named = CalendarWindows.from_dict(kind.to_dict())
    assert named == kind
    assert eval(kind.spell(), {"calendar": calendar}) == kind


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Africa/Casablanca", "Pacific/Apia", "UTC"])
def test_windows_go_on_beyond_the_years_of_datetimes(zone: str) -> None:
    """400 years later, and any number of times, the windows are the same, as far as the last rule has come to apply."""
    cycle = 146_097 * DAY
    for kind in (calendar("day", zone=zone), calendar("month", zone=zone), calendar("week", zone=zone)):
        later = window_of(kind, at("9900-03-31 12:00"))
        for cycles in (1, 3, 340):
            assert window_of(kind, at("9900-03-31 12:00") + cycles * cycle) == Window(
                later.start + cycles * cycle, later.end + cycles * cycle
            )
        first = window_of(kind, at("0300-03-31 12:00"))
        for cycles in (1, 3, 340):
            moved = window_of(kind, at("0300-03-31 12:00") - cycles * cycle)
            assert moved == Window(first.start - cycles * cycle, first.end - cycles * cycle)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Sao_Paulo", "Pacific/Apia"])
def test_windows_meet_where_the_years_of_datetimes_end(zone: str) -> None:
    for start in ("0001-12-15", "9998-12-15"):
        days = list(calendar("day", zone=zone).cut(NOTHING, at(start), at(start) + 40 * DAY))
        assert len(days) == 41
        assert all(first.end == second.start for first, second in pairwise(days))


def test_any_tick_of_an_event_has_windows() -> None:
    for kind in (calendar("day", zone="Asia/Tehran"), calendar("year", "month", zone="Asia/Tehran")):
        for tick in (-(2**62), -(2**62) + 1, -1, 0, 2**61, 2**62 - 1):
            windows = list(kind.cut(NOTHING, tick, tick + 1))
            assert len(windows) == kind.size // kind.hop
            assert all(window.start <= tick < window.end for window in windows)


def test_instants_are_grouped_as_pandas_groups_them() -> None:
    """Pandas turns a window's local start into an instant by itself; where a day begins twice it is told the first.

    It is given the zones of Python's database: it may have one of its own, of another release.
    """
    pandas = pytest.importorskip("pandas")
    random = Random(12)
    periods = {"day": "D", "week": "W-SUN", "month": "M", "quarter": "Q", "year": "Y"}
    compared = set_back = 0
    for zone in random.sample(sorted(available_timezones() - {"localtime"}), 30):
        stamps = pandas.to_datetime([random.randrange(at("1970-01-01"), at("2037-01-01")) * 1000 for _ in range(12)])
        rules = ZoneInfo(zone)
        local = stamps.tz_localize("UTC").tz_convert(rules).tz_localize(None)
        for size, period in periods.items():
            named = local.to_period(period).start_time
            starts = [
                name.tz_localize(rules, ambiguous=True, nonexistent="shift_forward").value // 1000 for name in named
            ]
            kind = calendar(size, zone=zone)
            for stamp, start in zip(stamps, starts, strict=True):
                window = window_of(kind, stamp.value // 1000)
                if window.start != start:
                    # The clock was set back over the start of the window, to a time of the one before.
                    assert start < window.start <= stamp.value // 1000 < window.start + 2 * HOUR, (zone, size, stamp)
                    set_back += 1
                compared += 1
    assert compared == 30 * 12 * len(periods)
    assert set_back < 5


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
    with pytest.raises(DurationError, match=r"windows of months are calendar\('1 month'\)"):
        tumbling("1 month")


def test_a_machine_without_a_database_says_so() -> None:
    with (
        patch("muntin.windows.wall_clock.available_timezones", return_value=set()),
        patch("muntin.windows.wall_clock.ZoneInfo", side_effect=KeyError("Europe/Berlin")),
        pytest.raises(WindowError, match="no time zone database\n  install one, for example with pip install tzdata"),
    ):
        calendar("day", zone="Europe/Berlin")
    assert calendar("day").zone == "UTC"


def test_days_in_utc_are_a_grid() -> None:
    kind = calendar("week", start="sunday 06:00")
    grid: Any = kind.grid()
    assert list(kind.cut(NOTHING, 0, 30 * DAY)) == list(grid.cut(NOTHING, 0, 30 * DAY))
    assert kind.longest == 7 * DAY
    assert calendar("week", reach=5).grid() is None


def test_other_days_and_months_are_a_grid_of_periods() -> None:
    for kind, spelled in (
        (calendar("week", "day", zone="Asia/Tokyo", start="2024-03-31"), "1 week"),
        (calendar("2 months", "quarter", start="2024-02-15 06:00"), "2 months"),
    ):
        grid: Any = kind.grid()
        assert grid.periods.spell(grid.size) == spelled
        assert kind.longest is None
        starts = [grid.offset + number * grid.hop for number in range(9)]
        expected = [Window(grid.periods.begins(start), grid.periods.begins(start + grid.size)) for start in starts]
        windows = kind.cut(NOTHING, expected[0].start, expected[-1].end)
        assert [
            window for window in windows if expected[0].start <= window.start and window.end <= expected[-1].end
        ] == expected
    assert calendar("day", zone="Asia/Tokyo", reach=5).grid() is None


@pytest.mark.parametrize(
    ("zone", "skipped"),
    [
        ("Pacific/Apia", True),
        ("Pacific/Kwajalein", True),
        ("Pacific/Kiritimati", True),
        ("Asia/Manila", True),
        ("Europe/Berlin", False),
        ("America/Sitka", False),
        ("UTC", False),
    ],
)
def test_days_that_overlap_are_no_grid_where_a_zone_skipped_one(zone: str, skipped: bool) -> None:
    single: Any = calendar("2 days", zone=zone).grid()
    assert zone == "UTC" or single.periods.some_are_empty == skipped
    assert (calendar("2 days", "day", zone=zone).grid() is None) == skipped
    assert calendar("2 months", "month", zone=zone).grid() is not None


SECONDS = [
    (CalendarWindows(1, 1, "day", "America/Santiago", second=1), timedelta(days=2)),
    (CalendarWindows(1, 3, "day", "Pacific/Kwajalein", reach=40_000, second=1), timedelta(days=7)),
    (CalendarWindows(3, 1, "month", "America/New_York", "1970-02-25", second=1), timedelta(days=9)),
    (CalendarWindows(1, 4, "month", second=1), timedelta(days=11)),
]


@pytest.mark.parametrize("law", laws_of(WindowKindLaws))
@pytest.mark.parametrize(("kind", "scale"), SECONDS, ids=lambda value: str(value).split(",")[0])
def test_calendars_keep_all_laws(kind: CalendarWindows, scale: timedelta, law: str) -> None:
    laws: Any = type("TestCalendar", (WindowKindLaws,), {"kind": kind, "scale": int(scale.total_seconds())})()
    try:
        getattr(laws, law)()
    except LawError as broken:
        pytest.fail(str(broken))


def test_what_neighbours_share_is_known_of_every_event_of_a_year() -> None:
    """Between an event and the next within `holds_past` there is always a window that has both."""
    for kind in (calendar("3 days", "day", zone="Pacific/Apia"), calendar("quarter", "month", zone="Asia/Beirut")):
        for number in range(400):
            tick = at("2011-05-01") + number * DAY // 2 * 3
            assert any(window.end > tick + kind.holds_past for window in kind.cut(NOTHING, tick, tick + 1))


def test_an_event_without_a_start_is_a_member_where_windows_have_gaps() -> None:
    assert calendar("day", "2 days").membership(EARLIEST, 5) == (EARLIEST, 5)
