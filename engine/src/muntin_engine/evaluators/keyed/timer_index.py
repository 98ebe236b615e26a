"""The timers of a bucket's keys: which keys are due at some progress, and the soonest timer of all."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from heapq import heappop, heappush
from typing import Final, Protocol

from muntin import INFINITY
from muntin_engine.state.bucket_state import NO_TIMER, Due, KeyTimer

_FIELDS: Final = range(len(KeyTimer._fields))
_DUE_FIELDS: Final = tuple(map(KeyTimer._fields.index, Due._fields))
"""The fields that make a key due, in the order of those of `Due`."""

_MANY: Final = 2
"""The index is made anew with over twice the entries that all keys need at most."""


class HasTimer(Protocol):
    """The state of a key, as far as it says when the key has work."""

    @property
    def timer(self) -> KeyTimer:
        """Its timer."""
        ...


class TimerIndex:
    """Keys that have timers: for each field of a timer a heap of its values, and the keys by value.

    An entry, a key under a value, is outdated if the key has another value by now; it is dropped when the value is the
    smallest, or when the index is made anew.

    Cost: a constant for each key that gets a timer or is due, and logarithmic in the number of distinct values for each
    of these.
    """

    def __init__(self, keys: Mapping[bytes, HasTimer]) -> None:
        """Start with some keys, which are looked up here from then on."""
        self._keys = keys
        self._clear()
        self.update(keys)

    def update(self, changed: Collection[bytes]) -> None:
        """Take the new timers of some keys; some of them may be gone."""
        known = self._keys
        if self._entries > _MANY * len(_FIELDS) * (len(known) + len(changed)):
            self._clear()
            changed = known
        alike: dict[KeyTimer, list[bytes]] = {}
        for name in changed:
            if name in known:
                alike.setdefault(known[name].timer, []).append(name)
        for timer, names in alike.items():
            for value, heap, by_value in zip(timer, self._heaps, self._by_value, strict=True):
                if value < INFINITY:
                    if value not in by_value:
                        heappush(heap, value)
                        by_value[value] = []
                    by_value[value] += names
                    self._entries += len(names)

    def take_due(self, at: Due) -> set[bytes]:
        """Take out the keys that are due at a progress below `INFINITY`, at which all are; each is updated later."""
        found: set[bytes] = set()
        for field, limit in zip(_DUE_FIELDS, at, strict=True):
            heap, by_value = self._heaps[field], self._by_value[field]
            while heap and heap[0] <= limit:
                value = heappop(heap)
                names = by_value.pop(value)
                self._entries -= len(names)
                found.update([name for name in names if self._timer(name)[field] == value])
        return found

    def soonest(self) -> KeyTimer:
        """Return the smallest value of each field."""
        for field, heap in enumerate(self._heaps):
            while heap:
                names = self._by_value[field][heap[0]]
                while names and self._timer(names[-1])[field] != heap[0]:
                    names.pop()
                    self._entries -= 1
                if names:
                    break
                del self._by_value[field][heappop(heap)]
        return KeyTimer(*(heap[0] if heap else INFINITY for heap in self._heaps))

    def _clear(self) -> None:
        self._entries = 0
        self._heaps: list[list[int]] = [[] for _ in _FIELDS]
        self._by_value: list[dict[int, list[bytes]]] = [{} for _ in _FIELDS]

    def _timer(self, name: bytes) -> KeyTimer:
        key = self._keys.get(name)
        return NO_TIMER if key is None else key.timer
