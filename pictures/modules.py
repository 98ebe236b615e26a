"""Modules that the pictures run beside those of our packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin import Event, TimeSensitiveAggregate, TimeSensitiveOperator, Window


class Seen(TimeSensitiveOperator[str, str]):
    """Returns what it is shown: under `timestamps="unchanged"` the lifetimes that a module sees."""

    name, version = "pictures.seen", "1.0.0"

    def compute_result(self, events: Sequence[Event[str]], window: Window) -> Iterator[Event[str]]:
        """Return the members."""
        yield from events


class Longest(TimeSensitiveAggregate[object, int]):
    """The longest of the lifetimes that it sees."""

    name, version = "pictures.longest", "1.0.0"

    def compute_result(self, events: Sequence[Event[object]], window: Window) -> int:
        """Return how many ticks it has."""
        return max(event.duration for event in events)


class Alarm(TimeSensitiveOperator[str, str]):
    """An alarm of eleven ticks from each event on that starts in the window."""

    name, version = "pictures.alarm", "1.0.0"

    def compute_result(self, events: Sequence[Event[str]], window: Window) -> Iterator[Event[str]]:
        """Return the alarms."""
        return (Event(event.start, event.start + 11, "alarm") for event in events if event.start >= window.start)
