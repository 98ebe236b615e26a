"""Modules over packets: one with a state as small as a row or two, and one with a larger state."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from struct import Struct
from typing import Final

from muntin import IncrementalAggregate

_CLASSES: Final = Struct("<16I")
_WIDTH: Final = 100


class TotalLength(IncrementalAggregate[float, float, float]):
    """The sum of the lengths of packets."""

    name, version = "shapes.total_length", "1.0.0"
    state_bytes = 9

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


class LengthHistogram(IncrementalAggregate[float, bytes, tuple[int, ...]]):
    """Count the packets per hundred bytes of length: 16 counters of four bytes each."""

    name, version = "shapes.length_histogram", "1.0.0"
    state_bytes = _CLASSES.size + 2

    def create_state(self) -> bytes:
        """Return zeros."""
        return bytes(_CLASSES.size)

    def add_events(self, state: bytes, payloads: Sequence[float]) -> bytes:
        """Return the counters with more packets."""
        counters = list(_CLASSES.unpack(state))
        for payload in payloads:
            counters[int(payload // _WIDTH)] += 1
        return _CLASSES.pack(*counters)

    def combine(self, state: bytes, other: bytes) -> bytes:
        """Return the counters of both."""
        return _CLASSES.pack(*map(add, _CLASSES.unpack(state), _CLASSES.unpack(other)))

    def compute_result(self, state: bytes) -> tuple[int, ...]:
        """Return the counters."""
        return _CLASSES.unpack(state)
