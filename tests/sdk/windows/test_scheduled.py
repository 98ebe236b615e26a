"""Windows of a timetable: the tutorial's twenty lines, against minutes that are walked over, and odd timetables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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

NOTHING = Stretches()
MINUTE = ticks("1 minute")
TUTORIAL = next(block for block in blocks(DOCS / "how-to/write-a-window-type.md") if block.language == "python")


@dataclass(frozen=True, slots=True)
class Shifts(ScheduledWindows):
    """A plan that is data."""

    name = "test.shifts"
    version = "1.0"
    title = "shifts"

    plan: tuple[tuple[str, str], ...]

    def ending_after(self, shown: datetime) -> Iterator[tuple[datetime, datetime]]:
        return ((datetime.fromisoformat(start), datetime.fromisoformat(end)) for start, end in self.plan)


@dataclass(frozen=True, slots=True)
class Watches(ScheduledWindows):
    """Watches of some hours that overlap, one every hour."""

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
    """Return the windows of the tutorial."""
    namespace: dict[str, Any] = {"__name__": "tests.sdk.tutorial"}
    exec(compile(TUTORIAL.text, "write-a-window-type.md", "exec", dont_inherit=True), namespace)
    windows: ScheduledWindows = namespace["TradingSessions"](**fields)
    return windows


def at(text: str) -> int:
    return instant(datetime.fromisoformat(text))


def spelled_windows(windows: Iterable[Window]) -> list[str]:
    return [f"{window.starts_at:%d %H:%M} - {window.ends_at:%d %H:%M}" for window in windows]


def test_the_kind_of_the_tutorial_has_twenty_lines_with_its_imports() -> None:
    assert len([line for line in TUTORIAL.lines if line.strip()]) <= 20


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/London", "Asia/Tokyo", "Australia/Lord_Howe", "UTC"])
def test_a_session_is_the_minutes_in_which_the_clock_says_that_the_market_is_open(zone: str) -> None:
    kind = trading_sessions(zone=zone, holidays=("2024-03-29", "2024-04-01"))
    first = at("2024-03-01")
    minutes = range(first, at("2024-04-15"), MINUTE)

    def is_open(tick: int) -> bool:
        now = datetime.fromtimestamp(tick / 1_000_000, UTC).astimezone(ZoneInfo(zone))
        clock = now.hour * 60 + now.minute
        return now.weekday() < 5 and 570 <= clock < 960 and (now.month, now.day) not in {(3, 29), (4, 1)}

    runs = [list(run) for open_now, run in groupby(minutes, is_open) if open_now]
    expected = [Window(run[0], run[-1] + MINUTE) for run in runs if run[0] > first and run[-1] + MINUTE < minutes.stop]
    windows = [
        window
        for window in kind.cut(NOTHING, first, minutes.stop)
        if first < window.start and window.end <= minutes.stop
    ]
    assert windows == expected
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
    check_law(kind, scale, law)


def check_law(kind: ScheduledWindows, scale: int, law: str) -> None:
    """Try one law; it raises where a kind of windows breaks it."""
    laws: Any = type("TestKind", (WindowKindLaws,), {"kind": kind, "scale": scale})
    getattr(laws(), law)()


def test_an_event_between_two_windows_counts_nowhere() -> None:
    kind = trading_sessions(zone="America/New_York")
    saturday = at("2024-03-09 12:00")
    monday = at("2024-03-11 13:30")
    assert kind.membership(saturday, saturday + 1) == (saturday, saturday)
    assert kind.membership(saturday, monday) == (saturday, saturday)
    assert kind.membership(saturday, monday + 1) == (saturday, monday + 1)
    assert kind.membership(saturday, INFINITY) == (saturday, INFINITY)


def test_after_the_last_window_everything_is_settled() -> None:
    kind = Shifts((("2024-03-30 14:00", "2024-03-30 22:00"),))
    end = at("2024-03-30 22:00")
    assert next_frontier(kind, NOTHING, end - 1) == at("2024-03-30 14:00")
    assert next_frontier(kind, NOTHING, end) == end
    assert next_frontier(kind, NOTHING, end + 5) == end + 5
    assert kind.membership(end, INFINITY) == (end, end)


def test_a_window_that_the_clock_skips_is_not_there_and_what_is_shown_twice_counts_the_first_time() -> None:
    """In Berlin there is no time from 2 to 3 on 31 March 2024, and twice on 27 October."""
    spring = Shifts(
        (
            ("2024-03-31 01:00", "2024-03-31 02:00"),
            ("2024-03-31 02:00", "2024-03-31 02:30"),
            ("2024-03-31 02:30", "2024-03-31 04:00"),
        ),
        zone="Europe/Berlin",
    )
    assert spelled_windows(spring.cut(NOTHING, at("2024-03-30"), at("2024-04-02"))) == [
        "31 00:00 - 31 01:00",
        "31 01:00 - 31 02:00",
    ]
    autumn = Shifts(
        (("2024-10-27 01:00", "2024-10-27 02:30"), ("2024-10-27 02:30", "2024-10-27 06:00")), zone="Europe/Berlin"
    )
    assert spelled_windows(autumn.cut(NOTHING, at("2024-10-26"), at("2024-10-30"))) == [
        "26 23:00 - 27 00:30",
        "27 00:30 - 27 05:00",
    ]


def test_windows_that_overlap_ascend_also_where_the_clock_is_set() -> None:
    """What would begin or end at 02:20 and 02:50 begins or ends when the clock is set to 3: at 01:00 UTC."""
    kind = Watches(zone="Europe/Berlin")
    first = at("2024-03-30 18:00")
    last = at("2024-03-31 09:00")
    whole = list(kind.cut(NOTHING, first, last))
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(whole))
    assert [window.duration // MINUTE for window in whole if window.start == at("2024-03-31 01:00")] == [170]
    assert [window.duration // MINUTE for window in whole if window.end == at("2024-03-31 01:00")] == [160]
    for tick in range(first, last, 10 * MINUTE):
        assert list(kind.cut(NOTHING, tick, last)) == [window for window in whole if window.end > tick]


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ((("2024-03-30 14:00", "2024-03-30 14:00"),), "ends at 2024-03-30 14:00:00 and starts at"),
        ((("2024-03-30 14:00", "2024-03-30 15:00"), ("2024-03-29 14:00", "2024-03-30 16:00")), "windows in order"),
        ((("2024-03-30 14:00", "2024-03-30 15:00"), ("2024-03-30 14:30", "2024-03-30 15:00")), "windows in order"),
        ((("2024-03-30 14:00+01:00", "2024-03-30 15:00+01:00"),), "without a zone"),
        ((("2024-03-30 14:00:00.5", "2024-03-30 15:00"),), "in whole seconds"),
    ],
)
def test_a_timetable_that_is_none_is_refused(plan: tuple[tuple[str, str], ...], reason: str) -> None:
    with pytest.raises(WindowError, match=reason):
        list(Shifts(plan).cut(NOTHING, at("2024-03-01"), at("2024-05-01")))


def test_beyond_the_years_of_datetimes_there_is_no_window() -> None:
    kind = trading_sessions(zone="America/New_York")
    assert list(kind.cut(NOTHING, at("9998-06-01"), 2**62)) == []
    assert list(kind.cut(NOTHING, -(2**62), at("0001-12-31 00:00"))) == []
    first = next(kind.cut(NOTHING, -(2**62), INFINITY))
    assert first.starts_at is not None
    assert first.starts_at.date().isoformat() == "0002-01-01"
    *_, last = kind.cut(NOTHING, at("9997-12-25"), INFINITY)
    assert last.starts_at is not None
    assert last.starts_at.date().isoformat() == "9997-12-31"


def test_a_plan_survives_a_checkpoint() -> None:
    kind = Shifts((("2024-03-30 14:00", "2024-03-30 22:00"),), zone="Europe/Berlin")
    data = kind.to_dict()
    assert data["plan"] == [["2024-03-30 14:00", "2024-03-30 22:00"]]
    assert Shifts.from_dict(data) == kind
    assert str(kind) == "window('test.shifts', zone='Europe/Berlin', plan=(('2024-03-30 14:00', '2024-03-30 22:00'),))"
    assert not continues_windows({**data, "plan": []}, kind)
