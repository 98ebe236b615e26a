"""The slope of a line through points."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import nan
from typing import Any

from muntin import ColumnarAggregate
from muntin.schemas import Field
from muntin_stats.exact import nearest
from muntin_stats.group import Fieldwise, GroupAggregate
from muntin_stats.kinds import are_whole_points
from muntin_stats.number import M, N
from muntin_stats.pairs import coordinates
from muntin_stats.point import Point


@dataclass(slots=True)
class Sums(Fieldwise):
    """The exact sums of points from which a line of least squares is computed.

    Attributes:
        count: Number of points.
        not_finite_count: Number of points with a coordinate that is NaN or infinite, which are in no sum.
        x: Sum of x.
        y: Sum of y.
        xx: Sum of x times x.
        xy: Sum of x times y.
    """

    count: int
    not_finite_count: int
    x: Fraction
    y: Fraction
    xx: Fraction
    xy: Fraction


class LinearTrend(GroupAggregate[Point[N, M] | None, Sums, float | None]):
    """Fit a line to the points of a window and return its slope, by how much y rises where x rises by one.

    The line of least squares, as Spark's `regr_slope(y, x)`.

    Types: `Point(x, y)` to float. A query binds two columns, of floats, ints or Decimals.
    Nulls: a point with a null coordinate is skipped; the result is null where fewer than two distinct x are left.
    NaN: the slope is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: the sums are kept exactly, as fractions, and the quotient is rounded once, so removing, combining and
        deducting are exact, for times in nanoseconds as well as for small numbers.

    Cost: four fractions of some 30 bytes per window; about twice what `Variance` costs.

    Example:
        >>> trend = LinearTrend()
        >>> trend.compute_result(trend.add_events(trend.create_state(), [Point(0, 1), Point(2, 5), Point(None, 7)]))
        2.0
    """

    name, version = "stats.linear_trend", "0.1.0"
    aliases = ("regr_slope", "slope")

    def lift(self, payloads: Sequence[Point[N, M] | None]) -> Sums:
        """Return the sums of points."""
        points = coordinates(payloads)
        return Sums(
            count=points.size,
            not_finite_count=points.not_finite_count,
            x=points.sum_x,
            y=points.sum_y,
            xx=points.sum_xx,
            xy=points.sum_xy,
        )

    def compute_result(self, state: Sums) -> float | None:
        """Return the slope."""
        if state.not_finite_count:
            return nan
        # The normal equation of least squares, multiplied by the count.
        spread = state.count * state.xx - state.x**2
        if not spread:
            return None  # all x are equal: the line is upright
        slope = (state.count * state.xy - state.x * state.y) / spread
        return nearest(slope.numerator, slope.denominator)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, float | None] | None:
        """Return the form on arrays: with floats, count, means and two lengths; of ints alone, exact sums."""
        is_whole = are_whole_points(reads)
        if is_whole is None:
            return None
        from muntin_stats.columns.linear_trend import ColumnarLinearTrend
        from muntin_stats.columns.whole_pairs import ColumnarLinearTrendOfIntegers

        return ColumnarLinearTrendOfIntegers() if is_whole else ColumnarLinearTrend()
