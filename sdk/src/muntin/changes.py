"""Physical streams: insertions, revisions and punctuation, and the table they add up to.

A stream arrives as changes. Its *meaning* is its canonical history table: one row per event, with its last lifetime
(StreamInsight paper, section II.A, tables 1 and 2). `fold` computes that meaning. An event of a key is named by its
id and its start: two events of one id that start at different ticks are two events.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeAlias

from typing_extensions import TypeVar

from muntin.errors import StreamError
from muntin.events import Event
from muntin.frozen import subscriptable

__all__ = [
    "Change",
    "Insertion",
    "Punctuation",
    "Revision",
    "fold",
    "retraction",
]

P = TypeVar("P", covariant=True)


def same_id(id: Hashable) -> Hashable:
    """Return an id or a key as it is, except that every NaN becomes the same object: so all NaNs are one id or key.

    NaN is not equal to itself, but a tuple is equal to one with the same object in it, and a dictionary finds it.

    Example:
        >>> same_id(float("nan")) is same_id(float("nan")), same_id("a")
        (True, 'a')
        >>> same_id(("eu", float("nan"))) == same_id(("eu", float("nan")))
        True
    """
    if isinstance(id, float):
        return math.nan if math.isnan(id) else id
    if type(id) is tuple:  # the values of several columns
        return tuple([same_id(part) for part in id])
    return id


@subscriptable
@dataclass(frozen=True, slots=True)
class Insertion(Generic[P]):
    """A new event.

    Attributes:
        id: The name of the event among those of its key that start at one tick, by which revisions refer to it.
        event: The payload with its lifetime as known now.
    """

    id: Hashable
    event: Event[P]

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", same_id(self.id))

    @property
    def sync_time(self) -> int:
        """The earliest tick at which the axis changes: the event's start."""
        return self.event.start


@subscriptable
@dataclass(frozen=True, slots=True)
class Revision(Generic[P]):
    """A new end for an earlier event; a new end equal to the start deletes it.

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
        object.__setattr__(self, "id", same_id(self.id))
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
        """The earliest tick at which the axis changes: the smaller of old and new end."""
        return min(self.event.end, self.new_end)


@dataclass(frozen=True, slots=True)
class Punctuation:
    """A guarantee: no later change has a sync time strictly below `time`."""

    time: int

    @property
    def sync_time(self) -> int:
        """The tick that the guarantee is about."""
        return self.time


Change: TypeAlias = Insertion[P] | Revision[P] | Punctuation
"""One element of a physical stream."""


def retraction(id: Hashable, event: Event[P]) -> Revision[P]:
    """Return the revision that deletes an event."""
    return Revision(id, event, event.start)


Identity: TypeAlias = tuple[Hashable, int]
"""The name of an event among those of its key: its id and its start."""


def fold(changes: Iterable[Change[P]]) -> Mapping[Identity, Event[P]]:
    """Return the canonical history table of a stream: the last state of each event, by id and start.

    Args:
        changes: The stream, in the order of arrival. Punctuation does not change the table.

    Raises:
        StreamError: An event is inserted while it is alive, or a revision's event is not the one in the table.

    Cost:
        Constant time per change; memory for the events alive.

    Example:
        >>> e0 = Event(1, 100, "P1")
        >>> fold([Insertion("E0", e0), Revision("E0", e0, 5), Insertion("E1", Event(4, 9, "P2"))])
        {('E0', 1): Event(start=1, end=5, payload='P1'), ('E1', 4): Event(start=4, end=9, payload='P2')}
        >>> fold([Insertion("E0", e0), retraction("E0", e0)])
        {}
    """
    table: dict[Identity, Event[P]] = {}
    for change in changes:
        if isinstance(change, Punctuation):
            continue
        # The start is part of an event's identity, as it never changes: a revision moves the end alone.
        identity = (change.id, change.event.start)
        event = table.get(identity)
        if isinstance(change, Insertion):
            if event is not None:
                raise StreamError(f"event {change.id!r} is inserted twice: {event} and {change.event}", id=change.id)
            table[identity] = change.event
        # A revision carries the event as it was, so a revision that was lost or came twice is noticed here.
        elif event != change.event:
            message = f"a revision of event {change.id!r} expects {change.event}, the table has {event}"
            raise StreamError(message, id=change.id)
        elif change.is_retraction:
            del table[identity]
        else:
            table[identity] = Event(change.event.start, change.new_end, change.event.payload)
    return table
