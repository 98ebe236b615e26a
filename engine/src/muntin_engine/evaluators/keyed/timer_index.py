"""The timers of a bucket's keys: which keys are due at some progress, and the soonest timer of all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from heapq import heapify, heappop, heappush
from typing import Final, Protocol, TypeAlias

from muntin import INFINITY
from muntin_engine.state.bucket_state import NEVER, Due, KeyTimer

_Entry: TypeAlias = tuple[int, bytes]
"""The value of a field of a timer, and the key."""

_FIELDS: Final = range(len(KeyTimer._fields))
_DUE_FIELDS: Final = tuple(map(KeyTimer._fields.index, Due._fields))
"""The fields that make a key due, in the order of those of `Due`."""

_MANY: Final = 4
"""Heaps are made anew when a quarter of the keys get another timer, or with over four times the entries needed."""


class HasTimer(Protocol):
    """The state of a key, as far as it says when the key has work."""

    @property
    def timer(self) -> KeyTimer:
        """Its timer."""
        ...


class TimerIndex:
    """Keys that have timers, and a heap for each of their fields.

    An entry of a heap is outdated if its key has another value by now; it is dropped when it is the smallest, or when
    the heaps are made anew.

    Cost: logarithmic for each key that gets a timer or is due, and constant for the soonest timer, in the long run;
    linear in all keys where many of them get one.
    """

    def __init__(self, keys: Mapping[bytes, HasTimer]) -> None:
        """Start with some keys, which are looked up here from then on."""
        self._keys = keys
        self._heaps: list[list[_Entry]] = [[] for _ in _FIELDS]
        self.update(keys)

    def update(self, changed: Collection[bytes]) -> None:
        """Take the new timers of some keys; some of them may be gone."""
        keys, entries = len(self._keys), sum(map(len, self._heaps))
        if len(changed) * _MANY >= keys or entries > _MANY * (keys + len(changed)) * len(_FIELDS):
            known = self._keys.items()
            self._heaps = [
                [(value, name) for name, key in known if (value := key.timer[at]) < INFINITY] for at in _FIELDS
            ]
            for heap in self._heaps:
                heapify(heap)
            return
        for name in changed:
            for field, value in enumerate(self._timer(name)):
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
                    if self._timer(name)[field] == value:
                        found.add(name)
                    places += (2 * place + 1, 2 * place + 2)
        return found

    def soonest(self) -> KeyTimer:
        """Return the smallest value of each field."""
        for field, heap in enumerate(self._heaps):
            while heap and self._timer(heap[0][1])[field] != heap[0][0]:
                heappop(heap)
        return KeyTimer(*(heap[0][0] if heap else INFINITY for heap in self._heaps))

    def _timer(self, name: bytes) -> KeyTimer:
        key = self._keys.get(name)
        return NEVER if key is None else key.timer
