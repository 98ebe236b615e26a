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
"""Larger magnitudes are held in high lanes, in units of `_UNIT`, so that no sum of lanes overflows."""

_UNIT: Final = ldexp(1.0, 600)
"""The unit of high lanes."""

_TINY: Final = ldexp(1.0, -800)
"""For smaller magnitudes, the error of a product may be too small for a float."""

_LEAST_EXPONENT: Final = -1022
"""The exponent of the least power of two at which a cut leaves no remainder: every float is a multiple of its grid."""

_BLOCK: Final = 1 << 14
"""The number of values that are computed at a time."""

_SPLITTER: Final = 2.0**27 + 1
"""The factor by which Veltkamp splits a float in two halves."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The exact sums of n groups of floats, or of n groups of vectors of floats.

    Attributes:
        lanes: At least one array of n values; each sum is the exact sum of its values in all of them.
        high: Lanes of magnitudes beyond 2**800, in units of 2**600.
        non_finite: The infinity or NaN of each sum that has one in it, and zero for the other sums; None if no sum has
            one.

    Example:
        >>> sums = Sums.of(np.array([1e16, 1.0, -1e16]))
        >>> sums.on_grid(3).each(lambda lane: lane.sum(keepdims=True)).rounded()
        array([1.])
    """

    lanes: tuple[FloatArray, ...]
    high: tuple[FloatArray, ...] = ()
    non_finite: FloatArray | None = None

    @classmethod
    def of(cls, values: FloatArray) -> Sums:
        """Return each value as a sum that has only this value in it."""
        values = np.asarray(values, np.float64)
        if _largest(values) < _HUGE:  # false if a value is NaN
            return cls((values,))

        # Each value is in one of three arrays, and zero in the other two: a high lane has huge values in larger units,
        # so that no sum of them is too large for a float.
        is_finite = np.isfinite(values)
        non_finite = None if is_finite.all() else np.where(is_finite, 0.0, values)
        values = np.where(is_finite, values, 0.0)
        is_huge = np.abs(values) >= _HUGE
        high = (np.where(is_huge, values / _UNIT, 0.0),) if is_huge.any() else ()
        return cls(lanes=(np.where(is_huge, 0.0, values),), high=high, non_finite=non_finite)

    @classmethod
    def concat(cls, tables: Sequence[Sums]) -> Sums:
        """Join the sums of several tables, one table after the other."""
        shapes = [table.lanes[0].shape for table in tables]
        lanes = _concatenated([table.lanes for table in tables], shapes)
        high = _concatenated([table.high for table in tables], shapes)
        # Some tables lack an array of infinities and NaN, as some lack lanes that others have: both are joined alike.
        non_finite_lanes: list[tuple[FloatArray, ...]] = []
        for table in tables:
            non_finite_lanes.append(() if table.non_finite is None else (table.non_finite,))
        non_finite = _concatenated(non_finite_lanes, shapes)
        return cls(lanes, high, non_finite[0] if non_finite else None)

    @classmethod
    def from_plain(cls, values: Sequence[object], shape: tuple[int, ...] = ()) -> Sums:
        """Return the sums that `plain` returned as numbers.

        Args:
            values: The numbers, of any type; lists of numbers if each sum is a vector.
            shape: The shape of each vector; empty if each sum is a number.
        """
        numbers = np.empty((len(values), *shape), object)
        if shape:
            numbers[...] = values
        else:
            numbers[...] = np.fromiter(values, object, len(values))  # less than half the time of an assigned list

        expanded_numbers = [_expanded(number) for number in numbers.reshape(-1)]
        lanes = _lanes_of([number.lanes for number in expanded_numbers], numbers.shape)
        high = _lanes_of([number.high for number in expanded_numbers], numbers.shape)
        non_finite = _lanes_of([number.non_finite for number in expanded_numbers], numbers.shape)
        if not lanes:  # all are zero, or not finite
            lanes = (np.zeros(numbers.shape),)
        return cls(lanes, high, non_finite[0] if non_finite else None)

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
        return arrays if self.non_finite is None else (*arrays, self.non_finite)

    def each(
        self,
        function: Callable[[FloatArray], FloatArray],
        for_non_finite: Callable[[FloatArray], FloatArray] | None = None,
    ) -> Sums:
        """Apply a function to each array.

        Args:
            function: The function, which gets a lane. After `on_grid` it may add and subtract its floats in any order.
            for_non_finite: The function for the array of infinities and NaN, which cannot be subtracted; None to apply
                `function` to it, too.
        """
        lanes = tuple(map(function, self.lanes))
        high = tuple(map(function, self.high))
        if self.non_finite is None:
            return Sums(lanes, high)
        with np.errstate(invalid="ignore"):  # infinities of both signs add up to NaN
            non_finite = (for_non_finite or function)(self.non_finite)
        return Sums(lanes, high, non_finite)

    def take(self, places: IntArray | slice) -> Sums:
        """Select sums by their places, or by a slice."""
        return self.each(lambda array: array[places])

    def on_grid(self, most_values: int) -> Sums:
        """Cut the sums into lanes whose values can be added and subtracted exactly, in any order.

        Args:
            most_values: The number of values of a lane of which a sum may consist.

        Cost: about seven passes over the values of a lane, for each of the lanes that it is cut into, mostly two.
        """
        lanes = _cut(self.lanes, most_values)
        if not lanes:  # all sums are zero
            lanes = (np.zeros_like(self.lanes[0]),)
        return Sums(lanes, _cut(self.high, most_values), self.non_finite)

    def rounded(self) -> FloatArray:
        """Return the sums as floats, each rounded once. One beyond the largest float is infinite; zero has no sign."""
        return self._rounded(np.ones(len(self), np.int64))

    def over(self, counts: IntArray) -> FloatArray:
        """Return each sum divided by a positive whole number below 2**53, rounded once."""
        return self._rounded(np.asarray(counts, np.int64))

    def _rounded(self, counts: IntArray) -> FloatArray:
        """Return each sum divided by a positive whole number, its count, and rounded once."""
        values = np.empty(self.lanes[0].shape)
        may_be_wrong = np.zeros(self.lanes[0].shape, bool)
        counts = counts.reshape((len(self), *[1] * (values.ndim - 1)))  # all numbers of a vector have one count
        for block in _blocks(values):
            lanes = [lane[block] for lane in self.lanes]
            values[block], may_be_wrong[block] = _quotients(lanes, counts[block])
            values[block] += 0.0  # which turns -0.0 into 0.0
        return self._corrected(values, may_be_wrong, counts)

    def plain(self) -> list[object]:
        """Return the sums as plain data: exact fractions, or floats where they are not finite."""
        # A sum is added up as a fraction, of its values in all lanes and in the high lanes for large values. For this,
        # vectors are taken apart into their numbers.
        exact = np.empty(self.lanes[0].size, object)
        lanes = [lane.reshape(-1) for lane in self.lanes]
        high = [lane.reshape(-1) for lane in self.high]
        for place in range(len(exact)):
            exact[place] = _exact([lane[place] for lane in lanes], [lane[place] for lane in high])
        if self.non_finite is not None:
            non_finite = self.non_finite.reshape(-1)
            for place in np.flatnonzero(non_finite).tolist():
                number = float(non_finite[place])
                exact[place] = nan if isnan(number) else number  # the bits of every NaN are the same
        plain: list[object] = exact.reshape(self.lanes[0].shape).tolist()
        return plain

    def _corrected(self, values: FloatArray, may_be_wrong: BoolArray, counts: IntArray) -> FloatArray:
        """Return quotients after computing some of them anew by fractions, and filling in those that are not finite.

        Args:
            values: The quotients of the sums and the counts, without their high lanes.
            may_be_wrong: True for each quotient that may be rounded wrong.
            counts: The divisor of each sum.
        """
        for lane in self.high:  # the quotients lack high lanes, so a sum that has one needs a fraction
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
        if self.non_finite is None:
            return values
        non_finite = np.where(np.isnan(self.non_finite), nan, self.non_finite)  # the bits of every NaN are the same
        return np.where(self.non_finite == 0, values, non_finite)


