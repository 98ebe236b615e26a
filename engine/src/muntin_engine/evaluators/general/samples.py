"""The samples of an edge stream, in order of time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TypeAlias

from sortedcontainers import SortedDict

Neighbour: TypeAlias = tuple[int, Hashable]
"""The time of a sample and the id of its event."""


class Samples:
    """The times of a key's samples with the ids of their events. Every operation is logarithmic."""

    def __init__(self, samples: Iterable[Neighbour] = ()) -> None:
        self._ids: SortedDict[int, Hashable] = SortedDict(samples)

    def add(self, at: int, id: Hashable) -> None:
        """Take in a sample."""
        self._ids[at] = id

    def discard(self, at: int) -> None:
        """Forget a sample, if it is known."""
        self._ids.pop(at, None)

    def around(self, at: int) -> tuple[Neighbour | None, Neighbour | None]:
        """Return the last sample at a time or before it, and the first after it."""
        place = self._ids.bisect_right(at)
        before = self._ids.peekitem(place - 1) if place > 0 else None
        after = self._ids.peekitem(place) if place < len(self._ids) else None
        return before, after
