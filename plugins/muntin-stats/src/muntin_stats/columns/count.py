"""The number of events, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from muntin import ColumnarAggregate, Component
from muntin_stats.columns.arrays import Array, Integers


class ColumnarCount(ColumnarAggregate[Any, int]):
    """`Count` on arrays: all payloads, also nulls.

    Cost: nothing beyond the engine's own count of rows per key and slice.

    Example:
        >>> count = ColumnarCount()
        >>> count.compute_result(count.add_events(count.create_state(), ["a", None]))
        2
    """

    name, version = "stats.count", "0.1.0"
    skips_nulls = False
    empty_result = 0

    def components(self) -> Mapping[str, Component]:
        """Return a single component: a count."""
        return {"count": Component.count()}

    def lift(self, payloads: object) -> Mapping[str, Array]:
        """Return an empty mapping: the engine counts rows, and no array is lifted."""
        del payloads
        return {}

    def compute_results(self, components: Mapping[str, Integers]) -> Integers:
        """Return the counts."""
        return components["count"]


class ColumnarCountOfValues(ColumnarCount):
    """`Count` with `skip_nulls` on arrays: payloads that are not null; zero where all are.

    Example:
        >>> count = ColumnarCountOfValues()
        >>> count.compute_result(count.add_events(count.create_state(), ["a", None]))
        1
    """

    name, version = "stats.count", "0.1.0"
    skips_nulls = True
