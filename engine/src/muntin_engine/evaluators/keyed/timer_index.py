"""Find the keys that are due, and the soonest timer, without a look at the keys that are not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

from muntin import INFINITY
from muntin_engine.state.bucket_state import NEVER, Due, KeyTimer

_Entry: TypeAlias = tuple[int, bytes]
"""The value of a field of a timer, and the key."""

_FIELDS: Final = range(len(KeyTimer._fields))
_DUE_FIELDS: Final = tuple(map(KeyTimer._fields.index, Due._fields))
"""The fields that make a key due, in the order of those of `Due`."""

_MANY: Final = 4
"""The heaps are made anew where one key in four or more gets another timer, or where they have more than four times the
entries that they need."""


class TimerIndex:
    """The timers of keys, and a heap for each of their fields.

    An entry of a heap is outdated if its key has another value by now; it is dropped when it is the smallest, or when
    the heaps are made anew.

    Cost: logarithmic for each key that gets a timer or is due, and constant for the soonest timer, in the long run;
    linear in all keys where many of them get one.
    """

    def __init__(self, timers: Iterable[tuple[bytes, KeyTimer]] = ()) -> None:
        """Start with the timers of some keys."""
        self._timers: dict[bytes, KeyTimer] = {}
        self._heaps: list[list[_Entry]] = [[] for _ in _FIELDS]
        self.update(dict(timers))

    def update(self, changed: Mapping[bytes, KeyTimer]) -> None:
        """Take the new timers of some keys; `NEVER` of those that are gone."""
        for name, timer in changed.items():
            if timer == NEVER:
                self._timers.pop(name, None)
            else:
                self._timers[name] = timer
        keys, entries = len(self._timers), sum(map(len, self._heaps))
        if len(changed) * _MANY >= keys or entries > _MANY * (keys + len(changed)) * len(_FIELDS):
            known = self._timers.items()
            self._heaps = [[(timer[at], name) for name, timer in known if timer[at] < INFINITY] for at in _FIELDS]
            for heap in self._heaps:
                heapify(heap)
            return
        for name, timer in changed.items():
            for field, value in enumerate(timer):
                if value < INFINITY:
                    heappush(self._heaps[field], (value, name))

    def due(self, at: Due) -> set[bytes]:
        """Return the keys that are due at a progress below `INFINITY`, at which all keys are."""
        found: set[bytes] = set()
        for field, limit in zip(_DUE_FIELDS, at, strict=True):
            heap, places = self._heaps[field], [0]
            while places:  # no entry of a heap is smaller than the one that it is below
                place = places.pop()
                if place < len(heap) and heap[place][0] <= limit:
                    value, name = heap[place]
                    if self._timers.get(name, NEVER)[field] == value:
                        found.add(name)
                    places += (2 * place + 1, 2 * place + 2)
        return found

    def soonest(self) -> KeyTimer:
        """Return the smallest value of each field."""
        for field, heap in enumerate(self._heaps):
            while heap and self._timers.get(heap[0][1], NEVER)[field] != heap[0][0]:
                heappop(heap)
        return KeyTimer(*(heap[0][0] if heap else INFINITY for heap in self._heaps))
