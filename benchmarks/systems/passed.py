"""A stream operator that passes values on."""

from __future__ import annotations

from muntin import StreamOperator


class Passed(StreamOperator[float, None, float]):
    """Return each value."""

    name, version = "bench.passed", "1.0"

    def on_event(self, state: None, payload: float, time: int) -> list[float]:
        """Return the value."""
        return [payload]
