"""When the left events of a key of a join are to be looked at again, although nothing about them changed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final

from muntin import INFINITY
from muntin_engine.evaluators.joins.matching import LEFT, RIGHT
from muntin_engine.evaluators.keyed.tick_heap import TickHeap

NEVER: Final = INFINITY + 1
"""The tick of what does not come, not even with the end of an input."""

_REBUILD_FACTOR: Final = 2
"""Entries are made anew once there are over so many times as many as ids, and over `_FEW`."""

_FEW: Final = 64

_MEMORY_PER_ENTRY: Final = 128
"""The memory of an id, its tick and its entry in bytes, roughly."""


class TickIndex:
    """Ids that have a tick each; the least tick is at hand.

    There are no entries in a heap before `make_entries`, or before ids are asked for by their ticks: a small key is
    decoded in each batch, and its index is asked for the least tick alone, once.

    Cost: that of `TickHeap` for each id that gets a tick.

    Example:
        >>> index = TickIndex()
        >>> index.put("a", 5)
        >>> index.put("b", 7)
        >>> index.put("a", 9)
        >>> index.least(), index.has(5), index.take_until(8), index.least()
        (7, False, ['b'], 9)
    """

    # The default of the class: most keys are small, and need no entries.
    _heap: TickHeap[Hashable] | None = None

    def __init__(self) -> None:
        """Start without ids."""
        self._tick_by_id: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self._tick_by_id)

    def make_entries(self) -> TickHeap[Hashable]:
        """Make the entries of all ids, so that the least tick is found from now on without a look at all of them."""
        if self._heap is None:
            self._heap = self._new_heap()
        return self._heap

    def put(self, id: Hashable, tick: int) -> None:
        """Give an id a tick, in place of the one that it had; `NEVER` to remove the id."""
        previous_tick = self._tick_by_id.get(id, NEVER)
        if tick == previous_tick:
            return
        if tick == NEVER:
            del self._tick_by_id[id]
            return
        self._tick_by_id[id] = tick
        if self._heap is not None:
            self._heap.enter(tick, (id,))
            # The entry of the previous tick stays in the heap, which passes it over: with too many such entries, the
            # heap is made anew.
            if len(self._heap) > max(_FEW, _REBUILD_FACTOR * len(self._tick_by_id)):
                self._heap = self._new_heap()

    def has(self, tick: int) -> bool:
        """Return True if an id has a tick."""
        return self.make_entries().has(tick)

    def least(self) -> int:
        """Return the least tick that an id has; `NEVER` if there is no id."""
        if self._heap is None:
            return min(self._tick_by_id.values(), default=NEVER)
        least = self._heap.least()
        return NEVER if least is None else least

    def take_until(self, tick: int) -> list[Hashable]:
        """Remove the ids that have a tick or an earlier one, and return them."""
        # An id that had another tick in between is entered twice under its tick.
        taken_ids = list(dict.fromkeys(self.make_entries().take_until(tick)))
        for id in taken_ids:
            del self._tick_by_id[id]
        return taken_ids

    def _new_heap(self) -> TickHeap[Hashable]:
        """Return a heap with an entry for each id."""
        heap: TickHeap[Hashable] = TickHeap(self._tick_by_id.get)
        for id, tick in self._tick_by_id.items():
            heap.enter(tick, (id,))
        return heap


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

        The caller looks at each of these events, and enters what the event waits for from then on.
        """
        # Only a key whose decoded state lives from batch to batch comes here: there entries pay off, because each batch
        # asks for the least tick. The indexes in `awaited` get theirs from `take_until`.
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
            waiting_from: The start of the first row of its results that waits, or `NEVER`.
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
