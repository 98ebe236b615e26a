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
from math import frexp, isfinite, isnan, ldexp, nan
from typing import Final, NamedTuple

import numpy as np

from muntin.columnar.arrays import BoolArray, FloatArray, IntArray
from muntin.columnar.exact import nearest
from muntin.schemas.components import Component, Merge

_HUGE: Final = ldexp(1.0, 800)
"""From here on magnitudes are held apart, in units of `_UNIT`, so that no sum of lanes overflows."""

_UNIT: Final = ldexp(1.0, 600)
_TINY: Final = ldexp(1.0, -800)
"""Below, the error of a product may be too small for a float."""

_LEAST: Final = -1022
"""The least exponent of a power of two that cuts nothing off."""

_BLOCK: Final = 1 << 14
"""The number of values that are computed at a time."""

_SPLITTER: Final = 2.0**27 + 1


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The exact sums of n groups of floats, or of n groups of vectors of floats.

    Attributes:
        lanes: At least one array of n values; each sum is the exact sum of its values in all of them.
        high: Lanes of magnitudes beyond 2**800, in units of 2**600.
        odd: The sums of infinities and NaN, zero where a sum has none of these; None if no sum has.

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
        """Return each value as a sum that has only this value in it."""
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
        """Concatenate sums."""
        shapes = [table.lanes[0].shape for table in tables]
        lanes = _concatenated([table.lanes for table in tables], shapes)
        high = _concatenated([table.high for table in tables], shapes)
        odd_lanes: list[tuple[FloatArray, ...]] = []
        for table in tables:
            odd_lanes.append(() if table.odd is None else (table.odd,))
        odd = _concatenated(odd_lanes, shapes)
        return cls(lanes, high, odd[0] if odd else None)

    @classmethod
    def from_plain(cls, values: Sequence[object], shape: tuple[int, ...] = ()) -> Sums:
        """Return the sums of which `plain` returned the numbers; these may be of any type."""
        numbers = np.empty((len(values), *shape), object)
        if shape:
            numbers[...] = values
        else:
            numbers[...] = np.fromiter(values, object, len(values))  # in less than half the time

        expanded = [_expanded(number) for number in numbers.reshape(-1)]
        lanes = _lanes_of([number.lanes for number in expanded], numbers.shape)
        high = _lanes_of([number.high for number in expanded], numbers.shape)
        odd = _lanes_of([number.odd for number in expanded], numbers.shape)
        if not lanes:  # all are zero, or not finite
            lanes = (np.zeros(numbers.shape),)
        return cls(lanes, high, odd[0] if odd else None)

    def __len__(self) -> int:
        return len(self.lanes[0])

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        return sum(array.nbytes for array in self.arrays)

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        """All arrays."""
        arrays = (*self.lanes, *self.high)
        return arrays if self.odd is None else (*arrays, self.odd)

    def each(self, function: Callable[[FloatArray, bool], FloatArray]) -> Sums:
        """Apply a function to each array.

        Args:
            function: The function. Its second argument is True for lanes, whose floats may be added in any order, and
                False for infinities and NaN.
        """
        lanes = tuple(function(lane, True) for lane in self.lanes)
        high = tuple(function(lane, True) for lane in self.high)
        odd: FloatArray | None = None
        if self.odd is not None:
            with np.errstate(invalid="ignore"):  # infinities of both signs are NaN
                odd = function(self.odd, False)
        return Sums(lanes, high, odd)

    def take(self, places: IntArray | slice) -> Sums:
        """Select sums by their places, or by a slice."""
        return self.each(lambda array, _: array[places])

    def on_grid(self, most: int) -> Sums:
        """Cut the sums into lanes of which any `most` values can be added and subtracted exactly, in any order.

        Cost: about seven passes over the values of a lane, for most data twice.
        """
        lanes = _cut(self.lanes, most)
        if not lanes:  # all sums are zero
            lanes = (np.zeros_like(self.lanes[0]),)
        return Sums(lanes, _cut(self.high, most), self.odd)

    def rounded(self) -> FloatArray:
        """Return the sums, each rounded once; a sum that no float is near is infinite. Zero has no sign."""
        return self._rounded(np.ones(len(self), np.int64))

    def over(self, counts: IntArray) -> FloatArray:
        """Return each sum divided by a positive whole number below 2**53, rounded once."""
        return self._rounded(np.asarray(counts, np.int64))

    def _rounded(self, counts: IntArray) -> FloatArray:
        """Return each sum divided by a positive whole number, rounded once."""
        values = np.empty(self.lanes[0].shape)
        may_be_wrong = np.zeros(self.lanes[0].shape, bool)
        counts = counts.reshape((len(self), *[1] * (values.ndim - 1)))
        for block in _blocks(values):
            lanes = [lane[block] for lane in self.lanes]
            values[block], may_be_wrong[block] = _quotients(lanes, counts[block])
            values[block] += 0.0  # zero has no sign
        return self._mended(values, may_be_wrong, counts)

    def plain(self) -> list[object]:
        """Return the sums as plain data: exact fractions, or floats where they are not finite."""
        exact = np.empty(self.lanes[0].size, object)  # flat: a sum may be a vector
        lanes = [lane.reshape(-1) for lane in self.lanes]
        high = [lane.reshape(-1) for lane in self.high]
        odd = None if self.odd is None else self.odd.reshape(-1)
        for place in range(len(exact)):
            exact[place] = _exact([lane[place] for lane in lanes], [lane[place] for lane in high])
            if odd is not None and odd[place]:
                exact[place] = nan if isnan(odd[place]) else float(odd[place])  # there is one NaN
        plain: list[object] = exact.reshape(self.lanes[0].shape).tolist()
        return plain

    def _mended(self, values: FloatArray, may_be_wrong: BoolArray, counts: IntArray) -> FloatArray:
        """Compute the quotients anew that may be rounded wrong, by fractions, and fill in those that are not finite."""
        for lane in self.high:
            may_be_wrong = may_be_wrong | (lane != 0)
        places = np.nonzero(may_be_wrong)
        if len(places[0]):
            divisors = np.broadcast_to(counts, values.shape)[places].tolist()
            lanes = [lane[places].tolist() for lane in self.lanes]
            high = [lane[places].tolist() for lane in self.high]
            quotients: list[float] = []
            for place, divisor in enumerate(divisors):
                total = _exact([lane[place] for lane in lanes], [lane[place] for lane in high])
                quotients.append(nearest(total / divisor))
            values[places] = quotients
        if self.odd is None:
            return values
        odd = np.where(np.isnan(self.odd), nan, self.odd)  # there is one NaN
        return np.where(self.odd == 0, values, odd)


