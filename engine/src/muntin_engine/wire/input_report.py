"""The report of a micro-batch on one input: its progress."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin import INFINITY
from muntin_engine.state.key_patterns import CompletePattern
from muntin_engine.time.changes import Key, Progress
from muntin_engine.time.progress_tracker import Observation, seen_to


@dataclass(slots=True)
class InputReport:
    """The part of a micro-batch that moves the watermark of one input.

    Attributes:
        progress: The progress of the whole input, as far as the micro-batch implies it.
        observed: The observations of each source, by the tasks of the map side.
        key_watermarks: The watermarks of single keys.
        patterns: Patterns of keys that are complete up to a time.
        oldest: The least start of the events that were lifted.
    """

    progress: Progress = Progress()  # noqa: RUF009  # it is a tuple
    observed: Sequence[Observation] = ()
    key_watermarks: Sequence[tuple[Key, int]] = ()
    patterns: Sequence[CompletePattern] = ()
    oldest: int = INFINITY

    @property
    def arrived(self) -> Progress:
        """The progress of the whole input, with a horizon that is past the watermarks of keys."""
        ticks = [tick for _, tick in (*self.key_watermarks, *self.patterns)]
        return seen_to(self.progress, ticks) if ticks else self.progress
