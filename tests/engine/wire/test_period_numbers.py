"""Ticks as the numbers of local days and months: as pandas has them, and whatever the way to them."""

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
    grid = CalendarWindows(1, 1, unit, zone).grid()  # type: ignore[arg-type]  # mypy reads `unit` as any string
    assert grid is not None
    assert grid.periods is not None
    return grid.periods


@pytest.mark.parametrize("most_periods", [0, 1 << 20])
@pytest.mark.parametrize("zone", ZONES)
def test_the_days_and_months_are_those_of_pandas(zone: str, most_periods: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(period_numbers, "_MOST_PERIODS", most_periods)
    local = pd.to_datetime(SECONDS, unit="s", utc=True).tz_convert(zone).tz_localize(None)
    days = numbers_at(periods_of("day", zone), SECONDS * 1_000_000)
    assert days.tolist() == local.normalize().to_numpy().astype("datetime64[D]").astype(np.int64).tolist()
    months = numbers_at(periods_of("month", zone), SECONDS * 1_000_000)
    assert months.tolist() == ((local.year - 1970) * 12 + local.month - 1).tolist()


@pytest.mark.parametrize("zone", ZONES)
def test_months_begin_at_their_first_midnight(zone: str) -> None:
    numbers = np.arange(0, 700)
    first = (datetime(1970 + month // 12, month % 12 + 1, 1, tzinfo=ZoneInfo(zone)) for month in range(700))
    expected = [int(midnight.timestamp()) * 1_000_000 for midnight in first]
    assert ticks_of(periods_of("month", zone), numbers).tolist() == expected


@pytest.mark.parametrize("most_periods", [0, 8, 1 << 12])
def test_the_way_to_the_numbers_makes_no_difference(most_periods: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(period_numbers, "_MOST_PERIODS", most_periods)
    squares = Squares()
    ticks = np.array([5, -9, 0, 2**62, 4, -1, -(2**62), 3, 4, 10**9, 99])
    numbers = [squares.number_at(tick) for tick in ticks.tolist()]
    assert numbers_at(squares, ticks).tolist() == numbers
    assert ticks_of(squares, np.array(numbers)).tolist() == [squares.begins(number) for number in numbers]
    near = ticks[np.abs(ticks) < 100]
    assert numbers_at(squares, near).tolist() == [squares.number_at(tick) for tick in near.tolist()]
    assert [len(function(squares, near[:0])) for function in (numbers_at, ticks_of)] == [0, 0]


def test_ticks_that_are_counted_stay_themselves() -> None:
    ticks = np.array([3, 1, 2])
    assert numbers_at(None, ticks) is ticks
    assert ticks_of(None, ticks) is ticks


def test_periods_are_asked_for_once_where_rows_are_near_each_other() -> None:
    asked: list[int] = []

    class Asked(Squares):
        def begins(self, number: int) -> int:
            asked.append(number)
            return super().begins(number)

    squares = Asked()
    ticks = np.arange(1_000)
    numbers_at(squares, ticks)
    many = len(asked)
    numbers_at(squares, ticks + 1)
    assert 0 < many < 200
    assert len(asked) == many
