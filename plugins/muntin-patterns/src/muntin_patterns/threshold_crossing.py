"""Values that cross a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

from muntin import ClipPolicy, Event, Needs, Operator, OutputContract, TimestampPolicy, Window
from muntin.windows import CountWindows, HoppingWindows
from muntin_patterns.parameters import choice, number
from muntin_patterns.samples import in_order


@dataclass(frozen=True, slots=True)
class Crossing:
    """Two neighbouring samples on different sides of a threshold.

    Attributes:
        before: The value of the earlier one.
        after: The value of the later one.
        direction: "up" or "down".
    """

    before: float
    after: float
    direction: Literal["up", "down"]


class ThresholdCrossing(Operator[float | None, Crossing]):
    """Report each sample that lies on the other side of a threshold than the sample before it.

        threshold ----------------------*------      A sample is above if it is greater than the threshold; one that
                     *        *                      equals it is not.
        crossing                        !            a point event

    Samples are in the order of their starts; those that start together, in that of the query's `events(order=...)`, or
    without one of their values. A crossing is reported in the window in which its later sample starts. The earlier one
    must be a member of that window too: with `tumbling(size, reach=...)` and a reach of at least the time between
    samples, none is lost between windows.

    Args:
        threshold: The threshold, in the unit of the payload.
        direction: "up", "down" or "both": which crossings to report.

    Types: float to rows of `before`, `after` and `direction`.
    Nulls: no samples, nor is NaN.

    Laws: starts must be seen as they are, so left clipping is refused; ends do not matter. A sample changes
        only what starts no earlier than itself, so the output is time-bound.

    Cost: sorting the members.

    Example:
        >>> samples = [Event.point(1, 18.0), Event.point(4, 21.5), Event.point(6, 22.0)]
        >>> ThresholdCrossing(20).compute_result(samples, Window(0, 10))
        [Event(start=4, end=5, payload=Crossing(before=18.0, after=21.5, direction='up'))]
    """

    name, version = "patterns.threshold_crossing", "0.1.0"
    is_time_sensitive = True
    reads_order = True
    accepted_clips: ClassVar[frozenset[ClipPolicy]] = frozenset({ClipPolicy.NONE, ClipPolicy.RIGHT})
    contract: ClassVar[OutputContract] = OutputContract.TIME_BOUND

    needs: ClassVar[Needs] = Needs(
        (HoppingWindows, CountWindows), clip=ClipPolicy.RIGHT, timestamps=TimestampPolicy.UNCHANGED
    )  # the sample before is no member of a snapshot

    def __init__(self, threshold: float, direction: str = "both") -> None:
        self.threshold = number("threshold", threshold)
        self.direction = choice("direction", direction, ("up", "down", "both"))

    def compute_result(self, events: Sequence[Event[float | None]], window: Window) -> list[Event[Crossing]]:
        """Return the crossings whose later sample starts in the window, as point events at that start."""
        crossings = [
            Event.point(later.at, self._crossing(earlier.value, later.value))
            for earlier, later in pairwise(in_order(events))
            if window.start <= later.at < window.end and self._is_above(earlier.value) != self._is_above(later.value)
        ]
        return [event for event in crossings if self.direction in ("both", event.payload.direction)]

    def _is_above(self, value: float) -> bool:
        return value > self.threshold

    def _crossing(self, before: float, after: float) -> Crossing:
        return Crossing(before, after, "up" if self._is_above(after) else "down")
