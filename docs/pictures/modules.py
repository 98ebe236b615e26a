"""Modules that the pictures need beside those of our packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin import Aggregate, Event, Operator, OutputContract, Window


class Range(Aggregate[float, float]):
    """The highest number less the lowest."""

    name, version = "pictures.range", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        """Return the difference."""
        return max(payloads) - min(payloads)


class Longest(Aggregate[object, int]):
    """The longest of the lifetimes that it sees."""

    name, version = "pictures.longest", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[object]], window: Window) -> int:
        """Return its number of ticks."""
        return max(event.duration for event in events)


class Members(Operator[str, str]):
    """The members of a window as rows, with the lifetimes that a module sees under `timestamps="unchanged"`."""

    name, version = "pictures.members", "1.0.0"
    is_time_sensitive = True
    contract = OutputContract.UNRESTRICTED  # a member may start before its window

    def compute_result(self, events: Sequence[Event[str]], window: Window) -> Iterator[Event[str]]:
        """Return the members."""
        yield from events


class Alarm(Operator[str, str]):
    """An alarm of eleven ticks from each event on that starts in the window."""

    name, version = "pictures.alarm", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[str]], window: Window) -> Iterator[Event[str]]:
        """Return the alarms."""
        for event in events:
            if event.start >= window.start:
                yield Event(event.start, event.start + 11, "alarm")
