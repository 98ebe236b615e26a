"""Covariance and correlation, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from muntin import ColumnarAggregate, Component
from muntin_stats.columns.arrays import Array, Floats
from muntin_stats.columns.centres import distance, shares
from muntin_stats.columns.linear_trend import COUNT, MEAN_OF_Y, REACH, RISE, lifted_lines, merged_lines
from muntin_stats.columns.standard_deviation import merged_lengths
from muntin_stats.number import M, N
from muntin_stats.point import Point

_SPREAD_OF_Y: Final = RISE + 1
"""The length of the vector of the distances of y from their mean, behind the components of the line."""


class ColumnarPairs(ColumnarAggregate[Point[N, M] | None, float | None]):
    """The common base of covariance and correlation: it keeps a line, as `ColumnarLinearTrend`, and the spread of y.

    The spread is the length of the vector of the distances of y from their mean.

    Rounding: a few units in the last place per merge, relative to the product of the spreads of x and y. Where
        distances are beyond the largest float, the result is NaN.

    Cost: 64 bytes per key and slice; somewhat more than `ColumnarLinearTrend`.
    """

    def components(self) -> Mapping[str, Component]:
        """Return a single component: count, anchor and offset of x and of y, reach, rise, and the spread of y."""
        return {"pairs": Component.merged(merged_pairs, 0.0, shape=(8,))}

    def lift(self, payloads: Mapping[str, Array]) -> Mapping[str, Floats]:
        """Return each point as a line of no length."""
        lines = lifted_lines(payloads)
        y_spread = lines[:, RISE:]  # as the rise: zero, or NaN where a coordinate is not finite
        return {"pairs": np.concatenate([lines, y_spread], axis=-1)}


class ColumnarCovariance(ColumnarPairs[N, M]):
    """`Covariance` on arrays: reach times rise, by the count.

    Example:
        >>> covariance = ColumnarCovariance(ddof=1)
        >>> covariance.compute_result(covariance.add_events(covariance.create_state(), [Point(0, 1), Point(2, 5)]))
        4.000000000000001
    """

    name, version = "stats.covariance", "0.1.0"

    def __init__(self, ddof: int) -> None:
        self.ddof = ddof

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the covariances; null where there are no more points than `ddof`."""
        pairs = components["pairs"]
        divisor = pairs[:, COUNT] - self.ddof
        is_null = divisor <= 0
        reach = pairs[:, REACH]
        rise = pairs[:, RISE]
        return np.ma.MaskedArray(reach * (rise / np.where(is_null, 1.0, divisor)), is_null)


class ColumnarCorrelation(ColumnarPairs[N, M]):
    """`Correlation` on arrays: rise by the spread of y.

    Example:
        >>> correlation = ColumnarCorrelation()
        >>> correlation.compute_result(correlation.add_events(correlation.create_state(), [Point(0, 1), Point(2, 5)]))
        1.0
    """

    name, version = "stats.correlation", "0.1.0"

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the correlations; null where all x, or all y, are equal."""
        pairs = components["pairs"]
        reach = pairs[:, REACH]
        rise = pairs[:, RISE]
        y_spread = pairs[:, _SPREAD_OF_Y]
        is_flat = ((reach == 0) | (y_spread == 0)) & ~np.isnan(rise)
        correlations = np.clip(rise / np.where(is_flat, 1.0, y_spread), -1.0, 1.0)
        return np.ma.MaskedArray(correlations, is_flat)


def merged_pairs(first: Floats, second: Floats) -> Floats:
    """Merge the components of two groups of points, along the last axis.

    Example:
        >>> merged_pairs(np.array([1.0, 0, 0, 1, 0, 0, 0, 0]), np.array([1.0, 8, 0, 3, 0, 0, 0, 0]))[7:].tolist()
        [1.4142135623730951]
    """
    _, weight = shares(first[..., COUNT], second[..., COUNT])
    y_apart = distance(first[..., MEAN_OF_Y], second[..., MEAN_OF_Y])
    y_spread = merged_lengths(first[..., _SPREAD_OF_Y], second[..., _SPREAD_OF_Y], weight, y_apart)
    lines = merged_lines(first[..., :_SPREAD_OF_Y], second[..., :_SPREAD_OF_Y])
    return np.concatenate([lines, y_spread[..., np.newaxis]], axis=-1)