def _blocks(values: FloatArray) -> Iterator[slice]:
    """Yield slices of an array, so small that they and all that is computed from them stay in a processor's cache."""
    rows = max(1, _BLOCK * len(values) // max(values.size, 1))
    return (slice(start, start + rows) for start in range(0, len(values), rows))


def _largest(values: FloatArray) -> float:
    """Return the largest magnitude."""
    if not values.size:
        return 0.0
    return max(float(values.max()), -float(values.min()))


def _cut(lanes: Sequence[FloatArray], most_values: int) -> tuple[FloatArray, ...]:
    """Cut lanes at one grid after another: return a lane of multiples of each grid, the coarsest first.

    A grid is the multiples of a power of two. The sums stay the same. There is no lane if all values are zero.

    Args:
        lanes: The lanes.
        most_values: The number of values of a returned lane that can be added exactly.
    """
    remainders = [_Remainder(lane, _largest(lane)) for lane in lanes]
    cut_lanes: list[FloatArray] = []
    while True:
        remainders = [remainder for remainder in remainders if remainder.largest]
        if not remainders:
            return tuple(cut_lanes)
        # The sum of `most_values` values of each lane may have so many more bits than the largest value.
        added_bits = (int(most_values) * len(remainders)).bit_length() + 1
        largest = max(remainder.largest for remainder in remainders)
        _, exponent_of_largest = frexp(largest)
        # The grid is so coarse that a float has room for such a sum of its multiples.
        power = ldexp(1.0, max(_LEAST_EXPONENT, exponent_of_largest + added_bits))
        # The upper parts of all lanes are multiples of one grid, so one lane holds their sum.
        upper = np.zeros_like(remainders[0].lane)
        remainders = [_cut_lane(remainder.lane, power, upper) for remainder in remainders]
        cut_lanes.append(upper)


class _Remainder(NamedTuple):
    """The part of a lane that is left when its multiples of all grids so far are taken off.

    Attributes:
        lane: The values.
        largest: The largest magnitude of the values.
    """

    lane: FloatArray
    largest: float


def _cut_lane(lane: FloatArray, power: float, upper: FloatArray) -> _Remainder:
    """Cut a lane: add its upper part, which are multiples of a grid, to another lane, and return the remainder.

    Args:
        lane: The lane.
        power: The power of two that cuts: a float to which it is added, and from which it is then subtracted, has lost
            the bits below the grid.
        upper: The lane that the upper part is added to.
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
    """Divide sums by whole numbers.

    Args:
        lanes: The lanes of the sums, without high ones.
        counts: The divisors.

    Returns:
        The quotients rounded to floats; and True for each that may be rounded wrong.
    """
    condensed = _condensed(lanes)
    total = condensed.total
    may_be_wrong = condensed.may_be_wrong
    divisor = counts.astype(np.float64)
    quotient = total / divisor
    is_inexact = condensed.error != 0  # of a sum: it is not exactly the float `total`
    # Of so small a sum, an error below may be too small for a float.
    may_be_wrong |= is_inexact & (np.abs(total) < _TINY)
    # A power of two as a divisor changes only the exponent of a sum, so the rounded sum has the right quotient.
    is_power_of_two = counts & (counts - 1) == 0
    is_inexact &= ~is_power_of_two
    if not is_inexact.any():
        return quotient, may_be_wrong

    # A sum is more exact than its float, so its quotient may round to a neighbour of `quotient`. What the division
    # leaves over decides: its own quotient, the correction, is known up to a small error, so the quotient with the
    # least and with the largest correction must be the same float.
    product, error = _two_product(quotient, divisor)
    remainder, lost = _two_sum((total - product) - error, condensed.error)
    correction = remainder / divisor
    low = quotient + correction * (1 - 2.0**-40)
    high = quotient + correction * (1 + 2.0**-40)
    places = np.nonzero(is_inexact & (low != high))  # quotients halfway between two floats, or very close to it
    if len(places[0]):
        # If the correction times the divisor is exactly the remainder, the correction has no error, and adding it
        # rounds the exact quotient: halfway between two floats, to the even one.
        product, error = _two_product(correction[places], np.broadcast_to(divisor, correction.shape)[places])
        is_exact = (product == remainder[places]) & (error == 0) & (lost[places] == 0)
        low[places] = quotient[places] + correction[places]
        may_be_wrong[places] |= ~is_exact
    return np.where(is_inexact, low, quotient), may_be_wrong


class _Condensed(NamedTuple):
    """The sums of lanes, as two floats each.

    Attributes:
        total: The sums, rounded to the nearest float.
        error: The rest of each exact sum, as a float.
        may_be_wrong: True for each sum that two floats may not hold.
    """

    total: FloatArray
    error: FloatArray
    may_be_wrong: BoolArray


def _condensed(lanes: Sequence[FloatArray]) -> _Condensed:
    """Add up lanes into two floats for each sum, by a few sweeps of error-free additions.

    A sum that two floats do not hold may be wrong.
    """
    may_be_wrong = np.zeros(lanes[0].shape, bool)
    if len(lanes) == 1:
        return _Condensed(lanes[0], np.zeros_like(lanes[0]), may_be_wrong)
    terms = list(lanes)
    for _ in range(len(lanes)):  # each sweep moves the sum into the first terms; mostly one or two are enough
        terms = _swept(terms)
        if not any(term.any() for term in terms[2:]):
            break
    for term in terms[2:]:
        may_be_wrong |= term != 0
    total, error = _two_sum(terms[0], terms[1])
    return _Condensed(total, error, may_be_wrong)


def _swept(terms: Sequence[FloatArray]) -> list[FloatArray]:
    """Replace terms by as many others with the same exact sums.

    The first one is the sum of the terms as floats add them up; the others are the errors of these additions.
    """
    total = terms[-1]
    errors: list[FloatArray] = []
    for term in reversed(terms[:-1]):
        total, error = _two_sum(term, total)
        errors.append(error)
    return [total, *reversed(errors)]


def _two_sum(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the float sum of two floats, and its error: both together are the exact sum (Knuth's TwoSum)."""
    total = first + second
    second_in_total = total - first
    first_in_total = total - second_in_total
    return total, (first - first_in_total) + (second - second_in_total)


def _two_product(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the float product of two floats, and its error: both together are the exact product (Dekker)."""
    product = first * second
    first_high, first_low = _split(first)
    second_high, second_low = _split(second)
    error = first_high * second_high - product
    error += first_high * second_low
    error += first_low * second_high
    error += first_low * second_low
    return product, error


def _split(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split floats into an upper and a lower half of at most 26 bits each, whose products are exact (Veltkamp)."""
    scaled = values * _SPLITTER
    high = scaled - (scaled - values)
    return high, values - high


def _concatenated(tables: Sequence[Sequence[FloatArray]], shapes: Sequence[tuple[int, ...]]) -> tuple[FloatArray, ...]:
    """Concatenate the lanes of several tables; a lane that a table lacks is zero there.

    Args:
        tables: The lanes of each table.
        shapes: The shape of a lane of each table.
    """
    lane_count = max(map(len, tables))
    joined_lanes: list[FloatArray] = []
    for place in range(lane_count):
        parts: list[FloatArray] = []
        for lanes, shape in zip(tables, shapes, strict=True):
            has_lane = place < len(lanes)
            parts.append(lanes[place] if has_lane else np.zeros(shape))
        joined_lanes.append(np.concatenate(parts))
    return tuple(joined_lanes)


def _lanes_of(numbers: Sequence[Sequence[float]], shape: tuple[int, ...]) -> tuple[FloatArray, ...]:
    """Return lanes for numbers that are sums of a few floats each; a number with fewer floats than others has zeros.

    Args:
        numbers: The floats of each number.
        shape: The shape of a lane.
    """
    lane_count = max(map(len, numbers), default=0)
    table = np.zeros((len(numbers), lane_count))
    for row, floats in enumerate(numbers):
        table[row, : len(floats)] = floats
    return tuple(table[:, place].reshape(shape) for place in range(lane_count))


def _exact(lanes: Sequence[float], high: Sequence[float]) -> Fraction:
    """Return the exact sum of a value of each lane, and of a value of each high lane, which counts in `_UNIT`s."""
    low_sum = sum(map(Fraction, lanes), Fraction(0))
    high_sum = sum(map(Fraction, high), Fraction(0))
    return low_sum + high_sum * int(_UNIT)


class _Expanded(NamedTuple):
    """A number as a sum of floats.

    Attributes:
        lanes: The floats.
        high: Floats in units of 2**600.
        non_finite: The number itself if it is an infinity or NaN; otherwise empty.
    """

    lanes: Sequence[float] = ()
    high: Sequence[float] = ()
    non_finite: Sequence[float] = ()


def _expanded(value: float | Fraction) -> _Expanded:
    """Return a number as a sum of floats: the nearest float, the one nearest to what is left, and so on."""
    if isinstance(value, float) and not isfinite(value):
        return _Expanded(non_finite=[value])
    remainder = Fraction(value)
    high: list[float] = []
    while abs(remainder) >= Fraction(_HUGE):  # such a number may be too large for a float, but not in units
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
    """Round the sums of a component, as `compute_results` gets them: an array of the component's type.

    Args:
        component: The component. If it merges to means, each sum is divided by its count.
        sums: The sums.
        counts: The number of values in each sum.
    """
    values = sums.over(counts) if component.merge is Merge.MEAN else sums.rounded()
    return values.astype(component.dtype, copy=False)
