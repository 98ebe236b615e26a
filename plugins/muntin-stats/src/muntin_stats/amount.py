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
        count: The number of summands that are not floats.
        other: Their sum, exactly.
        floats: The sum of the floats.

    Example:
        >>> Amount.of([2**63 - 1, -(2**63)]).over(2)
        -0.5
    """

    count: int = 0
    other: int | Decimal = 0
    floats: Total = field(default_factory=Total)

    @classmethod
    def of(cls, numbers: Sequence[Any]) -> Self:
        """Return the sum of floats, whole numbers or decimals, none of which is null."""
        types = set(map(type, numbers))
        if types <= {float}:
            return cls(0, 0, Total.of(numbers))
        if not any(issubclass(kind, float) for kind in types):
            return cls(len(numbers), exact_sum(numbers))
        floats = [number for number in numbers if isinstance(number, float)]
        others = [number for number in numbers if not isinstance(number, float)]
        return cls(len(others), exact_sum(others), Total.of(floats))

    @property
    def numbers(self) -> int:
        """The number of summands."""
        return self.count + self.floats.count

    @property
    def exact(self) -> Fraction:
        """The sum without rounding, of the summands that are neither NaN nor infinite."""
        return Fraction(self.other) + self.floats.exact

    def over(self, divisor: int) -> float:
        """Return the sum divided by a positive whole number, as a float, rounded once."""
        if not self.count:
            return self.floats.over(divisor)
        if self.floats.odd is not None:
            return self.floats.odd
        if isinstance(self.other, int) and not self.floats.count:
            return nearest(self.other, divisor)
        ratio = self.exact
        return nearest(ratio.numerator, ratio.denominator * divisor)

    def __add__(self, more: Self) -> Self:
        return type(self)(self.count + more.count, _plus(self.other, more.other), self.floats + more.floats)

    def __sub__(self, less: Self) -> Self:
        return type(self)(self.count - less.count, _minus(self.other, less.other), self.floats - less.floats)


def exact_sum(numbers: Sequence[int | Decimal]) -> int | Decimal:
    """Return the sum of ints, or of Decimals, without rounding; 0 of none."""
    total: int | Decimal = sum(numbers)
    if isinstance(total, Decimal):
        with localcontext(_EXACT):
            total = sum(numbers)
    return total


def _plus(first: int | Decimal, second: int | Decimal) -> int | Decimal:
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    return _EXACT.add(first, second)


def _minus(first: int | Decimal, second: int | Decimal) -> int | Decimal:
    if isinstance(first, int) and isinstance(second, int):
        return first - second
    return _EXACT.subtract(first, second)
