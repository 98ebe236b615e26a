"""The variance."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import nan
from operator import mul
from typing import Any, ClassVar

from muntin import ColumnarAggregate
from muntin.schemas import Field, ScalarKind
from muntin_stats.exact import is_finite, nearest, over_one_denominator
from muntin_stats.group import Fieldwise, GroupAggregate
from muntin_stats.kinds import kind_of
from muntin_stats.number import N
from muntin_stats.order import present
from muntin_stats.parameters import whole_number


@dataclass(slots=True)
class Moments(Fieldwise):
    """The first two moments of numbers, exactly.

    Attributes:
        count: Number of numbers.
        not_finite_count: Number of NaNs and infinities, which are in no sum.
        total: Sum of the finite numbers.
        squares: Sum of their squares.
    """

    count: int
    not_finite_count: int
    total: Fraction
    squares: Fraction


class Variance(GroupAggregate[N | None, Moments, float | None]):
    """Measure how far the members of a window lie from their average.

    The sum of the squared distances from the average, divided by the count less `ddof`.

    Args:
        ddof: Number that is taken off the count: 1 estimates the variance of the population that was sampled, as
            Spark's `var_samp`; 0 is the variance of the members themselves, as `var_pop`.

    Types: float, int or Decimal to float.
    Nulls: skipped; the result is null where no more than `ddof` other payloads are left.
    NaN: the variance is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: sums of values and of squares are kept exactly, as fractions, and the quotient is rounded once. So removing,
        combining and deducting are exact, and values far from zero, such as times in nanoseconds, lose nothing. That is
        what Welford's and Chan's updates are for; those cannot be undone exactly.

    Cost: two fractions of some 30 bytes per window. Most of a call's cost does not depend on the number of payloads,
        and is several times that of `Average`.

    Example:
        >>> variance = Variance()
        >>> state = variance.add_events(variance.create_state(), [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])
        >>> variance.compute_result(state)
        30.0
        >>> now = 1_700_000_000_000_000_000  # nanoseconds, of which a double has every 256th
        >>> variance.compute_result(variance.add_events(variance.create_state(), [now, now + 10, now + 20, now + 30]))
        166.66666666666666
    """

    name, version = "stats.variance", "0.1.0"
    aliases: ClassVar[tuple[str, ...]] = ("var", "var_samp")

    def __init__(self, ddof: int = 1) -> None:
        self.ddof = whole_number("ddof", ddof, least=0)

    def lift(self, payloads: Sequence[N | None]) -> Moments:
        """Return the moments of payloads."""
        values = present(payloads)
        not_finite_count = 0
        try:
            integers, denominator = over_one_denominator(values)
        except (OverflowError, ValueError):  # an infinity or NaN
            numbers = list(filter(is_finite, values))
            not_finite_count = len(values) - len(numbers)
            integers, denominator = over_one_denominator(numbers)
        total = Fraction(sum(integers), denominator)
        squares = Fraction(sum(map(mul, integers, integers)), denominator * denominator)
        return Moments(len(values), not_finite_count, total, squares)

    def compute_result(self, state: Moments) -> float | None:
        """Return the variance."""
        divisor = state.count - self.ddof
        if divisor <= 0:
            return None
        if state.not_finite_count:
            return nan
        # The sums are exact, so the textbook formula loses no digits.
        variance = (state.squares - state.total**2 / state.count) / divisor
        return nearest(variance.numerator, variance.denominator)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, float | None] | None:
        """Return the form on arrays: of floats, count, mean and squares, by Chan's update; of ints, exact sums."""
        kind = kind_of(reads)
        if kind not in (ScalarKind.FLOAT, ScalarKind.INTEGER):
            return None
        from muntin_stats.columns.variance import ColumnarVariance, ColumnarVarianceOfIntegers

        return ColumnarVariance(self.ddof) if kind is ScalarKind.FLOAT else ColumnarVarianceOfIntegers(self.ddof)
