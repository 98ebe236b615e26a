"""The arithmetic mean, on arrays."""

from __future__ import annotations

from collections.abc import Mapping

from muntin import ColumnarAggregate, Component
from muntin_stats.columns.arrays import Floats, Integers
from muntin_stats.columns.integers import quotients
from muntin_stats.columns.sum import ColumnarIntegerSums


class ColumnarAverage(ColumnarAggregate[float | None, float | None]):
    """`Average` on arrays: an exact sum of floats, and their number.

    Laws: exactly the floats that `Average` gives, whatever the order and the merges.

    Cost: 24 bytes per key and slice for most data, 8 more for every 40 bits that magnitudes are further apart.

    Example:
        >>> average = ColumnarAverage()
        >>> average.compute_result(average.add_events(average.create_state(), [1.0, None, 4.0]))
        2.5
    """

    name, version = "stats.average", "0.1.0"

    def components(self) -> Mapping[str, Component]:
        """Return a single component: a mean."""
        return {"mean": Component.mean()}

    def lift(self, payloads: Floats) -> Mapping[str, Floats]:
        """Return the payloads as means."""
        return {"mean": payloads}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the averages."""
        return components["mean"]


class ColumnarAverageOfIntegers(ColumnarIntegerSums[float | None]):
    """`Average` of ints on arrays: their exact sum, and their number.

    Laws: exactly the floats that `Average` gives, whatever the order and the merges.

    Cost: 24 bytes per key and slice.

    Example:
        >>> average = ColumnarAverageOfIntegers()
        >>> average.compute_result(average.add_events(average.create_state(), [2**63 - 1, None, -(2**63)]))
        -0.5
    """

    name, version = "stats.average", "0.1.0"

    def components(self) -> Mapping[str, Component]:
        """Return the halves of the sum, and a count."""
        return {**super().components(), "count": Component.count()}

    def compute_results(self, components: Mapping[str, Integers]) -> Floats:
        """Return the averages."""
        return quotients(self.totals(components), components["count"])
