"""Arrays of ticks as numbers of periods, and back, where a grid counts periods in the place of ticks."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from muntin.columnar.arrays import IntArray
from muntin.windows import Periods

_PAGE: Final = 64
"""So many periods are asked for at once, and kept."""

_DENSE: Final = 1 << 12
"""Over so many periods in a row all are asked for; over more, those that are there."""

_LARGEST: Final = int(np.iinfo(np.int64).max)


def numbers_at(periods: Periods | None, ticks: IntArray) -> IntArray:
    """Return the number of the period that each tick lies in; the ticks themselves where these are counted.

    Cost: a binary search per tick, over the periods that the ticks lie in. These are asked for once in a while if they
    are near each other, otherwise sorted for, and asked for each time.
    """
    if periods is None or not len(ticks):
        return ticks
    first, last = (periods.number_at(int(tick)) for tick in (ticks.min(), ticks.max()))
    if last - first < _DENSE:
        return first + np.searchsorted(_begins(periods, first + 1, last + 1), ticks, side="right")
    ordered, place = np.sort(ticks), 0
    numbers: list[int] = []
    starts: list[int] = []
    while place < len(ordered):
        starts.append(int(ordered[place]))
        numbers.append(periods.number_at(starts[-1]))
        place = max(place + 1, int(np.searchsorted(ordered, min(periods.begins(numbers[-1] + 1), _LARGEST))))
    found: IntArray = np.array(numbers)[np.searchsorted(np.array(starts), ticks, side="right") - 1]
    return found


def ticks_of(periods: Periods | None, numbers: IntArray) -> IntArray:
    """Return the tick at which each period begins; the numbers themselves where ticks are counted."""
    if periods is None or not len(numbers):
        return numbers
    first, last = int(numbers.min()), int(numbers.max())
    if last - first < _DENSE:
        return _begins(periods, first, last + 1)[numbers - first]
    distinct, places = np.unique(numbers, return_inverse=True)
    begins: IntArray = np.array([min(periods.begins(number), _LARGEST) for number in distinct.tolist()])
    return begins[places]


def _begins(periods: Periods, first: int, stop: int) -> IntArray:
    """Return the ticks at which periods from one up to but not including another begin."""
    if first == stop:
        return np.empty(0, np.int64)
    pages = range(first // _PAGE, (stop - 1) // _PAGE + 1)
    begins: IntArray = np.concatenate([_page(periods, page) for page in pages])
    return begins[first - pages.start * _PAGE : stop - pages.start * _PAGE]


@lru_cache(maxsize=1024)
def _page(periods: Periods, page: int) -> IntArray:
    """Return the ticks at which some periods that follow each other begin."""
    numbers = range(page * _PAGE, (page + 1) * _PAGE)
    return np.array([max(-_LARGEST, min(periods.begins(number), _LARGEST)) for number in numbers], np.int64)
