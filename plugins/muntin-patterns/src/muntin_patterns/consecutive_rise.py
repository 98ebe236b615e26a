"""Runs of rising values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from muntin import ClipPolicy, Event, Needs, Operator, TimestampPolicy, Window
from muntin.windows import CountWindows, HoppingWindows
from muntin_patterns.parameters import whole_number
from muntin_patterns.samples import Sample, in_window


@dataclass(frozen=True, slots=True)
class Rise:
    """A run of samples, each greater than the one before it.

    Attributes:
        length: Number of samples.
        low: Value of the first sample.
        high: Value of the last sample.
    """

    length: int
    low: float
    high: float


class ConsecutiveRise(Operator[float | None, Rise]):
    """Report each run of at least `n` samples in a row that rise.

                            *
                     *   *     *
        samples    *           *  *
        rise       [--------)          from the start of the first to one tick after that of the last

    A sample rises over the sample before it if it starts later and is strictly greater. Samples that start together are
    in the order of the query's `events(order=...)`, or without one in that of their values. Runs are as long as they
    can be within the window: only samples that start in it count, so a run over its border is cut there; overlapping
    windows see both halves.

    Args:
        n: Least number of samples in a run, from 2 on.

    Types: float to rows of `length`, `low` and `high`.
    Nulls: no samples. Neither is NaN. They do not break a run.

    Laws: starts must be seen as they are, so left clipping is refused; ends do not matter. No run starts
        before its window; a later sample may lengthen an earlier run, so the output is not time-bound.

    Cost: sorting the members.

    Example:
        >>> samples = [Event.point(1, 2.0), Event.point(3, 5.0), Event.point(4, 7.5), Event.point(8, 1.0)]
        >>> ConsecutiveRise(3).compute_result(samples, Window(0, 10))
        [Event(start=1, end=5, payload=Rise(length=3, low=2.0, high=7.5))]
    """

    name, version = "patterns.consecutive_rise", "0.1.0"
    is_time_sensitive = True
    reads_order = True
    accepted_clips: ClassVar[frozenset[ClipPolicy]] = frozenset({ClipPolicy.NONE, ClipPolicy.RIGHT})

    needs: ClassVar[Needs] = Needs(
        (HoppingWindows, CountWindows), clip=ClipPolicy.RIGHT, timestamps=TimestampPolicy.UNCHANGED
    )  # no two samples start in a snapshot

    def __init__(self, n: int) -> None:
        self.n = whole_number("n", n, least=2)

    def compute_result(self, events: Sequence[Event[float | None]], window: Window) -> list[Event[Rise]]:
        """Return the runs, each lasting from its first sample to its last."""
        return [_rise(run) for run in _runs(in_window(events, window)) if len(run) >= self.n]


def _runs(samples: Sequence[Sample]) -> list[list[Sample]]:
    """Cut samples, in order, into the longest runs that rise; a sample never rises over another one of its time."""
    runs: list[list[Sample]] = []
    for sample in samples:
        previous = runs[-1][-1] if runs else None
        if previous is not None and previous.at < sample.at and previous.value < sample.value:
            runs[-1].append(sample)
        else:
            runs.append([sample])
    return runs


def _rise(run: Sequence[Sample]) -> Event[Rise]:
    """Return a run as a row that lasts from its first sample to its last."""
    first = run[0]
    last = run[-1]
    return Event(first.at, last.at + 1, Rise(len(run), first.value, last.value))
