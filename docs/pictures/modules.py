"""Modules that the pictures run beside those of our packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from muntin import Aggregate, ClipPolicy, Event, Operator, OutputContract, Window


class Seen(Operator[str, str]):
    """Returns what it is shown: under `timestamps="unchanged"` the lifetimes that a module sees."""

    name, version = "pictures.seen", "1.0.0"
    is_time_sensitive = True
    contract = OutputContract.UNRESTRICTED  # a member may start before its window

    def compute_result(self, events: Sequence[Event[str]], window: Window) -> Iterator[Event[str]]:
        """Return the members."""
        yield from events


class Longest(Aggregate[object, int]):
    """The longest of the lifetimes that it sees."""

    name, version = "pictures.longest", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[object]], window: Window) -> int:
        """Return how many ticks it has."""
        return max(event.duration for event in events)


class Alarm(Operator[str, str]):
    """An alarm of eleven ticks from each event on that starts in the window."""

    name, version = "pictures.alarm", "1.0.0"
    is_time_sensitive = True

    def compute_result(self, events: Sequence[Event[str]], window: Window) -> Iterator[Event[str]]:
        """Return the alarms."""
        return (Event(event.start, event.start + 11, "alarm") for event in events if event.start >= window.start)


class Pauses(Operator[str, int]):
    """Each stretch of the window that no event covers, with its length."""

    name, version = "pictures.pauses", "1.0.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, events: Sequence[Event[str]], window: Window) -> list[Event[int]]:
        """Return the pauses."""
        pauses, covered = [], window.start
        for event in [*sorted(events, key=lambda event: event.start), Event.point(window.end, "")]:
            if event.start > covered:
                pauses.append(Event(covered, event.start, event.start - covered))
            covered = max(covered, event.end)
        return pauses


class Range(Aggregate[float, float]):
    """The highest level less the lowest."""

    name, version = "pictures.range", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        """Return the difference."""
        return max(payloads) - min(payloads)


class Names(Aggregate[str, str]):
    """The members, in their order."""

    name, version = "pictures.names", "1.0.0"

    def compute_result(self, payloads: Sequence[str]) -> str:
        """Return their names."""
        return ", ".join(payloads)
