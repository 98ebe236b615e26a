"""The exact sum of numbers of any type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, Final, Self

from muntin_stats.exact import nearest
from muntin_stats.total import Total

_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Decimal addition without rounding."""


@dataclass(slots=True)
class Amount:
    """The sum of numbers of one type, or of whole numbers or decimals among floats.

    Attributes:
        exact_count: Number of summands that are not floats.
        exact_part: Exact sum of the summands that are not floats.
        floats: Sum of the floats.

    Example:
        >>> Amount.of([2**63 - 1, -(2**63)]).over(2)
        -0.5
    """

    exact_count: int = 0
    exact_part: int | Decimal = 0
    floats: Total = field(default_factory=Total)

    @classmethod
    def of(cls, numbers: Sequence[Any]) -> Self:
        """Return the sum of floats, whole numbers or decimals, none of which is null."""
        types = set(map(type, numbers))
        if types <= {float}:
            return cls(floats=Total.of(numbers))
        if not any(issubclass(kind, float) for kind in types):
            return cls(exact_count=len(numbers), exact_part=exact_sum(numbers))
        # Whole numbers or decimals among floats: each sum stays exact by itself.
        floats = [number for number in numbers if isinstance(number, float)]
        exact_numbers = [number for number in numbers if not isinstance(number, float)]
        return cls(exact_count=len(exact_numbers), exact_part=exact_sum(exact_numbers), floats=Total.of(floats))

    @property
    def count(self) -> int:
        """The number of summands."""
        return self.exact_count + self.floats.count

    @property
    def exact(self) -> Fraction:
        """The sum without rounding, of the summands that are neither NaN nor infinite."""
        return Fraction(self.exact_part) + self.floats.exact

    def over(self, divisor: int) -> float:
        """Return the sum divided by a positive whole number, as a float, rounded once."""
        if not self.exact_count:
            return self.floats.over(divisor)  # floats alone have a faster way
        if self.floats.not_finite is not None:
            return self.floats.not_finite
        if isinstance(self.exact_part, int) and not self.floats.count:
            return nearest(self.exact_part, divisor)  # without the cost of a fraction
        total = self.exact
        return nearest(total.numerator, total.denominator * divisor)

    def __add__(self, other: Self) -> Self:
        exact_count = self.exact_count + other.exact_count
        exact_part = _plus(self.exact_part, other.exact_part)
        return type(self)(exact_count, exact_part, self.floats + other.floats)

    def __sub__(self, other: Self) -> Self:
        exact_count = self.exact_count - other.exact_count
        exact_part = _minus(self.exact_part, other.exact_part)
        return type(self)(exact_count, exact_part, self.floats - other.floats)


def exact_sum(numbers: Sequence[int | Decimal]) -> int | Decimal:
    """Return the sum of ints, or of Decimals, without rounding; 0 of none."""
    total: int | Decimal = sum(numbers)
    if isinstance(total, Decimal):
        with localcontext(_EXACT):  # the first sum was rounded by the default context, and only told the type
            total = sum(numbers)
    return total


def _plus(first: int | Decimal, second: int | Decimal) -> int | Decimal:
    """Add two exact parts; the sum of no numbers is the whole number 0, also among decimals."""
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    return _EXACT.add(first, second)


def _minus(first: int | Decimal, second: int | Decimal) -> int | Decimal:
    """Undo `_plus`."""
    if isinstance(first, int) and isinstance(second, int):
        return first - second
    return _EXACT.subtract(first, second)
