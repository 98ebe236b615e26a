"""Aggregates as one writes them at first: plain Python, one payload after the other."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import Aggregate, IncrementalAggregate


class WholeAverage(Aggregate[float, float]):
    """The average, from all members at once."""

    name, version = "bench.whole_average", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        """Return the average."""
        return sum(payloads) / len(payloads)


class WholeSpread(Aggregate[float, float]):
    """The largest value less the smallest, from all members at once."""

    name, version = "bench.whole_spread", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        """Return the spread."""
        return max(payloads) - min(payloads)


class PlainAverage(IncrementalAggregate[float, tuple[float, int], float]):
    """The average, from a sum and a count."""

    name, version = "bench.average", "1.0.0"

    def create_state(self) -> tuple[float, int]:
        """Return sum and count of nothing."""
        return 0.0, 0

    def add_events(self, state: tuple[float, int], payloads: Sequence[float]) -> tuple[float, int]:
        """Return the sum and the count with more members."""
        total, count = state
        return total + sum(payloads), count + len(payloads)

    def combine(self, state: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
        """Return the sum and the count of the members of both."""
        total, count = state
        other_total, other_count = other
        return total + other_total, count + other_count

    def compute_result(self, state: tuple[float, int]) -> float:
        """Return the average."""
        total, count = state
        return total / count


class RunningAverage(IncrementalAggregate[float, list[float], float]):
    """The average of members that come and go, from a sum and a count that are changed in place."""

    name, version = "bench.running_average", "1.0.0"

    def create_state(self) -> list[float]:
        """Return sum and count of nothing."""
        return [0.0, 0]

    def add_events(self, state: list[float], payloads: Sequence[float]) -> list[float]:
        """Return the sum and the count with more members."""
        for payload in payloads:
            state[0] += payload
        state[1] += len(payloads)
        return state

    def remove_events(self, state: list[float], payloads: Sequence[float]) -> list[float]:
        """Return the sum and the count with fewer members."""
        for payload in payloads:
            state[0] -= payload
        state[1] -= len(payloads)
        return state

    def compute_result(self, state: list[float]) -> float:
        """Return the average."""
        return state[0] / state[1]


class PlainMax(IncrementalAggregate[float, float | None, float | None]):
    """The largest value."""

    name, version = "bench.max", "1.0.0"

    def create_state(self) -> float | None:
        """Return the largest of nothing."""
        return None

    def add_events(self, state: float | None, payloads: Sequence[float]) -> float | None:
        """Return the largest of all so far."""
        largest = max(payloads)
        return largest if state is None or largest > state else state

    def combine(self, state: float | None, other: float | None) -> float | None:
        """Return the larger of two."""
        if state is None:
            return other
        if other is None:
            return state
        return max(state, other)

    def compute_result(self, state: float | None) -> float | None:
        """Return the largest."""
        return state
