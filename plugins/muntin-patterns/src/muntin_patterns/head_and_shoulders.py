"""A chart pattern: a peak between two lower ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from muntin import ClipPolicy, Event, Needs, Operator, TimestampPolicy, Window
from muntin.windows import CountWindows, HoppingWindows
from muntin_patterns.parameters import number
from muntin_patterns.samples import Sample, in_window


@dataclass(frozen=True, slots=True)
class Formation:
    """A head between two shoulders.

    Attributes:
        left: Value of the left shoulder.
        head: Value of the head.
        right: Value of the right shoulder.
        neckline: Mean of the two troughs between the three peaks.
    """

    left: float
    head: float
    right: float
    neckline: float


class HeadAndShoulders(Operator[float | None, Formation]):
    """Report three peaks in a row of which the middle one is the highest and the outer two are about as high.

                        head
                         *
             left                   right
              *        *   *          *
            *   *                   *   *
          *       *  *       *   *        *
                   *           *              neckline
              [-----------------------)       from the start of the left peak to one tick after that of the right

    Samples are in the order of their starts. Samples that start together are in the order of the query's
    `events(order=...)`, or without one in that of their values. Of neighbours with equal values only the first counts.
    A *peak* is a sample greater than both its neighbours; a *trough* is the least value between two peaks. Three peaks
    left, head, right with no peak between them are a formation if

    * head > left and head > right;
    * left and right differ by at most `tolerance` times their mean;
    * the two troughs differ by at most `tolerance` times their mean.

    Only samples that start in the window count, and the first and the last of them are no peaks.

    Args:
        tolerance: Difference up to which values are about as high, as a share of their mean. The paper's "within 1.5
            percent of their average" is 0.03.

    Types: float to rows of `left`, `head`, `right` and `neckline`.
    Nulls: no samples. Neither is NaN.

    Laws: starts must be seen as they are, so left clipping is refused; ends do not matter. No formation starts
        before its window; a later sample may complete an earlier formation, so the output is not time-bound.

    Cost: sorting the members, and one pass.

    Source: A. W. Lo, H. Mamaysky and J. Wang, Foundations of Technical Analysis, The Journal of Finance 55 (2000),
        definition 1. They smooth prices by kernel regression first; here the samples are taken as they are.

    Example:
        >>> prices = [Event.point(at, price) for at, price in enumerate([1.0, 5.0, 3.0, 8.0, 3.0, 5.0, 1.0])]
        >>> HeadAndShoulders().compute_result(prices, Window(0, 10))
        [Event(start=1, end=6, payload=Formation(left=5.0, head=8.0, right=5.0, neckline=3.0))]
    """

    name, version = "patterns.head_and_shoulders", "0.1.0"
    is_time_sensitive = True
    reads_order = True
    accepted_clips: ClassVar[frozenset[ClipPolicy]] = frozenset({ClipPolicy.NONE, ClipPolicy.RIGHT})

    needs: ClassVar[Needs] = Needs(
        (HoppingWindows, CountWindows), clip=ClipPolicy.RIGHT, timestamps=TimestampPolicy.UNCHANGED
    )  # no two samples start in a snapshot

    def __init__(self, tolerance: float = 0.03) -> None:
        self.tolerance = number("tolerance", tolerance, least=0)

    def compute_result(self, events: Sequence[Event[float | None]], window: Window) -> list[Event[Formation]]:
        """Return the formations, each lasting from its left peak to its right one."""
        samples = _without_repeats(in_window(events, window))
        peaks = _peaks(samples)
        formations: list[Event[Formation]] = []
        # A peak is known by the index of its sample.
        for left, head, right in zip(peaks, peaks[1:], peaks[2:], strict=False):
            # The neckline runs through the lowest samples on both sides of the head.
            left_trough = min(sample.value for sample in samples[left:head])
            right_trough = min(sample.value for sample in samples[head:right])
            formation = Formation(
                samples[left].value, samples[head].value, samples[right].value, (left_trough + right_trough) / 2
            )
            is_head_highest = formation.head > max(formation.left, formation.right)
            are_shoulders_level = self._is_level(formation.left, formation.right)
            if is_head_highest and are_shoulders_level and self._is_level(left_trough, right_trough):
                formations.append(Event(samples[left].at, samples[right].at + 1, formation))
        return formations

    def _is_level(self, first: float, second: float) -> bool:
        """Return True if two values are about as high: they differ by a small share of their mean."""
        return abs(first - second) <= self.tolerance * abs(first + second) / 2


def _without_repeats(samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples whose value differs from that of the sample before them."""
    changes: list[Sample] = []
    for sample in samples:
        if not changes or sample.value != changes[-1].value:
            changes.append(sample)
    return changes


def _peaks(samples: Sequence[Sample]) -> list[int]:
    """Return the indexes of the samples that are greater than both their neighbours."""
    values = [sample.value for sample in samples]
    return [index for index in range(1, len(values) - 1) if values[index - 1] < values[index] > values[index + 1]]
