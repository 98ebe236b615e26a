"""An incremental aggregate: a state that is updated, so that a window need not be computed anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin import IncrementalAggregate


@dataclass(frozen=True)
class Sum:
    """What is kept of a window; plain data, as a checkpoint stores it."""

    total: float = 0.0
    count: int = 0


class Mean(IncrementalAggregate[float, Sum, float]):
    """Return the mean of the payloads.

    `remove_events`, `combine` and `deduct` may be left out: each opens a faster evaluation.

    Example:
        >>> mean = Mean()
        >>> mean.compute_result(mean.add_events(mean.create_state(), [1.0, 2.0, 6.0]))
        3.0
    """

    name, version = "myplugin.mean", "0.1.0"

    def create_state(self) -> Sum:
        """Return the state of no payloads."""
        return Sum()

    def add_events(self, state: Sum, payloads: Sequence[float]) -> Sum:
        """Return the state with more payloads."""
        return Sum(state.total + sum(payloads), state.count + len(payloads))

    def remove_events(self, state: Sum, payloads: Sequence[float]) -> Sum:
        """Return the state with fewer payloads."""
        return Sum(state.total - sum(payloads), state.count - len(payloads))

    def combine(self, state: Sum, other: Sum) -> Sum:
        """Return the state of the payloads of both."""
        return Sum(state.total + other.total, state.count + other.count)

    def deduct(self, state: Sum, other: Sum) -> Sum:
        """Undo `combine`."""
        return Sum(state.total - other.total, state.count - other.count)

    def compute_result(self, state: Sum) -> float:
        """Return the mean; a window has at least one payload."""
        return state.total / state.count
