"""A time-sensitive operator: rows with lifetimes of their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin import Duration, Event, Needs, Operator, TimestampPolicy, Window, ticks


class LongEvents(Operator[str, str]):
    """Return the events that last long, from the start of the window on.

    Args:
        at_least: Least duration, such as "5 minutes"; a number of ticks where the axis is not time.

    Example:
        >>> LongEvents(at_least=5).compute_result([Event(1, 3, "short"), Event(2, 9, "long")], Window(0, 10))
        [Event(start=2, end=9, payload='long')]
    """

    name, version = "myplugin.long_events", "0.1.0"
    is_time_sensitive = True
    needs = Needs(timestamps=TimestampPolicy.UNCHANGED)  # without it each row gets the lifetime of its window

    def __init__(self, at_least: Duration) -> None:
        self.at_least = ticks(at_least)  # here, as only the constructor knows the axis of the query
        if self.at_least < 1:
            raise ValueError(f"at_least is {at_least!r}, expected at least 1 tick")

    def compute_result(self, events: Sequence[Event[str]], window: Window) -> Iterable[Event[str] | str]:
        """Return the long events; no row may start before its window."""
        long_events = [event for event in events if event.duration >= self.at_least]
        return [Event(max(event.start, window.start), event.end, event.payload) for event in long_events]
