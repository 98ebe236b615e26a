"""What every way of cutting the axis can answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from muntin import EARLIEST, Window
from muntin_engine.core.event_index import StoredEvent


class Assigner(ABC):
    """The windows of one key. It hears of each event that comes and goes, and keeps what it needs of them.

    Windows are ordered by start, and so by end too. Those that start before the *frontier* are closed: they have
    been put out for good and are never mentioned again.

    Attributes:
        frontier: The start of the earliest window that may still change.
    """

    def __init__(self) -> None:
        self.frontier = EARLIEST

    @abstractmethod
    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch of the axis that makes a lifetime a member of the windows it overlaps.

        An empty stretch means: of none, yet.
        """

    def add(self, event: StoredEvent) -> None:  # noqa: B027  # a grid does not depend on events
        """Hear of an event."""

    def remove(self, event: StoredEvent) -> None:  # noqa: B027
        """Hear that an event is gone."""

    @abstractmethod
    def overlapping(self, start: int, end: int, horizon: int) -> list[Window]:
        """Return the open windows that share a tick with `[start, end)`, in order."""

    @abstractmethod
    def closing(self, events: Iterable[StoredEvent], limit: int, horizon: int) -> list[Window]:
        """Return the open windows that end at `limit` or before and may have members, in order."""

    @abstractmethod
    def frontier_at(self, limit: int) -> int:
        """Return the frontier once everything that ends at `limit` or before is closed."""

    @abstractmethod
    def is_needed(self, event: StoredEvent) -> bool:
        """True if an open window may have the event as a member."""

    @abstractmethod
    def first_open(self, events: Iterable[StoredEvent]) -> Window | None:
        """Return the earliest open window that has a member and whose end is known."""

    @abstractmethod
    def next_end(self, events: Iterable[StoredEvent], after: int) -> int:
        """Return a tick after `after` and at or before the next end of an open window with a member."""

    @abstractmethod
    def earliest_start(self, punctuation: int) -> int:
        """Return a tick at or before the start of every window, of whatever future event, that may still change."""
