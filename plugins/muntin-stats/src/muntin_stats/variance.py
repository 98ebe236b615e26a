"""The variance."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, nan
from operator import mul
from typing import ClassVar

from muntin import ColumnarAggregate
from muntin.schemas import Field
from muntin_stats.exact import nearest, whole
from muntin_stats.group import Fieldwise, GroupAggregate
from muntin_stats.kinds import reads_floats
from muntin_stats.order import present
from muntin_stats.parameters import whole_number


@dataclass(slots=True)
class Moments(Fieldwise):
    """The first two moments of some numbers, exactly.

    Attributes:
        count: The number of numbers.
        odd: How many of them are NaN or infinite; these are in no sum.
        total: The sum of the others.
        squares: The sum of their squares.
    """

    count: int
    odd: int
    total: Fraction
    squares: Fraction


class Variance(GroupAggregate[float | None, Moments, float | None]):
    """Measure how far the members of a window lie from their average.

    The sum of the squared distances from the average, divided by the count less `ddof`.

    Args:
        ddof: What is taken off the count: 1 estimates the variance of what was sampled, as Spark's `var_samp`; 0
            is the variance of the members themselves, as `var_pop`.

    Types: float to float.
    Nulls: skipped; the result is null where no more than `ddof` other payloads are left.
    NaN: the variance is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: sums of values and of squares are kept exactly, as fractions, and the quotient is rounded once. So removing,
        combining and deducting are exact, and values far from zero lose nothing, which is what Welford's and Chan's
        updates are for; those cannot be undone exactly.

    Cost: two fractions of some 30 bytes per window. Most of a call's cost does not depend on the number of payloads,
        and is several times that of `Average`.

    Example:
        >>> variance = Variance()
        >>> state = variance.add_events(variance.create_state(), [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])
        >>> variance.compute_result(state)
        30.0
    """

    name, version = "stats.variance", "0.1.0"
    aliases: ClassVar[tuple[str, ...]] = ("var", "var_samp")

    def __init__(self, ddof: int = 1) -> None:
        self.ddof = whole_number("ddof", ddof, least=0)

    def lift(self, payloads: Sequence[float | None]) -> Moments:
        """Return the moments of these alone."""
        values = present(payloads)
        finite = [value for value in values if isfinite(value)]
        integers, scale = whole(finite)
        total = Fraction(sum(integers), 1 << scale)
        squares = Fraction(sum(map(mul, integers, integers)), 1 << 2 * scale)
        return Moments(len(values), len(values) - len(finite), total, squares)

    def compute_result(self, state: Moments) -> float | None:
        """Return the variance."""
        divisor = state.count - self.ddof
        if divisor <= 0:
            return None
        if state.odd:
            return nan
        variance = (state.squares - state.total**2 / state.count) / divisor
        return nearest(variance.numerator, variance.denominator)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[float | None, float | None] | None:
        """Return the form on arrays: count, mean and sum of squares, by Chan's update."""
        if not reads_floats(reads):
            return None
        from muntin_stats.columns.variance import ColumnarVariance

        return ColumnarVariance(self.ddof)
