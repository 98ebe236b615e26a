"""When the left events of a key of a join are to be looked at again, although nothing about them changed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from heapq import heappop, heappush
from typing import Final

from muntin import INFINITY
from muntin_engine.evaluators.joins.matching import LEFT, RIGHT

NEVER: Final = INFINITY + 1
"""The tick of what does not come, not even with the end of an input."""

_REBUILD_FACTOR: Final = 2
"""Entries are made anew once there are over so many times as many as ids, and over `_FEW`."""

_FEW: Final = 64

_MEMORY_PER_ENTRY: Final = 128
"""The memory of an id, its tick and its entry in bytes, roughly."""


class TickIndex:
    """Ids that have a tick each; the least tick is at hand.

    An entry is an id in the list of a tick. It is outdated if the id has another tick by now, or none. Outdated entries
    stay until their tick is the least, or until all entries are made anew. There are no entries before `make_entries`,
    or before ids are asked for by their ticks: a small key is decoded in each batch, and its index is asked for the
    least tick alone, once.

    Cost: a constant for each id that gets a tick, and logarithmic in the number of distinct ticks for each of these.

    Example:
        >>> index = TickIndex()
        >>> index.put("a", 5)
        >>> index.put("b", 7)
        >>> index.put("a", 9)
        >>> index.least(), index.has(5), index.take_until(8), index.least()
        (7, False, ['b'], 9)
    """

    # Defaults of the class: most keys are small, and need no entries.
    _has_entries = False
    _entry_count = 0
    _heap: list[int]
    _ids_by_tick: dict[int, list[Hashable]]

    def __init__(self) -> None:
        """Start without ids."""
        self._tick_by_id: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._tick_by_id)

    def make_entries(self) -> None:
        """Make the entries of all ids, so that the least tick is found from now on without a look at all of them."""
        if not self._has_entries:
            self._rebuild()

    def put(self, id: Hashable, tick: int) -> None:
        """Give an id a tick, in place of the one that it had; `NEVER` to remove the id."""
        previous_tick = self._tick_by_id.get(id, NEVER)
        if tick == previous_tick:
            return
        if tick == NEVER:
            del self._tick_by_id[id]
            return
        self._tick_by_id[id] = tick
        if self._has_entries:
            self._enter(id, tick)
            if self._entry_count > max(_FEW, _REBUILD_FACTOR * len(self._tick_by_id)):
                self._rebuild()

    def has(self, tick: int) -> bool:
        """Return True if an id has a tick."""
        self.make_entries()
        ids = self._ids_by_tick.get(tick)
        if ids is None:
            return False
        # One id that still has the tick is enough: outdated entries are dropped up to it.
        while ids and self._tick_by_id.get(ids[-1]) != tick:
            ids.pop()
            self._entry_count -= 1
        return bool(ids)

    def least(self) -> int:
        """Return the least tick that an id has; `NEVER` if there is no id."""
        if not self._has_entries:
            return min(self._tick_by_id.values(), default=NEVER)
        heap = self._heap
        while heap:
            if self.has(heap[0]):
                return heap[0]
            del self._ids_by_tick[heappop(heap)]
        return NEVER

    def take_until(self, tick: int) -> list[Hashable]:
        """Remove the ids that have a tick or an earlier one, and return them."""
        self.make_entries()
        taken_ids: list[Hashable] = []
        while self._heap and self._heap[0] <= tick:
            least_tick = heappop(self._heap)
            ids = self._ids_by_tick.pop(least_tick)
            self._entry_count -= len(ids)
            for id in ids:
                if self._tick_by_id.get(id) == least_tick:
                    taken_ids.append(id)
                    del self._tick_by_id[id]
        return taken_ids

    def _rebuild(self) -> None:
        """Make the entries of all ids anew."""
        self._has_entries = True
        self._entry_count = 0
        self._heap = []
        self._ids_by_tick = {}
        for id, tick in self._tick_by_id.items():
            self._enter(id, tick)

    def _enter(self, id: Hashable, tick: int) -> None:
        """Make an entry for the tick of an id."""
        self._entry_count += 1
        ids = self._ids_by_tick.get(tick)
        if ids is None:
            self._ids_by_tick[tick] = [id]
            heappush(self._heap, tick)
        else:
            ids.append(id)


class LeftTimers:
    """The left events of a key by the watermarks at which they are to be looked at again.

    All of this follows from the events and the watermarks: it is built when a key is looked at for the first time, and
    lives as long as its decoded state.

    Attributes:
        awaited: For each input, the left events by the least watermark of that input that one of their rows waits for,
            or at which a clipped event can be dropped.
        waiting_from: The left events by the start of their first row that waits.
        clip_ticks: The left events by the start of the right event that clips them, in a join of the kind CLIP.
    """

    def __init__(self) -> None:
        """Start without events."""
        self.awaited = (TickIndex(), TickIndex())
        self.waiting_from = TickIndex()
        self.clip_ticks = TickIndex()

    def take_due(self, watermarks: Sequence[int]) -> set[Hashable]:
        """Return the ids of the left events that are to be looked at, by the watermark of each input.

        The caller looks at each of them, and enters what it waits for then.
        """
        # Only a key whose decoded state lives from batch to batch comes here.
        self.waiting_from.make_entries()
        due_ids: set[Hashable] = set()
        for awaited, watermark in zip(self.awaited, watermarks, strict=True):
            due_ids.update(awaited.take_until(watermark))
        return due_ids

    def put(self, left_id: Hashable, awaited: Sequence[int], waiting_from: int) -> None:
        """Enter what a left event waits for, in place of what it waited for before.

        Args:
            left_id: The id of the event.
            awaited: The least watermark of each input that it waits for, or `NEVER`.
            waiting_from: The start of its first row that waits, or `NEVER`.
        """
        left_index, right_index = self.awaited
        left_index.put(left_id, awaited[LEFT])
        right_index.put(left_id, awaited[RIGHT])
        self.waiting_from.put(left_id, waiting_from)

    @property
    def memory(self) -> int:
        """The memory in bytes, roughly."""
        return _MEMORY_PER_ENTRY * sum(map(len, self._indexes))

    @property
    def _indexes(self) -> Sequence[TickIndex]:
        return (*self.awaited, self.waiting_from, self.clip_ticks)

    def discard(self, left_id: Hashable) -> None:
        """Forget a left event."""
        for index in self._indexes:
            index.put(left_id, NEVER)
