"""The arithmetic mean, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muntin import ColumnarAggregate, Component


class ColumnarAverage(ColumnarAggregate[float | None, float | None]):
    """`Average` on arrays: a sum of floats, and how many there are.

    Rounding: the sum is rounded at each addition, so it is off by at most one rounding of the sum of the magnitudes
        per payload, and only by payloads of the window itself. It is infinite where a sum on the way is.

    Cost: 16 bytes per key and slice.

    Example:
        >>> average = ColumnarAverage()
        >>> average.compute_result(average.add_events(average.create_state(), [1.0, None, 4.0]))
        2.5
    """

    name, version = "stats.average", "0.1.0"

    def components(self) -> Mapping[str, Component]:
        """Return a sum and a count."""
        return {"total": Component.sum(), "count": Component.count()}

    def lift(self, payloads: Any) -> Mapping[str, Any]:
        """Return each payload as a sum."""
        return {"total": payloads}

    def compute_results(self, components: Mapping[str, Any]) -> Any:
        """Return the averages."""
        return components["total"] / components["count"]
