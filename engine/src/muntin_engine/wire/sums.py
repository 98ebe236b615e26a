"""Exact sums of floats: they depend on neither order nor merges, and subtraction undoes addition.

A sum is held in *lanes*, floats whose exact sum it is. Before lanes are added up, each is cut at a common grid: its
upper part is a multiple of one power of two, so coarse that any sum of the expected number of such parts is a float;
the lower part is a lane of its own, cut in turn. So every addition is exact, in any order, and so is every
subtraction. Only the result is rounded.

Source: J. Demmel and H. D. Nguyen, Parallel Reproducible Summation, IEEE Trans. Computers 64 (2015), and S. M. Rump,
T. Ogita and S. Oishi, Accurate Floating-Point Summation Part I, SIAM J. Sci. Comput. 31 (2008), section 3, for the cut
(`ExtractVector`); T. J. Dekker, A Floating-Point Technique for Extending the Available Precision, Numer. Math. 18
(1971), for the errors of a sum and of a product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from math import frexp, inf, isnan, ldexp, nan
from typing import Final

import numpy as np

from muntin.columnar.arrays import BoolArray, FloatArray, IntArray
from muntin.columnar.exact import nearest
from muntin.components import Component, Merge

_HUGE: Final = ldexp(1.0, 800)
"""From here on magnitudes are held apart, in units of `_UNIT`, so that no sum of lanes overflows."""

_UNIT: Final = ldexp(1.0, 600)
_TINY: Final = ldexp(1.0, -800)
"""Below, the error of a product may be too small for a float."""

_LEAST: Final = -1022
"""The least exponent of a power of two that cuts nothing off."""

_BLOCK: Final = 1 << 14
"""So many values are computed at a time."""

_SPLITTER: Final = 2.0**27 + 1


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The exact sums of n groups of floats, or of n groups of vectors of floats.

    Attributes:
        lanes: At least one array of n values; each sum is the exact sum of its values in all of them.
        high: The same of magnitudes beyond 2**800, in units of 2**600.
        odd: The sums of what is not finite, zero where all is; None if all is everywhere.

    Example:
        >>> sums = Sums.of(np.array([1e16, 1.0, -1e16]))
        >>> sums.on_grid(3).each(lambda lane, is_exact: lane.sum(keepdims=True)).rounded()
        array([1.])
    """

    lanes: tuple[FloatArray, ...]
    high: tuple[FloatArray, ...] = ()
    odd: FloatArray | None = None

    @classmethod
    def of(cls, values: FloatArray) -> Sums:
        """Return values, each as the sum of itself alone."""
        values = np.asarray(values, np.float64)
        if _largest(values) < _HUGE:
            return cls((values,))
        is_finite = np.isfinite(values)
        odd = None if is_finite.all() else np.where(is_finite, 0.0, values)
        values = np.where(is_finite, values, 0.0)
        is_huge = np.abs(values) >= _HUGE
        high = (np.where(is_huge, values / _UNIT, 0.0),) if is_huge.any() else ()
        return cls((np.where(is_huge, 0.0, values),), high, odd)

    @classmethod
    def concat(cls, tables: Sequence[Sums]) -> Sums:
        """Return sums one after the other."""
        lengths = [table.lanes[0].shape for table in tables]
        lanes = [_side_by_side([t.lanes for t in tables], lengths), _side_by_side([t.high for t in tables], lengths)]
        odds = [() if table.odd is None else (table.odd,) for table in tables]
        odd = _side_by_side(odds, lengths)
        return cls(lanes[0], lanes[1], odd[0] if odd else None)

    @classmethod
    def from_plain(cls, values: Sequence[object], shape: tuple[int, ...] = ()) -> Sums:
        """Undo `plain`: make sums of plain numbers, of any type."""
        flat = np.empty((len(values), *shape), object)
        flat[...] = values if shape else np.fromiter(values, object, len(values))
        expanded = [_expanded(value) for value in flat.reshape(-1)]

        def lanes(part: int) -> tuple[FloatArray, ...]:
            most = max((len(parts[part]) for parts in expanded), default=0)
            columns = [[*parts[part], *[0.0] * (most - len(parts[part]))] for parts in expanded]
            table = np.array(columns, np.float64).reshape(len(expanded), most)
            return tuple(table[:, place].reshape(flat.shape) for place in range(most))

        return cls(lanes(0) or (np.zeros(flat.shape),), lanes(1), (lanes(2) or (None,))[0])

    def __len__(self) -> int:
        return len(self.lanes[0])

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        """All arrays."""
        return (*self.lanes, *self.high, *(() if self.odd is None else (self.odd,)))

    def each(self, function: Callable[[FloatArray, bool], FloatArray]) -> Sums:
        """Return the sums that a function makes of each array."""
        lanes, high = ([function(array, True) for array in arrays] for arrays in (self.lanes, self.high))
        with np.errstate(invalid="ignore"):  # infinities of both signs are NaN
            odd = None if self.odd is None else function(self.odd, False)
        return Sums(tuple(lanes), tuple(high), odd)

    def take(self, places: IntArray | slice) -> Sums:
        """Return some of the sums: by their places, or a slice of them."""
        return self.each(lambda array, _: array[places])

    def on_grid(self, most: int) -> Sums:
        """Return the same sums in lanes of which any `most` values can be added and subtracted exactly, in any order.

        Cost: about seven passes over the values of a lane, for most data twice.
        """
        return Sums(_cut(self.lanes, most) or (np.zeros_like(self.lanes[0]),), _cut(self.high, most), self.odd)

    def rounded(self) -> FloatArray:
        """Return the sums, each rounded once; one that no float is near is infinite. Zero has no sign."""
        return self._rounded(np.ones(len(self), np.int64))

    def over(self, counts: IntArray) -> FloatArray:
        """Return each sum divided by a positive whole number below 2**53, rounded once."""
        return self._rounded(np.asarray(counts, np.int64))

    def _rounded(self, counts: IntArray) -> FloatArray:
        values, is_open = np.empty(self.lanes[0].shape), np.zeros(self.lanes[0].shape, bool)
        counts = counts.reshape((len(self), *[1] * (values.ndim - 1)))
        for some in _blocks(values):
            values[some], is_open[some] = _quotients([lane[some] for lane in self.lanes], counts[some])
            values[some] += 0.0  # zero has no sign
        return self._mended(values, is_open, counts)

    def plain(self) -> list[object]:
        """Return the sums as plain data: exact fractions, or floats where they are not finite."""
        exact = np.empty(self.lanes[0].size, object)
        flat = [lane.reshape(-1) for lane in self.lanes], [lane.reshape(-1) for lane in self.high]
        odd = None if self.odd is None else self.odd.reshape(-1)
        for place in range(len(exact)):
            exact[place] = _exact([lane[place] for lane in flat[0]], [lane[place] for lane in flat[1]])
            if odd is not None and odd[place]:
                exact[place] = nan if isnan(odd[place]) else float(odd[place])  # there is one NaN
        listed: list[object] = exact.reshape(self.lanes[0].shape).tolist()
        return listed

    def _mended(self, values: FloatArray, is_open: BoolArray, counts: IntArray) -> FloatArray:
        """Return quotients with the odd ones, and with those computed anew that may be rounded wrong."""
        if self.high:
            is_open = is_open | np.logical_or.reduce([lane != 0 for lane in self.high])
        places = np.nonzero(is_open)
        if len(places[0]):
            divisors = np.broadcast_to(counts, values.shape)[places].tolist()
            lanes = zip(*(lane[places].tolist() for lane in self.lanes), strict=True)
            high = [lane[places].tolist() for lane in self.high]
            highs = zip(*high, strict=True) if high else repeat(())
            values[places] = [
                nearest(_exact(some, more) / count) for some, more, count in zip(lanes, highs, divisors, strict=False)
            ]
        if self.odd is None:
            return values
        return np.where(self.odd == 0, values, np.where(np.isnan(self.odd), nan, self.odd))


