"""The standard deviation, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from muntin import ColumnarAggregate, Component
from muntin_stats.columns.arrays import Floats, Integers
from muntin_stats.columns.centres import distance, merged_centres, shares
from muntin_stats.columns.variance import ColumnarIntegerMoments
from muntin_stats.exact import nearest_root

_COUNT: Final = 0
_MEAN: Final = slice(1, 3)
"""The mean of the payloads as anchor and offset; see `centres`."""
_LENGTH: Final = 3
"""The length of the vector of distances from the mean: unlike its square it does not overflow."""


class ColumnarStandardDeviation(ColumnarAggregate[float | None, float | None]):
    """`StandardDeviation` on arrays: the count, the mean, and the length of the vector of distances from the mean.

    Lengths are merged by `numpy.hypot`, so nothing is squared that would be too large or too small for a float.

    Rounding: a few units in the last place per merge, relative to the deviation. Where distances are beyond the largest
        float, it is infinite.

    Cost: 32 bytes per key and slice, and some fifteen passes per merge.

    Source: that of `muntin_stats.columns.variance`, for lengths instead of their squares.

    Example:
        >>> deviation = ColumnarStandardDeviation(ddof=1)
        >>> deviation.compute_result(deviation.add_events(deviation.create_state(), [1e9 + 1, 1e9 + 3]))
        1.4142135623730951
    """

    name, version = "stats.standard_deviation", "0.1.0"

    def __init__(self, ddof: int) -> None:
        self.ddof = ddof

    def components(self) -> Mapping[str, Component]:
        """Return a single component: count, anchor and offset of the mean, and length."""
        return {"spread": Component.merged(merged_spreads, 0.0, shape=(4,))}

    def lift(self, payloads: Floats) -> Mapping[str, Floats]:
        """Return each payload as a mean; where it is not finite, the length is NaN."""
        is_finite = np.isfinite(payloads)
        count = np.ones(len(payloads))
        anchor = np.where(is_finite, payloads, 0.0)
        offset = np.zeros(len(payloads))
        length = np.where(is_finite, 0.0, np.nan)
        return {"spread": np.stack([count, anchor, offset, length], axis=-1)}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the deviations; null where there are no more payloads than `ddof`."""
        spread = components["spread"]
        divisor = spread[:, _COUNT] - self.ddof
        is_null = divisor <= 0
        return np.ma.MaskedArray(spread[:, _LENGTH] / np.sqrt(np.where(is_null, 1.0, divisor)), is_null)


class ColumnarStandardDeviationOfIntegers(ColumnarIntegerMoments):
    """`StandardDeviation` of ints on arrays; exactly the floats that it gives.

    Example:
        >>> deviation, now = ColumnarStandardDeviationOfIntegers(ddof=1), 1_700_000_000_000_000_001
        >>> deviation.compute_result(deviation.add_events(deviation.create_state(), [now, now + 2, now + 4]))
        2.0
    """

    name, version = "stats.standard_deviation", "0.1.0"

    def compute_results(self, components: Mapping[str, Integers]) -> Floats:
        """Return the deviations; null where there are no more payloads than `ddof`."""
        numerators, denominators = self.ratios(components)
        is_null = components["count"] <= self.ddof
        deviations = np.zeros(len(is_null))
        for place in np.flatnonzero(~is_null).tolist():
            deviations[place] = nearest_root(int(numerators[place]), int(denominators[place]))
        return np.ma.MaskedArray(deviations, is_null)


def merged_spreads(first: Floats, second: Floats) -> Floats:
    """Merge the components of pairs of groups: counts, means and lengths, along the last axis.

    Example:
        >>> merged_spreads(np.array([1.0, 4.0, 0.0, 0.0]), np.array([1.0, 6.0, 0.0, 0.0])).tolist()
        [2.0, 4.0, 1.0, 1.4142135623730951]
    """
    share, weight = shares(first[..., _COUNT], second[..., _COUNT])
    apart = distance(first[..., _MEAN], second[..., _MEAN])
    merged = first + second  # right for the counts alone: means and lengths are replaced
    merged[..., _MEAN] = merged_centres(first[..., _MEAN], second[..., _MEAN], apart, share)
    merged[..., _LENGTH] = merged_lengths(first[..., _LENGTH], second[..., _LENGTH], weight, apart)
    return merged


def merged_lengths(first: Floats, second: Floats, weight: Floats, apart: Floats) -> Floats:
    """Return the lengths of the vectors of distances from the mean, of pairs of groups taken together.

    Args:
        first: Lengths of the first groups.
        second: Lengths of the second groups.
        weight: Weight of the distance between both means in the sum of squares.
        apart: Distance between both means; infinite or NaN only where the length is infinite.
    """
    between = np.where(weight == 0, 0.0, np.sqrt(weight) * np.abs(apart))
    between = np.where(np.isnan(between), np.inf, between)
    # A group with a payload that is not finite has the length NaN, which has to stay. But `hypot` of an infinity and a
    # NaN is infinite, so the last term is NaN where a length is, and zero otherwise.
    return np.hypot(np.hypot(first, second), between) + 0.0 * (first + second)
