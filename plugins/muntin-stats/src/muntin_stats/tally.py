"""The number of occurrences of each value, and aggregates over it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from muntin import IncrementalAggregate
from muntin_stats.order import ordinary, present

V = TypeVar("V")
Out = TypeVar("Out")


@dataclass(slots=True)
class Tally(Generic[V]):
    """Values with their counts. NaN, which equals itself here, is counted apart.

    Attributes:
        counts: How often each value occurs; none with zero.
        nans: How often NaN does.
    """

    counts: dict[V, int] = field(default_factory=dict)
    nans: int = 0

    def add(self, values: Sequence[V]) -> None:
        """Count values in."""
        known = ordinary(values)
        self.add_counts(Counter(known), len(values) - len(known))

    def remove(self, values: Sequence[V]) -> None:
        """Count values out."""
        known = ordinary(values)
        self.remove_counts(Counter(known), len(values) - len(known))

    def add_counts(self, counts: Mapping[V, int], nans: int) -> None:
        """Count in what was counted elsewhere."""
        self.nans += nans
        for value, count in counts.items():
            self.counts[value] = self.counts.get(value, 0) + count

    def remove_counts(self, counts: Mapping[V, int], nans: int) -> None:
        """Count out what was counted elsewhere."""
        self.nans -= nans
        for value, count in counts.items():
            self.counts[value] -= count
            if not self.counts[value]:
                del self.counts[value]


class TallyAggregate(IncrementalAggregate[V | None, Tally[V], Out], Generic[V, Out]):
    """An aggregate that keeps a tally; a subclass only computes its result. Nulls are skipped."""

    def create_state(self) -> Tally[V]:
        """Return an empty tally."""
        return Tally()

    def add_events(self, state: Tally[V], payloads: Sequence[V | None]) -> Tally[V]:
        """Count payloads in."""
        state.add(present(payloads))
        return state

    def remove_events(self, state: Tally[V], payloads: Sequence[V | None]) -> Tally[V]:
        """Count payloads out."""
        state.remove(present(payloads))
        return state

    def combine(self, state: Tally[V], other: Tally[V]) -> Tally[V]:
        """Add two tallies."""
        state.add_counts(other.counts, other.nans)
        return state

    def deduct(self, state: Tally[V], other: Tally[V]) -> Tally[V]:
        """Take one tally out of another."""
        state.remove_counts(other.counts, other.nans)
        return state
