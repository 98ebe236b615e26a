"""The slope, the covariance and the correlation of points of whole numbers, on arrays: exact."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from muntin import ColumnarAggregate, Component
from muntin_stats.columns.arrays import Array, Floats, Integers
from muntin_stats.columns.integers import joint_spread, parts_of, product_parts, quotients, totals_of
from muntin_stats.exact import nearest_root
from muntin_stats.point import Point


class ColumnarWholePairs(ColumnarAggregate[Point[int, int] | None, float | None]):
    """The common base of forms over points of whole numbers: exact sums of both coordinates and of their products.

    Laws: exact for up to 700 million points in a window, whatever the order and the merges; each sum has an inverse.

    Cost: 136 bytes per key and slice; `LinearTrend` and `Covariance` do without one or two of the five sums.
    """

    def components(self) -> Mapping[str, Component]:
        """Return the count and the sums of x, y and their products."""
        sums = {name: Component.sum("int64", (2,)) for name in ("x", "y")}
        products = {name: Component.sum("int64", (4,)) for name in ("xx", "yy", "xy")}
        return {"count": Component.count(), **sums, **products}

    def lift(self, payloads: Mapping[str, Integers]) -> Mapping[str, Integers]:
        """Return the parts of each point's coordinates and products."""
        x = payloads["x"]
        y = payloads["y"]
        return {
            "x": parts_of(x),
            "y": parts_of(y),
            "xx": product_parts(x, x),
            "yy": product_parts(y, y),
            "xy": product_parts(x, y),
        }


class ColumnarLinearTrendOfIntegers(ColumnarWholePairs):
    """`LinearTrend` of whole numbers on arrays: the joint spread of x and y by the spread of x.

    Example:
        >>> trend, now = ColumnarLinearTrendOfIntegers(), 1_700_000_000_000_000_001
        >>> trend.compute_result(trend.add_events(trend.create_state(), [Point(now, 1), Point(now + 2, 5)]))
        2.0
    """

    name, version = "stats.linear_trend", "0.1.0"

    def components(self) -> Mapping[str, Component]:
        """Return the components without the squares of y."""
        return {name: part for name, part in super().components().items() if name != "yy"}

    def lift(self, payloads: Mapping[str, Integers]) -> Mapping[str, Integers]:
        """Return the parts of each point's coordinates and products, without the squares of y."""
        x = payloads["x"]
        y = payloads["y"]
        return {"x": parts_of(x), "y": parts_of(y), "xx": product_parts(x, x), "xy": product_parts(x, y)}

    def compute_results(self, components: Mapping[str, Integers]) -> Floats:
        """Return the slopes; null where all x are equal."""
        spread = _spread(components, "x", "x")
        slopes = quotients(_spread(components, "x", "y"), spread)
        return np.ma.MaskedArray(slopes, (spread == 0).astype(bool))


class ColumnarCovarianceOfIntegers(ColumnarWholePairs):
    """`Covariance` of whole numbers on arrays.

    Example:
        >>> covariance = ColumnarCovarianceOfIntegers(ddof=1)
        >>> covariance.compute_result(covariance.add_events(covariance.create_state(), [Point(0, 1), Point(2, 5)]))
        4.0
    """

    name, version = "stats.covariance", "0.1.0"

    def __init__(self, ddof: int) -> None:
        self.ddof = ddof

    def components(self) -> Mapping[str, Component]:
        """Return the count, the sums of both coordinates, and the sum of their products."""
        return {name: part for name, part in super().components().items() if name not in ("xx", "yy")}

    def lift(self, payloads: Mapping[str, Integers]) -> Mapping[str, Integers]:
        """Return the parts of both coordinates and of their product."""
        x = payloads["x"]
        y = payloads["y"]
        return {"x": parts_of(x), "y": parts_of(y), "xy": product_parts(x, y)}

    def compute_results(self, components: Mapping[str, Integers]) -> Floats:
        """Return the covariances; null where there are no more points than `ddof`."""
        counts = components["count"]
        divisors = counts - self.ddof
        covariances = quotients(_spread(components, "x", "y"), counts * divisors)
        return np.ma.MaskedArray(covariances, divisors <= 0)


class ColumnarCorrelationOfIntegers(ColumnarWholePairs):
    """`Correlation` of whole numbers on arrays.

    Example:
        >>> correlation = ColumnarCorrelationOfIntegers()
        >>> correlation.compute_result(correlation.add_events(correlation.create_state(), [Point(0, 1), Point(2, 5)]))
        1.0
    """

    name, version = "stats.correlation", "0.1.0"

    def compute_results(self, components: Mapping[str, Integers]) -> Floats:
        """Return the correlations; null where all x, or all y, are equal."""
        joint_spreads = _spread(components, "x", "y").tolist()
        x_spreads = _spread(components, "x", "x").tolist()
        y_spreads = _spread(components, "y", "y").tolist()
        # One by one, as Python's integers: squares of spreads have hundreds of bits.
        correlations = np.zeros(len(joint_spreads))
        is_flat = np.zeros(len(joint_spreads), bool)
        for place, joint in enumerate(joint_spreads):
            product = x_spreads[place] * y_spreads[place]
            if product == 0:
                is_flat[place] = True
                continue
            size = nearest_root(joint * joint, product)
            correlations[place] = size if joint >= 0 else -size
        return np.ma.MaskedArray(correlations, is_flat)


def _spread(components: Mapping[str, Integers], first: str, second: str) -> Array:
    """Return the joint spread of two coordinates, times the count."""
    products = totals_of(components[first + second])
    return joint_spread(components["count"], products, totals_of(components[first]), totals_of(components[second]))
