"""A stream operator that passes values on."""

from __future__ import annotations

from muntin import StreamOperator


class Passed(StreamOperator[float, list[float], float]):
    """Return each value, in order of time, when the watermark has passed it."""

    name, version = "bench.passed", "1.0"

    def create_state(self) -> list[float]:
        """Return nothing."""
        return []

    def on_event(self, state: list[float], payload: float, time: int) -> list[float]:
        """Return the value."""
        return [payload]

    def is_empty(self, state: list[float]) -> bool:
        """Return True: there is nothing to remember."""
        return True
