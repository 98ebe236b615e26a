"""Events: a payload and the lifetime over which it holds.

An event is valid over a half-open lifetime `[start, end)` of ticks (StreamInsight paper, section II.A). Three
classes of events differ only in how they get their end (section II.B):

* a *point* event lasts one tick: `Event.point(at, payload)`;
* an *interval* event has an end of its own: `Event(start, end, payload)`;
* an *edge* event lasts until the next sample of its key; until then its end is `INFINITY`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Self

from typing_extensions import TypeVar

from muntin.axis import INFINITY, TickSpan
from muntin.errors import StreamError
from muntin.frozen import subscriptable

P = TypeVar("P", covariant=True)
"""The type of an event's payload."""


@dataclass(frozen=True, slots=True, order=True)
class Lifetime(TickSpan):
    """A half-open, non-empty stretch `[start, end)` of the axis, in ticks.

    Raises:
        StreamError: The end does not lie after the start.

    Example:
        >>> Lifetime(3, 7).overlaps(Lifetime(7, 9))
        False
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise StreamError(
                f"a lifetime must end after it starts, got [{self.start}, {self.end})", start=self.start, end=self.end
            )

    @property
    def is_open(self) -> bool:
        """True while the end is not known."""
        return self.end == INFINITY

    def overlaps(self, other: Lifetime) -> bool:
        """True if the two share at least one tick."""
        return self.start < other.end and other.start < self.end


@subscriptable
@dataclass(frozen=True, slots=True)
class Event(TickSpan, Generic[P]):
    """A payload with its lifetime `[start, end)`.

    Time-sensitive modules read events and may return them; time-insensitive ones see payloads only.

    Attributes:
        start: First tick at which the payload holds.
        end: First tick at which it no longer holds; `INFINITY` while that is not known.
        payload: Whatever the query maps to the module's input.

    Raises:
        StreamError: The end does not lie after the start.

    Example:
        >>> Event(2, 5, "on").duration
        3
        >>> Event.point(4, "hit")
        Event(start=4, end=5, payload='hit')
    """

    start: int
    end: int
    payload: P

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise StreamError(
                f"an event must end after it starts, got [{self.start}, {self.end})", start=self.start, end=self.end
            )

    @classmethod
    def point(cls, at: int, payload: P) -> Self:  # type: ignore[misc]  # a constructor may take a covariant value
        """Return an event that lasts one tick."""
        return cls(at, at + 1, payload)

    @classmethod
    def edge(cls, at: int, payload: P) -> Self:  # type: ignore[misc]  # a constructor may take a covariant value
        """Return a sample that lasts until the next one; until that is seen, for ever."""
        return cls(at, INFINITY, payload)

    @property
    def lifetime(self) -> Lifetime:
        """The stretch over which the payload holds."""
        return Lifetime(self.start, self.end)
