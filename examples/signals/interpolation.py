"""Samples at a fixed rate, from samples at any times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum, isnan
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
        samples: dict[int, list[float]] = {}  # by their times
        for event in events:
            if event.start < window.start or event.payload is None or isnan(event.payload):
                continue
            samples.setdefault(event.start, []).append(event.payload)
        first_time = min(samples, default=0)
        last_time = max(samples, default=0)
        if first_time > window.start or last_time < window.end - 1 or first_time == last_time:
            return  # an end of the line is missing
        first = fsum(samples[first_time]) / len(samples[first_time])
        last = fsum(samples[last_time]) / len(samples[last_time])
        first_row = -(-first_time // self.step) * self.step  # the first multiple of the step from there on
        for time in range(first_row, last_time, self.step):
            share = (time - first_time) / (last_time - first_time)
            yield Event.point(time, first + (last - first) * share)
