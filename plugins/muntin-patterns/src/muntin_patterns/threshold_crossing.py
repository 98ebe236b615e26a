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
        before: Value of the earlier sample.
        after: Value of the later sample.
        direction: "up" or "down".
    """

    before: float
    after: float
    direction: Literal["up", "down"]


class ThresholdCrossing(Operator[float | None, Crossing]):
    """Report each sample that lies on the other side of a threshold than the sample before it.

        threshold ----------------------*------      A sample is above if it is greater than the threshold, and not if
                     *        *                      it equals the threshold.
        crossing                        !            a point event

    Samples are in the order of their starts. Samples that start together are in the order of the query's
    `events(order=...)`, or without one in that of their values. A crossing is reported in the window in which its later
    sample starts. The earlier sample must be a member of that window too: with `tumbling(size, reach=...)` and a reach
    of at least the time between samples, no crossing is lost between windows.

    Args:
        threshold: Threshold, in the unit of the payload.
        direction: Direction of the crossings to report: "up", "down" or "both".

    Types: float to rows of `before`, `after` and `direction`.
    Nulls: no samples. Neither is NaN.

    Laws: starts must be seen as they are, so left clipping is refused; ends do not matter. A sample changes
        only rows that start no earlier than itself, so the output is time-bound.

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
        crossings: list[Event[Crossing]] = []
        for earlier, later in pairwise(in_order(events)):
            was_above = earlier.value > self.threshold
            is_above = later.value > self.threshold
            # A crossing belongs to the window in which its later sample starts. The earlier sample may lie before it.
            is_crossing = was_above != is_above and window.start <= later.at < window.end
            direction: Literal["up", "down"] = "up" if is_above else "down"
            if is_crossing and self.direction in ("both", direction):
                crossings.append(Event.point(later.at, Crossing(earlier.value, later.value, direction)))
        return crossings
