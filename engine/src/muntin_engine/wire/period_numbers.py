"""Arrays of ticks as numbers of periods, and back, where a grid counts periods, such as months, in place of ticks."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from muntin.columnar.arrays import IntArray
from muntin.windows import Periods

_PAGE: Final = 64
"""The number of periods of a page, whose beginnings are computed and cached together."""

_MOST_PERIODS: Final = 1 << 12
"""The number of periods up to which the beginnings of all periods that an array spans are computed.

Where an array spans more, only the periods in which something lies are computed."""

_LARGEST: Final = int(np.iinfo(np.int64).max)
"""The largest tick of an array. A period that begins later, beyond all times, begins here."""


def numbers_at(periods: Periods | None, ticks: IntArray) -> IntArray:
    """Return the number of the period that each tick lies in.

    Args:
        periods: The periods; None where a grid counts ticks, which are then returned as they are.
        ticks: The ticks.

    Cost: a binary search per tick, over the periods that the ticks span. If the ticks are near each other, the
    beginnings of periods come from a cache; otherwise the ticks are sorted, and each of their periods is computed.
    """
    if periods is None or not len(ticks):
        return ticks
    first_period = periods.number_at(int(ticks.min()))
    last_period = periods.number_at(int(ticks.max()))
    if last_period - first_period < _MOST_PERIODS:
        # A tick lies as many periods after the first period as have begun after it, up to the tick.
        later_begins = _begins(periods, first_period + 1, last_period + 1)
        return first_period + np.searchsorted(later_begins, ticks, side="right")
    return _numbers_far_apart(periods, ticks)


def _numbers_far_apart(periods: Periods, ticks: IntArray) -> IntArray:
    """Return the number of the period that each tick lies in, by a call for each of these periods."""
    ordered_ticks = np.sort(ticks)
    # For each period that has ticks: the first of its ticks, and its number.
    first_ticks: list[int] = []
    numbers: list[int] = []
    place = 0
    while place < len(ordered_ticks):
        tick = int(ordered_ticks[place])
        number = periods.number_at(tick)
        first_ticks.append(tick)
        numbers.append(number)
        # Go on behind the ticks of this period. The next period may begin beyond what an array can hold: then its
        # beginning is cut to `_LARGEST`, which must not lead back to this tick.
        next_begin = min(periods.begins(number + 1), _LARGEST)
        place = max(place + 1, int(np.searchsorted(ordered_ticks, next_begin)))
    places = np.searchsorted(np.array(first_ticks), ticks, side="right") - 1
    numbers_of_ticks: IntArray = np.array(numbers)[places]
    return numbers_of_ticks


def ticks_of(periods: Periods | None, numbers: IntArray) -> IntArray:
    """Return the tick at which each period begins.

    Args:
        periods: The periods; None where a grid counts ticks, so that the numbers are ticks already.
        numbers: The numbers of the periods.
    """
    if periods is None or not len(numbers):
        return numbers
    first_period = int(numbers.min())
    last_period = int(numbers.max())
    if last_period - first_period < _MOST_PERIODS:  # near each other: all periods between them come from a cache
        return _begins(periods, first_period, last_period + 1)[numbers - first_period]
    distinct_numbers, places = np.unique(numbers, return_inverse=True)
    begins: IntArray = np.array([min(periods.begins(number), _LARGEST) for number in distinct_numbers.tolist()])
    return begins[places]


def _begins(periods: Periods, first: int, stop: int) -> IntArray:
    """Return the ticks at which the periods begin whose numbers are in `range(first, stop)`."""
    if first == stop:
        return np.empty(0, np.int64)
    # The beginnings are cached page by page, each of `_PAGE` periods: join the pages, and cut off what is around.
    pages = range(first // _PAGE, (stop - 1) // _PAGE + 1)
    begins: IntArray = np.concatenate([_page(periods, page) for page in pages])
    first_number = pages.start * _PAGE  # of the first period in these pages
    return begins[first - first_number : stop - first_number]


@lru_cache(maxsize=1024)
def _page(periods: Periods, page: int) -> IntArray:
    """Return the ticks at which the periods of a page begin; page 0 has the periods from number 0 on."""
    begins: list[int] = []
    for number in range(page * _PAGE, (page + 1) * _PAGE):
        begin = periods.begins(number)
        # A page also has periods that nobody asked for, which may lie before or beyond all times.
        begins.append(max(-_LARGEST, min(begin, _LARGEST)))
    return np.array(begins, np.int64)
