"""The standard deviation."""

from __future__ import annotations

from math import nan
from typing import Any

from muntin import ColumnarAggregate
from muntin.schemas import Field, ScalarKind
from muntin_stats.exact import nearest_root
from muntin_stats.kinds import kind_of
from muntin_stats.number import N
from muntin_stats.variance import Moments, Variance


class StandardDeviation(Variance[N]):
    """Measure how far the members of a window lie from their average, in their own unit: the root of the variance.

    Args:
        ddof: Number that is taken off the count: 1 estimates the deviation of the population that was sampled, as
            Spark's `stddev_samp`; 0 is the deviation of the members themselves, as `stddev_pop`.

    Types: float, int or Decimal to float.
    Nulls: skipped; the result is null where no more than `ddof` other payloads are left.
    NaN: the deviation is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: as `Variance`. The root is taken of the exact variance and rounded once, so it is finite also where the
        variance is beyond the largest float.

    Cost: as `Variance`, and an integer root per result.

    Example:
        >>> deviation = StandardDeviation()
        >>> deviation.compute_result(deviation.add_events(deviation.create_state(), [1e9 + 1, 1e9 + 3, 1e9 + 5]))
        2.0
    """

    name, version = "stats.standard_deviation", "0.1.0"
    aliases = ("stddev", "stdev", "std", "stddev_samp")

    def compute_result(self, state: Moments) -> float | None:
        """Return the standard deviation."""
        divisor = state.count - self.ddof
        if divisor <= 0:
            return None
        if state.not_finite_count:
            return nan
        variance = (state.squares - state.total**2 / state.count) / divisor
        return nearest_root(variance.numerator, variance.denominator)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, float | None] | None:
        """Return the form on arrays: of floats, count, mean and the length of the distances from it; of ints, sums."""
        kind = kind_of(reads)
        if kind not in (ScalarKind.FLOAT, ScalarKind.INTEGER):
            return None
        from muntin_stats.columns.standard_deviation import (
            ColumnarStandardDeviation,
            ColumnarStandardDeviationOfIntegers,
        )

        is_float = kind is ScalarKind.FLOAT
        return ColumnarStandardDeviation(self.ddof) if is_float else ColumnarStandardDeviationOfIntegers(self.ddof)
