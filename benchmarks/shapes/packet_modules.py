"""A module over packets."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import IncrementalAggregate


class TotalLength(IncrementalAggregate[float, float, float]):
    """The sum of the lengths of packets."""

    name, version = "shapes.total_length", "1.0.0"

    def create_state(self) -> float:
        """Return zero."""
        return 0.0

    def add_events(self, state: float, payloads: Sequence[float]) -> float:
        """Return the sum with more packets."""
        return state + sum(payloads)

    def combine(self, state: float, other: float) -> float:
        """Return the sum of two sums."""
        return state + other

    def compute_result(self, state: float) -> float:
        """Return the sum."""
        return state
