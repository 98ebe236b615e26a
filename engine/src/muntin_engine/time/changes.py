"""The input and output of evaluators: keys, changes, rejected rows, and progress."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from math import isnan
from typing import Any, Final, NamedTuple, TypeAlias

from muntin import EARLIEST, INFINITY, Window
from muntin.axis import AnyAxis

Key: TypeAlias = tuple[Any, ...]
"""The values of a query's key columns; null is a key like any other."""

LATEST: Final = 2**62
"""Times lie between this and its negative, so that no window's boundary overflows 64 bits. In microseconds it is the
year 148,000."""

_NAN: Final = float("nan")
_CANONICAL: Final = frozenset({int, str, bytes, bool, type(None)})
"""Types of values that are equal only if they are written alike."""


def canonical(value: object) -> Any:
    """Return a key, or a part of one, in a form in which keys that are equal in Spark's grouping are written alike.

    In Spark's grouping 0.0 and -0.0 are one key, and so are all NaNs, also inside lists, structs and maps.

    Example:
        >>> canonical((-0.0, [float("nan")], None, "a"))
        (0.0, [nan], None, 'a')
    """
    if isinstance(value, tuple) and _CANONICAL.issuperset(map(type, value)):  # most keys
        return value
    if isinstance(value, float):
        return _NAN if isnan(value) else value + 0.0  # which turns -0.0 into 0.0
    if isinstance(value, list | tuple):
        return type(value)([canonical(part) for part in value])
    if isinstance(value, dict):
        return {canonical(name): canonical(part) for name, part in value.items()}
    return value


class InputChange(NamedTuple):
    """One row of the input, for one key.

    Attributes:
        id: The event's id, or None where the input has none.
        start: The event's start.
        end: For an insertion the event's end; for a revision its end so far, or None to revise whatever it is.
        payload: A tuple of input values; a revision has no use for it.
        new_end: None for an insertion; the new end for a revision.
        source: The source of the row; None where the input has no sources.
        side: The place of the row's input among the inputs of the query.
    """

    id: Hashable
    start: int
    end: int | None
    payload: tuple[Any, ...]
    new_end: int | None = None
    source: str | None = None
    side: int = 0


class OutputKind(StrEnum):
    """The kind of a change of the output."""

    INSERT = "insert"
    REVISE = "revise"
    RETRACT = "retract"


class Timing(StrEnum):
    """The time of a result: early, while its window was open, or final."""

    EARLY = "early"
    FINAL = "final"


class OutputChange(NamedTuple):
    """A change of the output of one key.

    Attributes:
        kind: Insertion, revision of the end, or retraction.
        id: The number of the output event, unique among all output events of its key.
        window: The window that it was computed from.
        start: The start of its lifetime.
        end: The end of its lifetime; for a revision or retraction, the end before it.
        value: An operator's row, or the tuple of the aggregates' results.
        new_end: The end from now on, for a revision.
        timing: Early if the window was still open, otherwise final.
        firing: The number of earlier firings of the window; 0 where there are no early results.
        partition: The partition of row windows that it was computed for; None where there are none.
        ends_window: True if it is the last row of a row window.
    """

    kind: OutputKind
    id: int
    window: Window
    start: int
    end: int
    value: Any
    new_end: int | None = None
    timing: Timing = Timing.FINAL
    firing: int = 0
    partition: Any = None
    ends_window: bool = False

    @property
    def sync_time(self) -> int:
        """The earliest tick at which the output changes: a revision changes it between the two ends."""
        if self.kind is OutputKind.REVISE and self.new_end is not None:
            return min(self.end, self.new_end)
        return self.start


class Reason(StrEnum):
    """The reason for which a row of the input was rejected."""

    LATE = "late"
    """Its sync time lies before the watermark."""
    DUPLICATE_ID = "duplicate id"
    """An event of that id is alive."""
    REPLACED = "replaced"
    """A sample at a time of which another sample of its key holds."""
    UNKNOWN_EVENT = "unknown event"
    """A revision of an event that never came, and would be late now."""
    STALE_REVISION = "stale revision"
    """A revision that expects another end than the event has."""
    EMPTY_LIFETIME = "empty lifetime"
    """The end does not lie after the start, or the new end lies before it."""
    SHED = "shed"
    """Its key already holds as many events as the query allows."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A late or rejected row.

    Attributes:
        reason: The reason, in a word.
        message: The reason, in a sentence.
        change: The row.
        late_by: The distance of the sync time of a late row behind the watermark, in ticks; None if it came after the
            end of the stream.
    """

    reason: Reason
    message: str
    change: InputChange
    late_by: int | None = None

    @classmethod
    def late(cls, change: InputChange, sync_time: int, watermark: int, axis: AnyAxis) -> Rejection:
        """Reject a row that is late.

        Args:
            change: The row.
            sync_time: The sync time of the row.
            watermark: The watermark of the batches before it; `INFINITY` once the stream was closed.
            axis: The kind of ticks, which spells them.
        """
        if watermark == INFINITY:
            return cls(Reason.LATE, f"event time {axis.spell(sync_time)} arrived after the end of the stream", change)
        behind = watermark - sync_time
        where = f"is {axis.spell_length(behind)} behind the watermark {axis.spell(watermark)}"
        return cls(Reason.LATE, f"event time {axis.spell(sync_time)} {where}", change, late_by=behind)

    @property
    def is_late(self) -> bool:
        """True if the row came behind the watermark."""
        return self.reason is Reason.LATE

    @property
    def is_shed(self) -> bool:
        """True if its key had no room for the row."""
        return self.reason is Reason.SHED


class Progress(NamedTuple):
    """The progress of the whole input, over all keys.

    Attributes:
        watermark: No later change has a sync time below it.
        horizon: The first tick past every start, finite end and watermark of the input so far.
        newest: The largest start seen.
        clock: The latest reading of a clock in the input, in microseconds since the epoch; `EARLIEST` if the input
            brings none.
    """

    watermark: int = EARLIEST
    horizon: int = EARLIEST
    newest: int = EARLIEST
    clock: int = EARLIEST

    @property
    def max_event_time(self) -> int:
        """The larger of the watermark and the largest start seen."""
        return max(self.watermark, self.newest)

    def advance(self, other: Progress) -> Progress:
        """Return the further of two readings of progress, part by part: progress never goes back."""
        return Progress(*map(max, self, other))

    def to_data(self) -> list[int]:
        """Return the progress as plain data, from which `Progress(*data)` makes it again."""
        return list(self)
