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
LENGTH: Final = 2
CUBES: Final = 3
FOURTHS: Final = 4
"""The places of the moments along the last axis.

The length is that of the vector of the distances from the mean: the root of the sum of their squares. In units of this
length, the sum of the squares is 1; the others are the sums of the third and the fourth powers in these units.
"""


class Kurtosis(ColumnarAggregate[float | None, float | None]):
    """Return how heavy the tails of a window's payloads are: the fourth central moment by the square of the second.

    3 for normally distributed payloads, 1.5 for a sine, 1 for a square wave; knocks in a vibration make it large. It is
    that of the payloads themselves, as of a whole population, and the same in every unit.

    Types: float to float, at least 1.
    Nulls: skipped; the result is null where there is nothing else, and where all other payloads are equal.
    NaN and infinities: the result is NaN. So it is where the length of the distances is beyond the largest float.

    Laws: those of `ColumnarAggregate`, up to rounding. Moments are merged about the mean, so nothing large is
        subtracted, and values far from zero keep their digits as long as their mean can. Powers are those of shares of
        a length, so none is too large or too small for a float.

    Rounding: a few units in the last place per merge.

    Cost: 40 bytes per key and slice, and some forty passes per merge.

    Source: P. Pebay, Formulas for Robust, One-Pass Parallel Computation of Covariances and Arbitrary-Order Statistical
        Moments, Sandia SAND2008-6212 (2008), equations 2.1, 3.1 and section 3.

    Example:
        >>> tails = Kurtosis()
        >>> round(tails.compute_result(tails.add_events(tails.create_state(), [0.0, 0.0, None, 0.0, 8.0, 0.0])), 12)
        3.25
    """

    name, version = "tilt.kurtosis", "1.0.0"

    def components(self) -> Mapping[str, Component]:
        """Return the count, the mean, the length of the distances from it, and the sums of their powers."""
        return {"moments": Component.merged(merged_moments, 0.0, shape=(5,))}

    def lift(self, payloads: Floats) -> Mapping[str, Floats]:
        """Return each payload's moments; where it is not finite, the length and the powers are NaN."""
        moments = np.zeros((len(payloads), 5))
        is_finite = np.isfinite(payloads)
        moments[:, COUNT] = 1.0
        moments[:, MEAN] = np.where(is_finite, payloads, 0.0)
        moments[:, LENGTH:] = np.where(is_finite, 0.0, np.nan)[:, np.newaxis]
        return {"moments": moments}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the kurtoses; null where all payloads were equal."""
        count, _, length, _, fourths = components["moments"].T
        return np.ma.MaskedArray(count * fourths, mask=length == 0.0)


def merged_moments(first: Floats, second: Floats) -> Floats:
    """Merge the moments of pairs of groups, along the last axis; those of an empty group are zero.

    Example:
        >>> merged_moments(np.array([1.0, 4.0, 0.0, 0.0, 0.0]), np.array([1.0, 8.0, 0.0, 0.0, 0.0])).round(12).tolist()
        [2.0, 6.0, 2.828427124746, 0.0, 0.5]
    """
    first_count = first[..., COUNT]
    second_count = second[..., COUNT]
    total = np.maximum(first_count + second_count, 1.0)
    p = first_count / total  # share of the first group
    q = second_count / total  # share of the second group
    weight = first_count * q
    with np.errstate(invalid="ignore", over="ignore"):
        apart = second[..., MEAN] - first[..., MEAN]
        length = np.hypot(np.hypot(first[..., LENGTH], second[..., LENGTH]), np.sqrt(weight) * np.abs(apart))
        # From here on, all is in units of the new length, so each length is a share of 1.
        unit = np.where(length == 0.0, 1.0, length)
        first_length = first[..., LENGTH] / unit
        second_length = second[..., LENGTH] / unit
        step = apart / unit
        first_cubes = first[..., CUBES] * first_length**3
        second_cubes = second[..., CUBES] * second_length**3
        first_fourths = first[..., FOURTHS] * first_length**4
        second_fourths = second[..., FOURTHS] * second_length**4

        merged = first + second  # right for the counts alone
        merged[..., MEAN] = first[..., MEAN] + apart * q
        merged[..., LENGTH] = length
        # The powers add up, and each also gets terms for the distance between both means.
        by_squares = 3.0 * step * (p * second_length**2 - q * first_length**2)
        merged[..., CUBES] = first_cubes + second_cubes + weight * step**3 * (p - q) + by_squares
        by_squares = 6.0 * step**2 * (q * q * first_length**2 + p * p * second_length**2)
        by_cubes = 4.0 * step * (p * second_cubes - q * first_cubes)
        by_means = weight * step**4 * (q * q - q * p + p * p)
        merged[..., FOURTHS] = first_fourths + second_fourths + by_means + by_squares + by_cubes
    # An empty group has no mean, so the other one is taken as it is.
    merged = np.where((first_count == 0.0)[..., np.newaxis], second, merged)
    return np.where((second_count == 0.0)[..., np.newaxis], first, merged)
