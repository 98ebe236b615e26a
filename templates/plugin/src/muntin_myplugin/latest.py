"""A time-sensitive incremental operator: rows from a state that is updated by events with their lifetimes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from muntin import Event, IncrementalOperator, Needs, TimestampPolicy, Window


class Latest(IncrementalOperator[str, list[Event[str]], str]):
    """Return the event that started last, or all of those that started together.

    There is no `remove_events`: the state has no earlier events, which would be the latest next.

    Example:
        >>> latest, window = Latest(), Window(0, 10)
        >>> state = latest.add_events(latest.create_state(window), [Event(2, 7, "a"), Event(4, 5, "b")], window)
        >>> latest.compute_result(state, window)
        [Event(start=4, end=5, payload='b')]
    """

    name, version = "myplugin.latest", "0.1.0"
    is_time_sensitive = True
    needs = Needs(timestamps=TimestampPolicy.UNCHANGED)  # without it each row gets the lifetime of its window

    def create_state(self, window: Window) -> list[Event[str]]:
        """Return the state of no events."""
        return []

    def add_events(self, state: list[Event[str]], events: Sequence[Event[str]], window: Window) -> list[Event[str]]:
        """Return the latest events so far."""
        last_start = max(event.start for event in [*state, *events])
        return [event for event in [*state, *events] if event.start == last_start]

    def compute_result(self, state: list[Event[str]], window: Window) -> Iterable[Event[str] | str]:
        """Return the latest events; no row may start before its window."""
        return [Event(max(event.start, window.start), event.end, event.payload) for event in state]
