"""Samples at a fixed rate, from samples at any times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum
from typing import ClassVar

from muntin import (
    ClipPolicy,
    Duration,
    Event,
    Needs,
    Operator,
    OutputContract,
    TimestampPolicy,
    Window,
    ticks,
)
from muntin.windows import CountWindows


class Interpolation(Operator[float | None, float]):
    """Read the line between two neighbouring samples at every multiple of a step.

        samples    *           *                 *        at any times
        rows           o     o     o     o     o          at every multiple of `step`

    For `count_by_start(2)`, whose windows reach from each sample to the next. A row is a point at its own time: from
    the time of the first sample on, before that of the second. So a row that falls on a sample has its value, and a
    stretch has the rows of its start. Samples of one time count as one, with their average.

    Args:
        step: The time between two rows, above zero. Rows lie at its multiples from tick 0, the epoch, on.

    Types: float to float.
    Nulls: a null is no sample, nor is NaN. A window with such a sample at one end has no rows: the line is broken.
    Infinities: the line from or to one is infinite or NaN.

    Laws: those of `Operator`. Rows start in their window, so the output is as complete as the earliest
        open window; `explain()` shows how far that is behind.

    Cost: a window of two samples, with its share of the index, for each sample, and a call of Python for each row.

    Example:
        >>> samples = [Event.point(2, 10.0), Event.point(7, 20.0)]
        >>> [(row.start, row.payload) for row in Interpolation(2).compute_result(samples, Window(2, 8))]
        [(2, 10.0), (4, 14.0), (6, 18.0)]
    """

    name, version = "tilt.interpolation", "1.0.0"
    is_time_sensitive = True
    accepted_clips: ClassVar[frozenset[ClipPolicy]] = frozenset({ClipPolicy.NONE, ClipPolicy.RIGHT})
    contract: ClassVar[OutputContract] = OutputContract.WINDOW_BASED
    needs: ClassVar[Needs] = Needs((CountWindows,), clip=ClipPolicy.RIGHT, timestamps=TimestampPolicy.UNCHANGED)

    def __init__(self, step: Duration) -> None:
        self.step = ticks(step)
        if self.step <= 0:
            raise ValueError(f"step must be above zero, got {step!r}")

    def compute_result(self, events: Sequence[Event[float | None]], window: Window) -> Iterator[Event[float]]:
        """Return the rows from the first to the last start in the window."""
        found: dict[int, list[float]] = {}
        for event in events:
            if event.start >= window.start and event.payload is not None and event.payload == event.payload:
                found.setdefault(event.start, []).append(event.payload)
        first, last = min(found, default=0), max(found, default=0)
        if first > window.start or last < window.end - 1 or first == last:
            return
        low, high = (fsum(found[time]) / len(found[time]) for time in (first, last))
        for time in range(-(-first // self.step) * self.step, last, self.step):
            yield Event.point(time, low + (high - low) * ((time - first) / (last - first)))
