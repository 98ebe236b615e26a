"""The slope of a line through points, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from muntin import ColumnarAggregate, Component
from muntin_stats.columns.arrays import Array, Floats
from muntin_stats.columns.centres import anchored, distance, merged_centres, shares
from muntin_stats.number import M, N
from muntin_stats.point import Point

COUNT: Final = 0
MEAN_OF_X: Final = slice(1, 3)
"""The mean of x as anchor and offset; see `centres`."""
MEAN_OF_Y: Final = slice(3, 5)
REACH: Final = 5
"""The length of the vector of the distances of x from their mean."""
RISE: Final = 6
"""The part of the distances of y that lies along the vector of the distances of x."""
_LENGTHS: Final = slice(REACH, RISE + 1)


class ColumnarLinearTrend(ColumnarAggregate[Point[N, M] | None, float | None]):
    """`LinearTrend` on arrays: the count, both means, and two lengths, merged pair by pair.

    The *reach* is the length of the vector of the distances of x from their mean; the *rise* is the length of the
    component of the distances of y in the direction of that vector; the slope is rise by reach. They are the first row
    of the triangular factor that an orthogonal transformation makes of the points around their mean. Nothing is squared
    but shares of a whole, and nothing large is subtracted: times in microseconds and very small distances lose nothing.

    Rounding: a few units in the last place per merge, relative to the slope or, if that is more, to the spread of y
        over that of x; by the window's own points alone. Beyond 1e300 distances may be too large for floats, and the
        slope NaN. A coordinate that is NaN or infinite makes the rise NaN.

    Cost: 56 bytes per key and slice; about twice the passes of `ColumnarVariance`.

    Source: J. Demmel, L. Grigori, M. Hoemmen and J. Langou, Communication-optimal Parallel and Sequential QR and LU
        Factorizations, SIAM J. Sci. Comput. 34 (2012), section 3 (TSQR: triangular factors of parts, merged in any
        tree), for one column beside that of the means, which are merged as in `muntin_stats.columns.centres`.

    Example:
        >>> trend = ColumnarLinearTrend()
        >>> trend.compute_result(trend.add_events(trend.create_state(), [Point(0, 1), Point(2, 5), Point(None, 7)]))
        2.0
    """

    name, version = "stats.linear_trend", "0.1.0"

    def components(self) -> Mapping[str, Component]:
        """Return a single component: count, anchor and offset of x, anchor and offset of y, reach, and rise."""
        return {"line": Component.merged(merged_lines, 0.0, shape=(7,))}

    def lift(self, payloads: Mapping[str, Array]) -> Mapping[str, Floats]:
        """Return each point as a line of no length; where a coordinate is not finite, its rise is NaN."""
        return {"line": lifted_lines(payloads)}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the slopes; null where all x are equal."""
        reach = components["line"][:, REACH]
        rise = components["line"][:, RISE]
        is_vertical = (reach == 0) & ~np.isnan(rise)
        return np.ma.MaskedArray(rise / np.where(is_vertical, 1.0, reach), is_vertical)


def lifted_lines(payloads: Mapping[str, Array]) -> Floats:
    """Return the components of single points, along the last axis."""
    x, x_offset = anchored(payloads["x"])
    y, y_offset = anchored(payloads["y"])
    is_finite = np.isfinite(x) & np.isfinite(y)
    x = np.where(is_finite, x, 0.0)
    y = np.where(is_finite, y, 0.0)
    count = np.ones(len(x))
    reach = np.broadcast_to(0.0, len(x))
    rise = np.where(is_finite, 0.0, np.nan)
    return np.stack([count, x, x_offset, y, y_offset, reach, rise], axis=-1)


def merged_lines(first: Floats, second: Floats) -> Floats:
    """Merge the components of two groups of points, along the last axis.

    Example:
        >>> merged_lines(np.array([1.0, 0, 0, 1, 0, 0, 0]), np.array([1.0, 8, 0, 5, 0, 0, 0]))[:5].tolist()
        [2.0, 0.0, 4.0, 1.0, 2.0]
    """
    share, weight = shares(first[..., COUNT], second[..., COUNT])
    x_apart = distance(first[..., MEAN_OF_X], second[..., MEAN_OF_X])
    y_apart = distance(first[..., MEAN_OF_Y], second[..., MEAN_OF_Y])
    merged = first + second  # right for the counts alone: means and lengths are replaced
    merged[..., MEAN_OF_X] = merged_centres(first[..., MEAN_OF_X], second[..., MEAN_OF_X], x_apart, share)
    merged[..., MEAN_OF_Y] = merged_centres(first[..., MEAN_OF_Y], second[..., MEAN_OF_Y], y_apart, share)
    root = np.sqrt(weight)  # the weight is that of squares; lengths are not squared
    merged[..., _LENGTHS] = _rotated(first[..., _LENGTHS], second[..., _LENGTHS], x_apart * root, y_apart * root)
    return merged


def _rotated(first: Floats, second: Floats, reach: Floats, rise: Floats) -> Floats:
    """Return the reach and the rise of two groups together.

    Args:
        first: Reach and rise of the first groups, along the last axis.
        second: Reach and rise of the second groups.
        reach: Reach of the distance between both means, weighted.
        rise: Rise of the distance between both means, weighted.
    """
    first_reach = first[..., 0]
    first_rise = first[..., 1]
    second_reach = second[..., 0]
    second_rise = second[..., 1]
    # Givens rotations, as in an updated QR decomposition: no length is squared, so none overflows or vanishes.
    merged_reach = np.hypot(np.hypot(first_reach, second_reach), reach)
    divisor = np.where(merged_reach == 0, 1.0, merged_reach)  # where all x are equal, there is no direction to turn to
    merged_rise = first_rise * (first_reach / divisor) + second_rise * (second_reach / divisor)
    return np.stack([merged_reach, merged_rise + rise * (reach / divisor)], axis=-1)
