"""Physical streams: insertions, revisions and punctuation, and the table they add up to.

A stream arrives as changes. What it *means* is its canonical history table: one row per event, with its last
lifetime (StreamInsight paper, section II.A, tables 1 and 2). `fold` computes that meaning.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias

from typing_extensions import TypeVar

from muntin.errors import StreamError
from muntin.events import Event

P = TypeVar("P", covariant=True)


@dataclass(frozen=True, slots=True)
class Insertion(Generic[P]):
    """A new event.

    Attributes:
        id: Names the event among those of its key, so that revisions can refer to it.
        event: The payload with its lifetime as known now.
    """

    id: Hashable
    event: Event[P]

    @property
    def sync_time(self) -> int:
        """The earliest tick at which the axis changes: the event's start (SI-14)."""
        return self.event.start


@dataclass(frozen=True, slots=True)
class Revision(Generic[P]):
    """A new end for an earlier event; a new end equal to the start deletes it (SI-12).

    Attributes:
        id: The id of the event.
        event: The event as it was before this revision.
        new_end: Its end from now on.

    Raises:
        StreamError: The new end lies before the event's start.
    """

    id: Hashable
    event: Event[P]
    new_end: int

    def __post_init__(self) -> None:
        if self.new_end < self.event.start:
            raise StreamError(
                f"event {self.id!r} starts at {self.event.start} and cannot end at {self.new_end}\n"
                "  a new end equal to the start deletes the event",
                id=self.id,
                new_end=self.new_end,
            )

    @property
    def is_retraction(self) -> bool:
        """True if the event is deleted."""
        return self.new_end == self.event.start

    @property
    def sync_time(self) -> int:
        """The earliest tick at which the axis changes: the smaller of old and new end (SI-14)."""
        return min(self.event.end, self.new_end)


@dataclass(frozen=True, slots=True)
class Punctuation:
    """A promise: no later change has a sync time below `time` (SI-17; B6 item 10, strictly below)."""

    time: int

    @property
    def sync_time(self) -> int:
        """The promised tick."""
        return self.time


Change: TypeAlias = Insertion[P] | Revision[P] | Punctuation
"""One element of a physical stream."""


def retraction(id: Hashable, event: Event[P]) -> Revision[P]:
    """Return the revision that deletes an event."""
    return Revision(id, event, event.start)


def fold(changes: Iterable[Change[P]]) -> Mapping[Hashable, Event[P]]:
    """Return the canonical history table of a stream: the last state of each event, by id (SI-13).

    Args:
        changes: In the order in which they arrived. Punctuation does not change the table.

    Raises:
        StreamError: An id is inserted while it is alive, or a revision's event is not the one in the table.

    Cost:
        Constant time per change; memory for the events alive.

    Example:
        >>> e0 = Event(1, 100, "P1")
        >>> fold([Insertion("E0", e0), Revision("E0", e0, 5), Insertion("E1", Event(4, 9, "P2"))])
        {'E0': Event(start=1, end=5, payload='P1'), 'E1': Event(start=4, end=9, payload='P2')}
    """
    table: dict[Hashable, Event[P]] = {}
    for change in changes:
        if isinstance(change, Insertion):
            _insert(table, change)
        elif isinstance(change, Revision):
            _revise(table, change)
    return table


def _insert(table: dict[Hashable, Event[P]], change: Insertion[P]) -> None:
    if change.id in table:
        raise StreamError(f"event {change.id!r} is inserted twice: {table[change.id]} and {change.event}", id=change.id)
    table[change.id] = change.event


def _revise(table: dict[Hashable, Event[P]], change: Revision[P]) -> None:
    known = table.get(change.id)
    if known != change.event:
        raise StreamError(
            f"a revision of event {change.id!r} expects {change.event}, the table has {known}", id=change.id
        )
    if change.is_retraction:
        del table[change.id]
    else:
        table[change.id] = Event(known.start, change.new_end, known.payload)
