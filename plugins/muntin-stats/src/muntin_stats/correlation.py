"""The correlation."""

from __future__ import annotations

from math import nan
from typing import Any

from muntin import ColumnarAggregate
from muntin.schemas import Field
from muntin_stats.exact import nearest_root
from muntin_stats.kinds import are_whole_points
from muntin_stats.number import M, N
from muntin_stats.pairs import PairAggregate, Products


class Correlation(PairAggregate[N, M]):
    """Measure how close the points of a window lie to a line: Pearson's coefficient, from -1 to 1, as Spark's `corr`.

    Types: `Point(x, y)` to float. A query binds two columns, of floats, ints or Decimals.
    Nulls: a point with a null coordinate is skipped; the result is null where fewer than two distinct x, or y, are
        left.
    NaN: the correlation is NaN, as it is with an infinity; taking them out again undoes that.

    Laws: the sums are kept exactly, as fractions, and the result is rounded once, so removing, combining and deducting
        are exact, and points on a line have a correlation of exactly 1 or -1.

    Cost: five fractions of some 30 bytes per window, and an integer root per result.

    Example:
        >>> from muntin_stats import Point
        >>> correlation = Correlation()
        >>> points = [Point(0, 1), Point(1, 3), Point(2, 5), Point(None, 7)]
        >>> correlation.compute_result(correlation.add_events(correlation.create_state(), points))
        1.0
    """

    name, version = "stats.correlation", "0.1.0"
    aliases = ("corr", "pearson")

    def compute_result(self, state: Products) -> float | None:
        """Return the correlation."""
        if state.not_finite_count:
            return nan
        if not state.count:
            return None
        spreads = state.spread_of_x * state.spread_of_y
        if not spreads:
            return None
        # By its square, which is a fraction: the root is the only step that rounds, and the sign comes back after it.
        square = state.joint_spread**2 / spreads
        size = nearest_root(square.numerator, square.denominator)
        return size if state.joint_spread >= 0 else -size

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, float | None] | None:
        """Return the form on arrays: with floats, count, means and three lengths; of ints alone, exact sums."""
        is_whole = are_whole_points(reads)
        if is_whole is None:
            return None
        from muntin_stats.columns.pairs import ColumnarCorrelation
        from muntin_stats.columns.whole_pairs import ColumnarCorrelationOfIntegers

        return ColumnarCorrelationOfIntegers() if is_whole else ColumnarCorrelation()
