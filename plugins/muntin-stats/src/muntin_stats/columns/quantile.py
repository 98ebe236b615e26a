"""Exact quantiles, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from muntin import ColumnarAggregate, Component
from muntin.columnar import Ragged
from muntin_stats.columns.arrays import Array, Floats
from muntin_stats.ranking import LARGEST_WHOLE, between


class ColumnarQuantile(ColumnarAggregate[Any, float | None]):
    """`Quantile` on arrays: all values, which the engine puts in order, and the same formula.

    Laws: exactly the floats that `Quantile` gives, whatever the order.

    Cost: 8 bytes per payload; a few passes over the windows.

    Example:
        >>> upper = ColumnarQuantile(q=0.9)
        >>> upper.compute_result(upper.add_events(upper.create_state(), [10.0, None, 20.0]))
        19.0
    """

    name, version = "stats.quantile", "0.1.0"
    dtype: ClassVar[str] = "float64"

    def __init__(self, q: float) -> None:
        self.q = q

    def components(self) -> Mapping[str, Component]:
        """Return a single component: all values."""
        return {"values": Component.values(self.dtype)}

    def lift(self, payloads: Array) -> Mapping[str, Array]:
        """Return the payloads as they are."""
        return {"values": payloads}

    def compute_results(self, components: Mapping[str, Ragged]) -> Floats:
        """Return the quantiles."""
        return quantiles(components["values"], self.q)


class ColumnarMedian(ColumnarQuantile):
    """`Median` on arrays; see `ColumnarQuantile`.

    Example:
        >>> median = ColumnarMedian()
        >>> median.compute_result(median.add_events(median.create_state(), [1.0, None, 9.0, 2.0]))
        2.0
    """

    name, version = "stats.median", "0.1.0"

    def __init__(self) -> None:
        super().__init__(0.5)


class ColumnarQuantileOfIntegers(ColumnarQuantile):
    """`Quantile` of ints on arrays; exactly the floats that it gives.

    Example:
        >>> upper = ColumnarQuantileOfIntegers(q=0.5)
        >>> upper.compute_result(upper.add_events(upper.create_state(), [2**63 - 1, None, -(2**63)]))
        -0.5
    """

    dtype = "int64"


class ColumnarMedianOfIntegers(ColumnarQuantileOfIntegers):
    """`Median` of ints on arrays; see `ColumnarQuantileOfIntegers`."""

    name, version = "stats.median", "0.1.0"

    def __init__(self) -> None:
        super().__init__(0.5)


def quantiles(ragged: Ragged, q: float) -> Floats:
    """Return the quantile of each group, none of which is empty.

    Args:
        ragged: Floats or whole numbers, in order within each group.
        q: Share, from 0 to 1.

    Example:
        >>> quantiles(Ragged(np.array([1.0, 2.0, 5.0]), np.array([0, 2, 3])), 0.5).tolist()
        [1.5, 5.0]
    """
    positions = q * (ragged.counts - 1)
    ranks = np.floor(positions).astype(np.int64)
    fractions = positions - ranks
    # The two members around each position; at the last member both are the same.
    starts = ragged.offsets[:-1]
    low = ragged.values[starts + ranks]
    high = ragged.values[starts + np.minimum(ranks + 1, ragged.counts - 1)]
    interpolated = _between(low.astype(float, copy=False), high.astype(float, copy=False), fractions)
    results = np.where(ranks == positions, low, interpolated) + 0.0  # zero has no sign
    if low.dtype.kind == "i":
        # Where floats do not hold the values, interpolate exactly.
        for place in np.flatnonzero(_is_wide(low) | _is_wide(high)).tolist():
            results[place] = between(int(low[place]), int(high[place]), float(fractions[place]))
    return results


def _is_wide(numbers: Array) -> Array:
    """Return which whole numbers a float may not hold."""
    return (numbers > LARGEST_WHOLE) | (numbers < -LARGEST_WHOLE)


def _between(low: Floats, high: Floats, fraction: Floats) -> Floats:
    """Interpolate linearly between low and high; by weights where their distance overflows."""
    distance = high - low
    weighted = low * (1 - fraction) + high * fraction
    interpolated = np.where(np.isinf(distance), weighted, low + distance * fraction)
    return np.where(low == high, low, interpolated)  # two equal infinities have no distance
