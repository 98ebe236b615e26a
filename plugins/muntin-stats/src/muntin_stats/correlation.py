"""The correlation."""

from __future__ import annotations

from math import nan

from muntin import ColumnarAggregate
from muntin.schemas import Field, Struct
from muntin_stats.exact import nearest_root
from muntin_stats.pairs import PairAggregate, Products
from muntin_stats.point import Point


class Correlation(PairAggregate):
    """Measure how close the points of a window lie to a line: Pearson's coefficient, from -1 to 1, as Spark's `corr`.

    Types: `Point(x, y)` to float. A query binds two columns.
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
        if state.odd:
            return nan
        spreads = state.spread_of_x * state.spread_of_y if state.count else 0
        if not spreads:
            return None
        size = nearest_root(state.joint_spread**2 / spreads)
        return size if state.joint_spread >= 0 else -size

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Point | None, float | None] | None:
        """Return the form on arrays: count, means, and three lengths."""
        if not isinstance(reads.type, Struct):
            return None
        from muntin_stats.columns.pairs import ColumnarCorrelation

        return ColumnarCorrelation()
