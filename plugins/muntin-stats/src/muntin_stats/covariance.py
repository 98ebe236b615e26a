"""The covariance."""

from __future__ import annotations

from math import nan
from typing import Any

from muntin import ColumnarAggregate
from muntin.schemas import Field
from muntin_stats.exact import nearest
from muntin_stats.kinds import are_whole_points
from muntin_stats.number import M, N
from muntin_stats.pairs import PairAggregate, Products
from muntin_stats.parameters import whole_number


class Covariance(PairAggregate[N, M]):
    """Measure how two numbers of the members of a window move together.

    The sum of the products of both distances from their averages, divided by the count less `ddof`.

    Args:
        ddof: Number that is taken off the count: 1 for Spark's `covar_samp`, 0 for `covar_pop`.

    Types: `Point(x, y)` to float. A query binds two columns, of floats, ints or Decimals.
    Nulls: a point with a null coordinate is skipped; the result is null where no more than `ddof` points are left.
    NaN: the covariance is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: the sums are kept exactly, as fractions, and the quotient is rounded once, so removing, combining and
        deducting are exact.

    Cost: five fractions of some 30 bytes per window; about twice what `Variance` costs.

    Example:
        >>> from muntin_stats import Point
        >>> covariance = Covariance()
        >>> covariance.compute_result(covariance.add_events(covariance.create_state(), [Point(0, 1), Point(2, 5)]))
        4.0
    """

    name, version = "stats.covariance", "0.1.0"
    aliases = ("cov", "covar", "covar_samp")

    def __init__(self, ddof: int = 1) -> None:
        self.ddof = whole_number("ddof", ddof, least=0)

    def compute_result(self, state: Products) -> float | None:
        """Return the covariance."""
        divisor = state.count - self.ddof
        if divisor <= 0:
            return None
        if state.not_finite_count:
            return nan
        covariance = state.joint_spread / divisor
        return nearest(covariance.numerator, covariance.denominator)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, float | None] | None:
        """Return the form on arrays: with floats, count, means and three lengths; of ints alone, exact sums."""
        is_whole = are_whole_points(reads)
        if is_whole is None:
            return None
        from muntin_stats.columns.pairs import ColumnarCovariance
        from muntin_stats.columns.whole_pairs import ColumnarCovarianceOfIntegers

        return ColumnarCovarianceOfIntegers(self.ddof) if is_whole else ColumnarCovariance(self.ddof)
