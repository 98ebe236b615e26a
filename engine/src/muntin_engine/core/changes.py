"""What goes into the evaluator and what comes out of it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from muntin import EARLIEST, Window


class InputChange(NamedTuple):
    """One row of the input, for one key.

    Attributes:
        id: The event's id, or None where the input has none.
        start: The event's start.
        end: For an insertion the event's end; for a revision its end so far, or None to revise whatever it is.
        payload: A tuple of input values; of no meaning for a revision.
        new_end: None for an insertion; the new end for a revision.
        source: The source it is of; None where the input has no sources.
    """

    id: Hashable
    start: int
    end: int | None
    payload: tuple[Any, ...]
    new_end: int | None = None
    source: str | None = None


class OutputKind(StrEnum):
    """What a change of the output does."""

    INSERT = "insert"
    REVISE = "revise"
    RETRACT = "retract"


class Timing(StrEnum):
    """Whether a result was put out while its window was open."""

    EARLY = "early"
    FINAL = "final"


class OutputChange(NamedTuple):
    """A change of the output of one key.

    Attributes:
        kind: Insertion, revision of the end, or retraction.
        id: Names the output event among those of its key, once and for all.
        window: The window it was computed from.
        start: Start of its lifetime.
        end: End of its lifetime; for a revision or retraction, the end so far.
        value: An operator's row, or the tuple of the aggregates' results.
        new_end: The end from now on, for a revision.
        timing: Whether the window was open, where there are early results.
        firing: How often the window was put out before this result, where there are early results.
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

    @property
    def sync_time(self) -> int:
        """The earliest tick of the output that changes."""
        if self.kind is OutputKind.REVISE and self.new_end is not None:
            return min(self.end, self.new_end)
        return self.start


class Reason(StrEnum):
    """Why a row of the input was set aside."""

    LATE = "late"
    """Its sync time lies before the watermark."""
    DUPLICATE_ID = "duplicate id"
    """An event of that id is alive, or a sample at that time exists."""
    UNKNOWN_EVENT = "unknown event"
    """A revision of an event that never came, and legally cannot come any more."""
    STALE_REVISION = "stale revision"
    """A revision that expects another end than the event has."""
    EMPTY_LIFETIME = "empty lifetime"
    """The end does not lie after the start, or the new end lies before it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was set aside.

    Attributes:
        reason: Why, in a word.
        message: Why, in a sentence.
        change: The row.
        late_by: For a late row, how far its sync time lies behind the watermark, in ticks; None if it came after the
            end of the stream.
    """

    reason: Reason
    message: str
    change: InputChange
    late_by: int | None = None

    @property
    def is_late(self) -> bool:
        """True if the row came behind the watermark."""
        return self.reason is Reason.LATE


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the whole input is, over all keys.

    Attributes:
        watermark: No later change has a sync time below it.
        horizon: The first tick of which the input says nothing yet: past every start, finite end and watermark.
        newest: The largest start seen.
        clock: The latest reading of a clock that the input brought, in microseconds since the epoch. Only an input that
            says what time it is has one.
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
        """Return the progress of both; it never goes back."""
        return Progress(
            max(self.watermark, other.watermark),
            max(self.horizon, other.horizon),
            max(self.newest, other.newest),
            max(self.clock, other.clock),
        )

    def to_data(self) -> list[int]:
        """Return it as plain data, from which `Progress(*data)` makes it again."""
        return [self.watermark, self.horizon, self.newest, self.clock]