def _blocks(values: FloatArray) -> Iterator[slice]:
    """Yield the places of an array in pieces that stay in a processor's cache, whatever is computed of them."""
    rows = max(1, _BLOCK * len(values) // max(values.size, 1))
    return (slice(start, start + rows) for start in range(0, len(values), rows))


def _largest(values: FloatArray) -> float:
    return max(float(values.max()), -float(values.min())) if values.size else 0.0


def _cut(lanes: Sequence[FloatArray], most: int) -> tuple[FloatArray, ...]:
    """Return lanes on grids, the highest first; none of nothing but zeros."""
    rests = [(lane, _largest(lane)) for lane in lanes]
    found: list[FloatArray] = []
    while rests := [(lane, largest) for lane, largest in rests if largest]:
        bits = (int(most) * len(rests)).bit_length() + 1
        exponent = max(_LEAST, frexp(max(largest for _, largest in rests))[1] + bits)
        power, upper, left = ldexp(1.0, exponent), np.zeros_like(rests[0][0]), []
        for lane, _ in rests:
            below, largest = np.empty_like(lane), 0.0
            for some in _blocks(lane):
                part = lane[some] + power
                part -= power
                upper[some] += part
                np.subtract(lane[some], part, out=below[some])
                largest = max(largest, _largest(below[some]))
            left.append((below, largest))
        found.append(upper)
        rests = left
    return tuple(found)


def _quotients(lanes: Sequence[FloatArray], counts: IntArray) -> tuple[FloatArray, BoolArray]:
    """Return sums divided by whole numbers, rounded, and a mask of those that may be wrong."""
    total, rest, is_open = _condensed(lanes)
    divisor = counts.astype(np.float64)
    quotient = total / divisor
    is_inexact = rest != 0
    is_open |= is_inexact & (np.abs(total) < _TINY)
    is_inexact &= counts & (counts - 1) != 0  # what a power of two divides rounds as the sum did
    if not is_inexact.any():
        return quotient, is_open
    product, error = _two_product(quotient, divisor)
    remainder, lost = _two_sum((total - product) - error, rest)
    more = remainder / divisor
    low, high = quotient + more * (1 - 2.0**-40), quotient + more * (1 + 2.0**-40)
    places = np.nonzero(is_inexact & (low != high))  # halfway between two floats, or all but
    if len(places[0]):
        product, error = _two_product(more[places], np.broadcast_to(divisor, more.shape)[places])
        is_halfway = (product == remainder[places]) & (error == 0) & (lost[places] == 0)
        low[places] = quotient[places] + more[places]  # which goes to the even one
        is_open[places] |= ~is_halfway
    return np.where(is_inexact, low, quotient), is_open


def _condensed(lanes: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return sums rounded to the nearest float, the rest as a float, and where either is not known to be right."""
    if len(lanes) == 1:
        return lanes[0], np.zeros_like(lanes[0]), np.zeros(lanes[0].shape, bool)
    terms = list(lanes)
    for _ in range(len(lanes)):
        terms = _swept(terms)
        if not any(term.any() for term in terms[2:]):
            break
    is_open = [np.zeros(lanes[0].shape, bool), *(term != 0 for term in terms[2:])]
    return (*_two_sum(terms[0], terms[1]), np.logical_or.reduce(is_open))


def _swept(terms: Sequence[FloatArray]) -> list[FloatArray]:
    """Return terms of the same sums: the first is the sum as floats add it from the last to the first."""
    total, errors = terms[-1], []
    for term in terms[-2::-1]:
        total, error = _two_sum(term, total)
        errors.append(error)
    return [total, *errors[::-1]]


def _two_sum(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    total = first + second
    gained = total - first
    return total, (first - (total - gained)) + (second - gained)


def _two_product(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    product = first * second
    (upper, lower), (high, low) = _split(first), _split(second)
    return product, ((upper * high - product) + upper * low + lower * high) + lower * low


def _split(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    scaled = values * _SPLITTER
    upper = scaled - (scaled - values)
    return upper, values - upper


def _side_by_side(tables: Sequence[Sequence[FloatArray]], shapes: Sequence[tuple[int, ...]]) -> tuple[FloatArray, ...]:
    """Return lanes of several tables one after the other; one that a table lacks is zero there."""
    rows = zip(tables, shapes, strict=True)
    most = max(map(len, tables))
    padded = [[*lanes, *[np.zeros(shape)] * (most - len(lanes))] for lanes, shape in rows]
    return tuple(np.concatenate(column) for column in zip(*padded, strict=True))


def _exact(lanes: Sequence[float], high: Sequence[float]) -> Fraction:
    return sum(map(Fraction, lanes), Fraction(0)) + sum(map(Fraction, high), Fraction(0)) * int(_UNIT)


def _expanded(value: float | Fraction) -> tuple[list[float], list[float], list[float]]:
    """Return a number as lanes, lanes in units of 2**600, and what is not finite."""
    if isinstance(value, float) and (isnan(value) or value in (inf, -inf)):
        return [], [], [value]
    rest, lanes, high = Fraction(value), [], []
    while abs(rest) >= Fraction(_HUGE):
        high.append(float(rest / int(_UNIT)))
        rest -= Fraction(high[-1]) * int(_UNIT)
    while part := float(rest):
        lanes.append(part)
        rest -= Fraction(part)
    return lanes, high, []


def finished(component: Component, sums: Sums, counts: IntArray) -> FloatArray:
    """Return sums, or their means, as `compute_results` gets them: an array of the component's type."""
    values = sums.over(counts) if component.merge is Merge.MEAN else sums.rounded()
    return values.astype(component.dtype, copy=False)
