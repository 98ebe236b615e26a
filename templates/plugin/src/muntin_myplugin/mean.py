"""An incremental aggregate: a state that is updated, so that a window need not be computed anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, nan

from muntin import IncrementalAggregate


@dataclass(frozen=True)
class Sum:
    """The state of a window; plain data, as a checkpoint stores it.

    Attributes:
        total: Exact sum of the finite payloads. A float would keep rounding errors when payloads leave.
        count: Number of payloads.
        not_finite: Number of payloads that are NaN or infinite, which a fraction cannot be.
    """

    total: Fraction = Fraction(0)
    count: int = 0
    not_finite: int = 0

    @staticmethod
    def of(payloads: Sequence[float]) -> Sum:
        """Return the sum of payloads."""
        finite = [Fraction(payload) for payload in payloads if isfinite(payload)]
        return Sum(sum(finite, Fraction(0)), len(payloads), len(payloads) - len(finite))


class Mean(IncrementalAggregate[float, Sum, float]):
    """Return the mean of the payloads; NaN where one of them is NaN or infinite.

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
        return self.combine(state, Sum.of(payloads))

    def remove_events(self, state: Sum, payloads: Sequence[float]) -> Sum:
        """Return the state with fewer payloads."""
        return self.deduct(state, Sum.of(payloads))

    def combine(self, state: Sum, other: Sum) -> Sum:
        """Return the state of the payloads of both states."""
        return Sum(state.total + other.total, state.count + other.count, state.not_finite + other.not_finite)

    def deduct(self, state: Sum, other: Sum) -> Sum:
        """Undo `combine`."""
        return Sum(state.total - other.total, state.count - other.count, state.not_finite - other.not_finite)

    def compute_result(self, state: Sum) -> float:
        """Return the mean; a window has at least one payload."""
        return nan if state.not_finite else float(state.total / state.count)
