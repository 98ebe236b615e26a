"""The variance, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from muntin import ColumnarAggregate, Component
from muntin_stats.columns.arrays import Array, Floats, Integers
from muntin_stats.columns.centres import distance, merged_centres, shares
from muntin_stats.columns.integers import joint_spread, parts_of, product_parts, quotients, totals_of

_COUNT: Final = 0
_MEAN: Final = slice(1, 3)
"""The mean of the payloads as anchor and offset; see `centres`."""
_SQUARES: Final = 3
"""The sum of the squared distances from the mean."""


class ColumnarVariance(ColumnarAggregate[float | None, float | None]):
    """`Variance` on arrays: the count, the mean and the sum of the squared distances from it, merged pair by pair.

    Nothing large is ever subtracted, so values far from zero lose nothing; and no state is taken out of another, so
    the result is rounded by the window's payloads alone. An infinity or NaN makes the sum of squares NaN.

    Rounding: a few units in the last place per merge, relative to the variance.

    Cost: 32 bytes per key and slice, and some fifteen passes per merge, of which there are about log2 of the most
        payloads in a key and slice.

    Source: T. F. Chan, G. H. Golub and R. J. LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample
        Variances, Stanford STAN-CS-79-773 (1979), equation 2.1; for the anchor, see `muntin_stats.columns.centres`.

    Example:
        >>> variance = ColumnarVariance(ddof=1)
        >>> state = variance.add_events(variance.create_state(), [1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16])
        >>> variance.compute_result(state)
        30.0
    """

    name, version = "stats.variance", "0.1.0"

    def __init__(self, ddof: int) -> None:
        self.ddof = ddof

    def components(self) -> Mapping[str, Component]:
        """Return a single component: count, anchor and offset of the mean, and sum of squares."""
        return {"moments": Component.merged(merged_moments, 0.0, shape=(4,))}

    def lift(self, payloads: Floats) -> Mapping[str, Floats]:
        """Return the moments of each payload; where it is not finite, the sum of squares is NaN."""
        is_finite = np.isfinite(payloads)
        count = np.ones(len(payloads))
        anchor = np.where(is_finite, payloads, 0.0)
        offset = np.zeros(len(payloads))
        squares = np.where(is_finite, 0.0, np.nan)
        return {"moments": np.stack([count, anchor, offset, squares], axis=-1)}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the variances; null where there are no more payloads than `ddof`."""
        moments = components["moments"]
        divisor = moments[:, _COUNT] - self.ddof
        is_null = divisor <= 0
        return np.ma.MaskedArray(moments[:, _SQUARES] / np.where(is_null, 1.0, divisor), is_null)


class ColumnarIntegerMoments(ColumnarAggregate[int | None, float | None]):
    """The common base of forms with exact sums of ints and of their squares.

    Laws: exact for up to 700 million payloads in a window, whatever the order and the merges, and each sum has an
        inverse.

    Cost: 56 bytes per key and slice.
    """

    def __init__(self, ddof: int) -> None:
        self.ddof = ddof

    def components(self) -> Mapping[str, Component]:
        """Return the count, the sum, and the sum of squares."""
        return {
            "count": Component.count(),
            "total": Component.sum("int64", (2,)),
            "squares": Component.sum("int64", (4,)),
        }

    def lift(self, payloads: Integers) -> Mapping[str, Integers]:
        """Return the parts of each payload and of its square."""
        return {"total": parts_of(payloads), "squares": product_parts(payloads, payloads)}

    def ratios(self, components: Mapping[str, Integers]) -> tuple[Array, Integers]:
        """Return the numerators and denominators of the variances; the denominator of a null is not positive."""
        counts = components["count"]
        totals = totals_of(components["total"])
        spreads = joint_spread(counts, totals_of(components["squares"]), totals, totals)
        return spreads, counts * (counts - self.ddof)


class ColumnarVarianceOfIntegers(ColumnarIntegerMoments):
    """`Variance` of ints on arrays; exactly the floats that it gives.

    Example:
        >>> variance, now = ColumnarVarianceOfIntegers(ddof=1), 1_700_000_000_000_000_001
        >>> variance.compute_result(variance.add_events(variance.create_state(), [now, now + 2, now + 4]))
        4.0
    """

    name, version = "stats.variance", "0.1.0"

    def compute_results(self, components: Mapping[str, Integers]) -> Floats:
        """Return the variances; null where there are no more payloads than `ddof`."""
        numerators, denominators = self.ratios(components)
        return np.ma.MaskedArray(quotients(numerators, denominators), components["count"] <= self.ddof)


def merged_moments(first: Floats, second: Floats) -> Floats:
    """Merge the moments of pairs of groups, along the last axis.

    Example:
        >>> merged_moments(np.array([1.0, 4.0, 0.0, 0.0]), np.array([1.0, 7.0, 0.0, 0.0])).tolist()
        [2.0, 4.0, 1.5, 4.5]
    """
    share, weight = shares(first[..., _COUNT], second[..., _COUNT])
    apart = distance(first[..., _MEAN], second[..., _MEAN])
    # The sum is right for the counts. Squares also need the term between the means, and the means are replaced.
    merged = first + second
    merged[..., _MEAN] = merged_centres(first[..., _MEAN], second[..., _MEAN], apart, share)
    merged[..., _SQUARES] += spread(weight, apart)
    return merged


def spread(weight: Floats, apart: Floats) -> Floats:
    """Return the term that the distance between two means adds to the sum of squares.

    A distance is NaN only where the sum of squares is infinite, so the term of a NaN is infinite.

    Example:
        >>> spread(np.array([0.5, 0.0, 0.5]), np.array([2.0, 1e200, np.nan])).tolist()
        [2.0, 0.0, inf]
    """
    squares = weight * apart * apart
    return np.where(np.isnan(squares), np.inf, squares)
