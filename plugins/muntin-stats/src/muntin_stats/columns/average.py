"""The arithmetic mean, on arrays."""

from __future__ import annotations

from collections.abc import Mapping

from muntin import ColumnarAggregate, Component
from muntin_stats.columns.arrays import Floats


class ColumnarAverage(ColumnarAggregate[float | None, float | None]):
    """`Average` on arrays: an exact sum of floats, and how many there are.

    Laws: the very floats that `Average` gives, whatever the order and the merges.

    Cost: 24 bytes per key and slice for most data, 8 more for every 40 bits that magnitudes are further apart.

    Example:
        >>> average = ColumnarAverage()
        >>> average.compute_result(average.add_events(average.create_state(), [1.0, None, 4.0]))
        2.5
    """

    name, version = "stats.average", "0.1.0"

    def components(self) -> Mapping[str, Component]:
        """Return a mean."""
        return {"mean": Component.mean()}

    def lift(self, payloads: Floats) -> Mapping[str, Floats]:
        """Return each payload."""
        return {"mean": payloads}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the averages."""
        return components["mean"]