def _blocks(values: FloatArray) -> Iterator[slice]:
    """Yield slices of an array that stay in a processor's cache, with all that is computed from them."""
    rows = max(1, _BLOCK * len(values) // max(values.size, 1))
    return (slice(start, start + rows) for start in range(0, len(values), rows))


def _largest(values: FloatArray) -> float:
    """Return the largest magnitude."""
    if not values.size:
        return 0.0
    return max(float(values.max()), -float(values.min()))


def _cut(lanes: Sequence[FloatArray], most: int) -> tuple[FloatArray, ...]:
    """Cut lanes at grids: return lanes of multiples of these, the highest first; none if all values are zero.

    Args:
        lanes: The lanes.
        most: The number of values of a returned lane that can be added exactly.
    """
    remainders = [_Remainder(lane, _largest(lane)) for lane in lanes]
    cut_lanes: list[FloatArray] = []
    while True:
        remainders = [remainder for remainder in remainders if remainder.largest]
        if not remainders:
            return tuple(cut_lanes)
        # Bits for the carries of so many values of all lanes are left free above the largest one.
        bits = (int(most) * len(remainders)).bit_length() + 1
        largest = max(remainder.largest for remainder in remainders)
        exponent = max(_LEAST, frexp(largest)[1] + bits)
        upper = np.zeros_like(remainders[0].lane)
        remainders = [_cut_lane(remainder.lane, ldexp(1.0, exponent), upper) for remainder in remainders]
        cut_lanes.append(upper)


class _Remainder(NamedTuple):
    """The part of a lane below all grids so far.

    Attributes:
        lane: The values.
        largest: The largest magnitude of the values.
    """

    lane: FloatArray
    largest: float


def _cut_lane(lane: FloatArray, power: float, upper: FloatArray) -> _Remainder:
    """Add the upper part of a lane, the multiples of a grid, to another lane, and return the remainder.

    Args:
        lane: The lane.
        power: The power of two that cuts: adding and subtracting it leaves the multiples.
        upper: The lane that is added to.
    """
    remainder = np.empty_like(lane)
    largest = 0.0
    for block in _blocks(lane):
        part = lane[block] + power
        part -= power
        upper[block] += part
        np.subtract(lane[block], part, out=remainder[block])
        largest = max(largest, _largest(remainder[block]))
    return _Remainder(remainder, largest)


def _quotients(lanes: Sequence[FloatArray], counts: IntArray) -> tuple[FloatArray, BoolArray]:
    """Return sums divided by whole numbers, rounded, and a mask of those that may be wrong."""
    condensed = _condensed(lanes)
    total = condensed.total
    may_be_wrong = condensed.may_be_wrong
    divisor = counts.astype(np.float64)
    quotient = total / divisor
    is_inexact = condensed.error != 0
    may_be_wrong |= is_inexact & (np.abs(total) < _TINY)
    is_power_of_two = counts & (counts - 1) == 0
    is_inexact &= ~is_power_of_two  # what a power of two divides rounds as the sum did
    if not is_inexact.any():
        return quotient, may_be_wrong

    # The quotient of the remainder decides to which float the quotient rounds. It is known up to an error, so both
    # bounds must round to one float.
    product, error = _two_product(quotient, divisor)
    remainder, lost = _two_sum((total - product) - error, condensed.error)
    correction = remainder / divisor
    low = quotient + correction * (1 - 2.0**-40)
    high = quotient + correction * (1 + 2.0**-40)
    places = np.nonzero(is_inexact & (low != high))  # halfway between two floats, or all but
    if len(places[0]):
        product, error = _two_product(correction[places], np.broadcast_to(divisor, correction.shape)[places])
        is_halfway = (product == remainder[places]) & (error == 0) & (lost[places] == 0)
        low[places] = quotient[places] + correction[places]  # rounds to the even one
        may_be_wrong[places] |= ~is_halfway
    return np.where(is_inexact, low, quotient), may_be_wrong


class _Condensed(NamedTuple):
    """The sums of lanes, as two floats each.

    Attributes:
        total: The sums rounded to the nearest float.
        error: The exact sums less these, as floats.
        may_be_wrong: True where either may be wrong.
    """

    total: FloatArray
    error: FloatArray
    may_be_wrong: BoolArray


def _condensed(lanes: Sequence[FloatArray]) -> _Condensed:
    """Return the sums of lanes as two floats each: what is left after a few sweeps of error-free additions."""
    may_be_wrong = np.zeros(lanes[0].shape, bool)
    if len(lanes) == 1:
        return _Condensed(lanes[0], np.zeros_like(lanes[0]), may_be_wrong)
    terms = list(lanes)
    for _ in range(len(lanes)):
        terms = _swept(terms)
        if not any(term.any() for term in terms[2:]):
            break
    for term in terms[2:]:
        may_be_wrong |= term != 0
    total, error = _two_sum(terms[0], terms[1])
    return _Condensed(total, error, may_be_wrong)


def _swept(terms: Sequence[FloatArray]) -> list[FloatArray]:
    """Return as many terms of the same sums: first the sum as floats add the terms up, then the errors of that."""
    total = terms[-1]
    errors: list[FloatArray] = []
    for term in reversed(terms[:-1]):
        total, error = _two_sum(term, total)
        errors.append(error)
    return [total, *reversed(errors)]


def _two_sum(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a sum as floats add it, and its error (Knuth's TwoSum)."""
    total = first + second
    gained = total - first
    return total, (first - (total - gained)) + (second - gained)


def _two_product(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a product as floats multiply it, and its error (Dekker's product)."""
    product = first * second
    first_high, first_low = _split(first)
    second_high, second_low = _split(second)
    error = ((first_high * second_high - product) + first_high * second_low + first_low * second_high) + (
        first_low * second_low
    )
    return product, error


def _split(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split floats in halves of 26 bits (Veltkamp)."""
    scaled = values * _SPLITTER
    high = scaled - (scaled - values)
    return high, values - high


def _concatenated(tables: Sequence[Sequence[FloatArray]], shapes: Sequence[tuple[int, ...]]) -> tuple[FloatArray, ...]:
    """Concatenate the lanes of several tables; a lane that a table lacks is zero there."""
    lane_count = max(map(len, tables))
    concatenated: list[FloatArray] = []
    for place in range(lane_count):
        parts: list[FloatArray] = []
        for lanes, shape in zip(tables, shapes, strict=True):
            has_lane = place < len(lanes)
            parts.append(lanes[place] if has_lane else np.zeros(shape))
        concatenated.append(np.concatenate(parts))
    return tuple(concatenated)


def _lanes_of(numbers: Sequence[Sequence[float]], shape: tuple[int, ...]) -> tuple[FloatArray, ...]:
    """Return the lanes of numbers that are sums of a few floats each."""
    lane_count = max(map(len, numbers), default=0)
    table = np.zeros((len(numbers), lane_count))
    for row, floats in enumerate(numbers):
        table[row, : len(floats)] = floats
    return tuple(table[:, place].reshape(shape) for place in range(lane_count))


def _exact(lanes: Sequence[float], high: Sequence[float]) -> Fraction:
    """Return the exact sum of lanes, and of high lanes in their unit."""
    low_sum = sum(map(Fraction, lanes), Fraction(0))
    high_sum = sum(map(Fraction, high), Fraction(0))
    return low_sum + high_sum * int(_UNIT)


class _Expanded(NamedTuple):
    """A number as a sum of floats.

    Attributes:
        lanes: The floats.
        high: Floats in units of 2**600.
        odd: The number itself if it is not finite.
    """

    lanes: Sequence[float] = ()
    high: Sequence[float] = ()
    odd: Sequence[float] = ()


def _expanded(value: float | Fraction) -> _Expanded:
    """Return a number as a sum of floats."""
    if isinstance(value, float) and not isfinite(value):
        return _Expanded(odd=[value])
    remainder = Fraction(value)
    high: list[float] = []
    while abs(remainder) >= Fraction(_HUGE):
        high.append(float(remainder / int(_UNIT)))
        remainder -= Fraction(high[-1]) * int(_UNIT)
    lanes: list[float] = []
    part = float(remainder)
    while part:
        lanes.append(part)
        remainder -= Fraction(part)
        part = float(remainder)
    return _Expanded(lanes, high)


def finished(component: Component, sums: Sums, counts: IntArray) -> FloatArray:
    """Return sums, or their means, as `compute_results` gets them: an array of the component's type."""
    values = sums.over(counts) if component.merge is Merge.MEAN else sums.rounded()
    return values.astype(component.dtype, copy=False)
