"""The exact sum of floats, finite or not."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum, inf, isfinite, nan
from operator import neg
from typing import NamedTuple, Self

from muntin_stats.exact import expand, nearest, whole
from muntin_stats.number import Number


@dataclass(slots=True)
class Total:
    """The exact sum and the number of floats. Adding returns a new total; subtracting undoes it exactly.

    Attributes:
        count: Number of floats, finite or not.
        finite: Expansion of the sum of the finite floats.
        nans: Number of NaNs.
        highs: Number of positive infinities.
        lows: Number of negative infinities.

    Example:
        >>> with_one = Total.of([1e16, 1.0])
        >>> (with_one - Total.of([1e16])).rounded
        1.0
    """

    count: int = 0
    finite: list[float] = field(default_factory=list)
    nans: int = 0
    highs: int = 0
    lows: int = 0

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Return the sum of values."""
        if all(map(isfinite, values)):
            return cls(len(values), expand(values))
        finite = [value for value in values if isfinite(value)]
        not_finite = count_not_finite(values)
        return cls(len(values), expand(finite), nans=not_finite.nans, highs=not_finite.highs, lows=not_finite.lows)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.count + other.count,
            expand(self.finite + other.finite),
            self.nans + other.nans,
            self.highs + other.highs,
            self.lows + other.lows,
        )

    def __sub__(self, other: Self) -> Self:
        return type(self)(
            self.count - other.count,
            expand([*self.finite, *map(neg, other.finite)]),
            self.nans - other.nans,
            self.highs - other.highs,
            self.lows - other.lows,
        )

    @property
    def not_finite(self) -> float | None:
        """The sum where a value is NaN or infinite; None where all are finite."""
        return sum_of_not_finite(self.nans, self.highs, self.lows)

    @property
    def exact(self) -> Fraction:
        """The sum of the finite values, without rounding."""
        integers, scale = whole(self.finite)
        return Fraction(sum(integers), 1 << scale)

    @property
    def rounded(self) -> float:
        """The sum, rounded once; NaN if a value is NaN, or if there are infinities of both signs."""
        return self.over(1)

    def over(self, divisor: int) -> float:
        """Return the sum divided by a positive whole number, rounded once."""
        not_finite = self.not_finite
        return _quotient(self.finite, divisor) if not_finite is None else not_finite


class NotFiniteCounts(NamedTuple):
    """The numbers of values that are not finite.

    Attributes:
        nans: Number of NaNs.
        highs: Number of positive infinities.
        lows: Number of negative infinities.
    """

    nans: int
    highs: int
    lows: int


def count_not_finite(values: Sequence[Number]) -> NotFiniteCounts:
    """Count the values that are not finite.

    Example:
        >>> count_not_finite([1.0, inf, nan, inf])
        NotFiniteCounts(nans=1, highs=2, lows=0)
    """
    not_finite = [value for value in values if isinstance(value, float) and not isfinite(value)]
    highs = not_finite.count(inf)
    lows = not_finite.count(-inf)
    nans = len(not_finite) - highs - lows  # counted by what is left, as NaN does not equal itself
    return NotFiniteCounts(nans, highs, lows)


def sum_of_not_finite(nans: int, highs: int, lows: int) -> float | None:
    """Return the sum of values that include NaNs and infinities, from their numbers; None if there are none.

    Example:
        >>> sum_of_not_finite(0, 2, 0), sum_of_not_finite(0, 2, 1), sum_of_not_finite(0, 0, 0)
        (inf, nan, None)
    """
    if nans or (highs and lows):
        return nan
    if highs:
        return inf
    if lows:
        return -inf
    return None


def _quotient(expansion: list[float], divisor: int) -> float:
    """Return the sum of an expansion divided by a positive whole number, rounded once."""
    if not expansion:
        return 0.0
    if divisor == 1:
        return _rounded(expansion)
    if len(expansion) == 1 and divisor <= 2**53:
        return expansion[0] / divisor + 0.0  # one division of two floats is rounded once; zero has no sign
    integers, scale = whole(expansion)
    return nearest(sum(integers), divisor << scale)


def _rounded(expansion: list[float]) -> float:
    """Return the sum of an expansion, rounded once; infinite beyond the largest float."""
    try:
        return fsum(expansion)
    except OverflowError:
        return inf if expansion[0] > 0 else -inf  # the largest float comes first, and has the sign of the sum
