"""Ids that are waiting for ticks, by these ticks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from heapq import heappop, heappush
from typing import Generic, TypeVar

IdT = TypeVar("IdT", bound=Hashable)


class TickHeap(Generic[IdT]):
    """Ids by their ticks; the least tick is at hand.

    The tick of an id may change, or the id may go, without a word to the heap. An entry, an id under a tick, is
    outdated if the id has another tick by now. Outdated entries stay until their tick is the least: so an owner whose
    ids change often looks at the number of entries, and enters all ids anew when most entries are outdated.

    Cost: a constant for each entry, and logarithmic in the number of distinct ticks for each of these.

    Example:
        >>> ticks = {"a": 5, "b": 7}
        >>> heap = TickHeap(ticks.get)
        >>> heap.enter(5, ["a"])
        >>> heap.enter(7, ["b"])
        >>> ticks["a"] = 9
        >>> heap.enter(9, ["a"])
        >>> len(heap), heap.least(), heap.has(5), heap.take_until(8), heap.least()
        (3, 7, False, ['b'], 9)
    """

    def __init__(self, tick_of: Callable[[IdT], int | None]) -> None:
        """Create a heap without entries.

        Args:
            tick_of: Returns the present tick of an id. For an id that is gone it returns None, or a tick that `enter`
                is never called with, such as `INFINITY`.
        """
        self._tick_of = tick_of
        self._heap: list[int] = []
        self._ids_by_tick: dict[int, list[IdT]] = {}
        self._entry_count = 0

    def __len__(self) -> int:
        """Return the number of entries, with the outdated ones."""
        return self._entry_count

    def enter(self, tick: int, ids: Collection[IdT]) -> None:
        """Make entries for ids that have a tick from now on."""
        entered_ids = self._ids_by_tick.get(tick)
        if entered_ids is None:
            heappush(self._heap, tick)
            self._ids_by_tick[tick] = list(ids)
        else:
            entered_ids += ids
        self._entry_count += len(ids)

    def has(self, tick: int) -> bool:
        """Return True if an id that was entered under a tick still has it."""
        ids = self._ids_by_tick.get(tick)
        if ids is None:
            return False
        # One id that still has the tick is enough: outdated entries are dropped up to it.
        while ids and self._tick_of(ids[-1]) != tick:
            ids.pop()
            self._entry_count -= 1
        return bool(ids)

    def least(self) -> int | None:
        """Return the least tick that an id still has, and drop the outdated entries before it; None without ids."""
        while self._heap:
            tick = self._heap[0]
            if self.has(tick):
                return tick
            heappop(self._heap)
            del self._ids_by_tick[tick]
        return None

    def take_until(self, limit: int) -> list[IdT]:
        """Remove the entries up to and with a tick, and return the ids among them that are not outdated."""
        tick_of = self._tick_of
        taken_ids: list[IdT] = []
        while self._heap and self._heap[0] <= limit:
            tick = heappop(self._heap)
            ids = self._ids_by_tick.pop(tick)
            self._entry_count -= len(ids)
            taken_ids += [id for id in ids if tick_of(id) == tick]
        return taken_ids
