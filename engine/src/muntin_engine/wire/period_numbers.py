"""Arrays of ticks as numbers of periods, and back, where a grid counts periods in the place of ticks."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from muntin.columnar.arrays import IntArray
from muntin.windows import Periods

_PAGE: Final = 64
"""The number of periods that are asked for at once, and cached."""

_DENSE: Final = 1 << 12
"""Ticks that span fewer periods have all of these asked for; others only the periods that they lie in."""

_LARGEST: Final = int(np.iinfo(np.int64).max)


def numbers_at(periods: Periods | None, ticks: IntArray) -> IntArray:
    """Return the number of the period that each tick lies in; the ticks themselves where these are counted.

    Cost: a binary search per tick, over the periods that the ticks lie in. If the ticks are near each other, the
    beginnings of periods come from a cache; otherwise the ticks are sorted, and each of their periods is asked for.
    """
    if periods is None or not len(ticks):
        return ticks
    first = periods.number_at(int(ticks.min()))
    last = periods.number_at(int(ticks.max()))
    if last - first < _DENSE:
        return first + np.searchsorted(_begins(periods, first + 1, last + 1), ticks, side="right")
    return _numbers_far_apart(periods, ticks)


def _numbers_far_apart(periods: Periods, ticks: IntArray) -> IntArray:
    """Return the number of the period that each tick lies in, with a call for each of these periods."""
    ordered = np.sort(ticks)
    first_ticks: list[int] = []  # of each period, among the ticks
    numbers: list[int] = []
    place = 0
    while place < len(ordered):
        tick = int(ordered[place])
        number = periods.number_at(tick)
        first_ticks.append(tick)
        numbers.append(number)
        next_begin = min(periods.begins(number + 1), _LARGEST)
        place = max(place + 1, int(np.searchsorted(ordered, next_begin)))
    places = np.searchsorted(np.array(first_ticks), ticks, side="right") - 1
    numbers_of_ticks: IntArray = np.array(numbers)[places]
    return numbers_of_ticks


def ticks_of(periods: Periods | None, numbers: IntArray) -> IntArray:
    """Return the tick at which each period begins; the numbers themselves where ticks are counted."""
    if periods is None or not len(numbers):
        return numbers
    first = int(numbers.min())
    last = int(numbers.max())
    if last - first < _DENSE:
        return _begins(periods, first, last + 1)[numbers - first]
    distinct, places = np.unique(numbers, return_inverse=True)
    begins: IntArray = np.array([min(periods.begins(number), _LARGEST) for number in distinct.tolist()])
    return begins[places]


def _begins(periods: Periods, first: int, stop: int) -> IntArray:
    """Return the ticks at which periods begin, from the first one up to but not including `stop`."""
    if first == stop:
        return np.empty(0, np.int64)
    pages = range(first // _PAGE, (stop - 1) // _PAGE + 1)
    begins: IntArray = np.concatenate([_page(periods, page) for page in pages])
    return begins[first - pages.start * _PAGE : stop - pages.start * _PAGE]


@lru_cache(maxsize=1024)
def _page(periods: Periods, page: int) -> IntArray:
    """Return the ticks at which the periods of a page begin."""
    numbers = range(page * _PAGE, (page + 1) * _PAGE)
    return np.array([max(-_LARGEST, min(periods.begins(number), _LARGEST)) for number in numbers], np.int64)
