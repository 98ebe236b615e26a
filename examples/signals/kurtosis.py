"""The kurtosis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from muntin import ColumnarAggregate, Component

Floats: TypeAlias = npt.NDArray[np.float64]

COUNT: Final = 0
MEAN: Final = 1
SQUARES: Final = 2
CUBES: Final = 3
FOURTHS: Final = 4
"""The places of the moments along the last axis: the sums are those of powers of the distances from the mean."""


class Kurtosis(ColumnarAggregate[float | None, float | None]):
    """Return how heavy the tails of a window's payloads are: the fourth central moment by the square of the second.

    3 for normally distributed payloads, 1.5 for a sine, 1 for a square wave; knocks in a vibration make it large. It is
    that of the payloads themselves, as of a whole population.

    Types: float to float, at least 1.
    Nulls: skipped; the result is null where there is nothing else, and where all other payloads are equal.
    NaN and infinities: the result is NaN. So it is where the fourth power of a distance is beyond the largest float.

    Laws: those of `ColumnarAggregate`, up to rounding. Moments are merged about the mean, so nothing large is
        subtracted, and values far from zero keep their digits as long as their mean can.

    Rounding: a few units in the last place per merge.

    Cost: 40 bytes per key and slice, and some thirty passes per merge.

    Source: P. Pebay, Formulas for Robust, One-Pass Parallel Computation of Covariances and Arbitrary-Order Statistical
        Moments, Sandia SAND2008-6212 (2008), equations 2.1, 3.1 and section 3.

    Example:
        >>> tails = Kurtosis()
        >>> round(tails.compute_result(tails.add_events(tails.create_state(), [0.0, 0.0, None, 0.0, 8.0, 0.0])), 12)
        3.25
    """

    name, version = "tilt.kurtosis", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        """Return the count, the mean, and the sums of the second, third and fourth powers of the distances from it."""
        return {"moments": Component.merged(merged_moments, 0.0, shape=(5,))}

    def lift(self, payloads: Floats) -> Mapping[str, Floats]:
        """Return each payload's moments; where it is not finite, the powers are NaN."""
        moments = np.zeros((len(payloads), 5))
        is_finite = np.isfinite(payloads)
        moments[:, COUNT] = 1.0
        moments[:, MEAN] = np.where(is_finite, payloads, 0.0)
        moments[:, SQUARES:] = np.where(is_finite, 0.0, np.nan)[:, np.newaxis]
        return {"moments": moments}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the kurtoses; null where all payloads were equal."""
        count, _, squares, _, fourths = components["moments"].T
        is_flat = squares == 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            divisor = np.where(is_flat, 1.0, squares * squares)
            return np.ma.MaskedArray(count * fourths / divisor, mask=is_flat)


def merged_moments(first: Floats, second: Floats) -> Floats:
    """Merge the moments of pairs of groups, along the last axis; those of an empty group are zero.

    Example:
        >>> merged_moments(np.array([1.0, 4.0, 0.0, 0.0, 0.0]), np.array([1.0, 6.0, 0.0, 0.0, 0.0])).tolist()
        [2.0, 5.0, 2.0, 0.0, 2.0]
    """
    first_count = first[..., COUNT]
    second_count = second[..., COUNT]
    total = np.maximum(first_count + second_count, 1.0)
    p = first_count / total  # share of the first group
    q = second_count / total  # share of the second group
    with np.errstate(invalid="ignore", over="ignore"):
        apart = second[..., MEAN] - first[..., MEAN]
        weight = first_count * q * apart * apart
        # Counts add up. So do the powers, and each also gets terms for the distance between both means.
        merged = first + second
        merged[..., MEAN] = first[..., MEAN] + apart * q
        merged[..., SQUARES] += weight
        by_squares = 3.0 * apart * (p * second[..., SQUARES] - q * first[..., SQUARES])
        merged[..., CUBES] += weight * apart * (p - q) + by_squares
        by_squares = 6.0 * apart * apart * (q * q * first[..., SQUARES] + p * p * second[..., SQUARES])
        by_cubes = 4.0 * apart * (p * second[..., CUBES] - q * first[..., CUBES])
        merged[..., FOURTHS] += weight * apart * apart * (q * q - q * p + p * p)
        merged[..., FOURTHS] += by_squares + by_cubes
    # An empty group has no mean, so the other one is taken as it is.
    merged = np.where((first_count == 0.0)[..., np.newaxis], second, merged)
    return np.where((second_count == 0.0)[..., np.newaxis], first, merged)
