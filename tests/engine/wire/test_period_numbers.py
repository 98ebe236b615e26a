"""Ticks as the numbers of local days and months: as pandas has them, whichever of two ways computes them.

Up to `_MOST_PERIODS` periods, the beginnings of all periods that the ticks span are computed, and each tick is searched
for among them. Of more periods, only those are computed in which a tick lies. Tests set the limit to take either way.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from muntin.windows import CalendarWindows, Periods
from muntin_engine.wire import period_numbers
from muntin_engine.wire.period_numbers import numbers_at, ticks_of
from tests.sdk.testing.laws.muntin_hostile.windows import Squares

ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Tokyo")
SECONDS = np.random.default_rng(63).integers(0, 2_100_000_000, 20_000)  # 1970 to 2036, with hundreds of changes


def periods_of(unit: str, zone: str) -> Periods:
    """Return the days or months of a time zone; the number of a period counts from the one with 1970-01-01."""
    grid = CalendarWindows(1, 1, unit, zone).grid()  # type: ignore[arg-type]  # mypy reads `unit` as any string
    assert grid is not None
    assert grid.periods is not None
    return grid.periods


@pytest.mark.parametrize(
    "most_periods",
    [
        0,  # only the periods in which a tick lies are computed
        1 << 20,  # all periods are computed
    ],
)
@pytest.mark.parametrize("zone", ZONES)
def test_the_days_and_months_are_those_of_pandas(zone: str, most_periods: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(period_numbers, "_MOST_PERIODS", most_periods)
    ticks = SECONDS * 1_000_000
    local_times = pd.to_datetime(SECONDS, unit="s", utc=True).tz_convert(zone).tz_localize(None)

    days = numbers_at(periods_of("day", zone), ticks)
    midnights = local_times.normalize().to_numpy()
    assert days.tolist() == midnights.astype("datetime64[D]").astype(np.int64).tolist()

    months = numbers_at(periods_of("month", zone), ticks)
    assert months.tolist() == ((local_times.year - 1970) * 12 + local_times.month - 1).tolist()


@pytest.mark.parametrize("zone", ZONES)
def test_months_begin_at_their_first_midnight(zone: str) -> None:
    numbers = range(700)  # 58 years
    expected: list[int] = []
    for number in numbers:
        years, month = divmod(number, 12)
        first_midnight = datetime(1970 + years, month + 1, 1, tzinfo=ZoneInfo(zone))
        expected.append(int(first_midnight.timestamp()) * 1_000_000)
    assert ticks_of(periods_of("month", zone), np.array(numbers)).tolist() == expected


@pytest.mark.parametrize(
    "most_periods",
    [
        0,  # only the periods in which a tick lies are computed
        8,  # of ticks near each other, all periods are computed
        1 << 12,  # the limit of the engine
    ],
)
def test_however_many_periods_are_computed_the_numbers_are_those_of_single_calls(
    most_periods: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(period_numbers, "_MOST_PERIODS", most_periods)
    squares = Squares()
    ticks = np.array([5, -9, 0, 2**62, 4, -1, -(2**62), 3, 4, 10**9, 99])
    near_ticks = ticks[np.abs(ticks) < 100]

    numbers = [squares.number_at(tick) for tick in ticks.tolist()]
    assert numbers_at(squares, ticks).tolist() == numbers
    assert ticks_of(squares, np.array(numbers)).tolist() == [squares.begins(number) for number in numbers]
    assert numbers_at(squares, near_ticks).tolist() == [squares.number_at(tick) for tick in near_ticks.tolist()]


@pytest.mark.parametrize("most_periods", [0, 8, 1 << 12])
def test_no_ticks_have_no_numbers(most_periods: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(period_numbers, "_MOST_PERIODS", most_periods)
    nothing = np.array([], np.int64)
    assert numbers_at(Squares(), nothing).tolist() == []
    assert ticks_of(Squares(), nothing).tolist() == []


def test_where_windows_count_ticks_a_tick_is_its_own_number() -> None:
    ticks = np.array([3, 1, 2])
    assert numbers_at(None, ticks) is ticks
    assert ticks_of(None, ticks) is ticks


def test_the_beginnings_of_periods_are_cached_for_the_next_rows() -> None:
    computed_periods: list[int] = []

    class CountedSquares(Squares):
        def begins(self, number: int) -> int:
            computed_periods.append(number)
            return super().begins(number)

    squares = CountedSquares()
    ticks = np.arange(1_000)

    numbers_at(squares, ticks)
    calls = len(computed_periods)
    assert 0 < calls < 200, "pages of 64 periods, not a call for each tick"

    numbers_at(squares, ticks + 1)
    assert len(computed_periods) == calls
