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
        counts: Number of occurrences of each value, above zero.
        nans: Number of NaNs.
    """

    counts: dict[V, int] = field(default_factory=dict)
    nans: int = 0

    def add(self, values: Sequence[V]) -> None:
        """Count values in."""
        without_nans = ordinary(values)
        self.add_counts(Counter(without_nans), len(values) - len(without_nans))

    def remove(self, values: Sequence[V]) -> None:
        """Count values out."""
        without_nans = ordinary(values)
        self.remove_counts(Counter(without_nans), len(values) - len(without_nans))

    def add_counts(self, counts: Mapping[V, int], nans: int) -> None:
        """Add the counts of another tally."""
        self.nans += nans
        for value, count in counts.items():
            self.counts[value] = self.counts.get(value, 0) + count

    def remove_counts(self, counts: Mapping[V, int], nans: int) -> None:
        """Subtract the counts of another tally."""
        self.nans -= nans
        for value, count in counts.items():
            self.counts[value] -= count
            if not self.counts[value]:
                del self.counts[value]  # each value with an entry counts as one that the window has


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
        """Add the counts of both states."""
        state.add_counts(other.counts, other.nans)
        return state

    def deduct(self, state: Tally[V], other: Tally[V]) -> Tally[V]:
        """Subtract the counts of another state."""
        state.remove_counts(other.counts, other.nans)
        return state
