"""A time-sensitive aggregate: one value per window, from events with their lifetimes."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import Aggregate, ClipPolicy, Event, Window


class Covered(Aggregate[object, float]):
    """Return the share of the window during which at least one event goes on, from 0 to 1.

    It reads no column, only lifetimes, and wants them cut to the window: `clip="full"`.

    Example:
        >>> Covered().compute_result([Event(0, 4, "a"), Event(2, 5, "b")], Window(0, 10))
        0.5
    """

    name, version = "myplugin.covered", "0.1.0"
    is_time_sensitive = True
    accepted_clips = frozenset({ClipPolicy.FULL})

    def compute_result(self, events: Sequence[Event[object]], window: Window) -> float:
        """Return the share."""
        covered = 0
        covered_until = window.start
        for start, end in sorted((event.start, event.end) for event in events):
            covered += max(0, end - max(start, covered_until))
            covered_until = max(covered_until, end)
        return covered / window.duration
