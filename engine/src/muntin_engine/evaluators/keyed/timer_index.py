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
"""The index is rebuilt with over twice the entries that all keys need at most."""


class HasTimer(Protocol):
    """The state of a key, as far as it says when the key has work."""

    @property
    def timer(self) -> KeyTimer:
        """Timer of the key."""
        ...


class TimerIndex:
    """Keys that have timers: for each field of a timer a heap of its values, and the keys by value.

    An entry, a key under a value, is outdated if the key has another value by now; it is dropped when the value is the
    smallest, or when the index is rebuilt.

    Cost: a constant for each key that gets a timer or is due, and logarithmic in the number of distinct values for each
    of these.
    """

    def __init__(self, keys: Mapping[bytes, HasTimer]) -> None:
        """Start an index over a mapping of keys, whose timers are looked up there from then on."""
        self._keys = keys
        self._clear()
        self.update(keys)

    def update(self, changed: Collection[bytes]) -> None:
        """Enter the new timers of changed keys, some of which may be gone."""
        keys = self._keys
        most_needed = len(_FIELDS) * (len(keys) + len(changed))
        if self._entry_count > _MANY * most_needed:
            self._clear()
            changed = keys

        # Many keys have equal timers: these are entered together.
        names_by_timer: dict[KeyTimer, list[bytes]] = {}
        for name in changed:
            if name in keys:
                names_by_timer.setdefault(keys[name].timer, []).append(name)
        for timer, names in names_by_timer.items():
            for value, heap, names_by_value in zip(timer, self._heaps, self._names_by_value, strict=True):
                if value == INFINITY:
                    continue
                if value not in names_by_value:
                    heappush(heap, value)
                    names_by_value[value] = []
                names_by_value[value] += names
                self._entry_count += len(names)

    def take_due(self, at: Due) -> set[bytes]:
        """Take out the keys that are due at a progress below `INFINITY`, at which all are; each is updated later."""
        due: set[bytes] = set()
        for field, limit in zip(_DUE_FIELDS, at, strict=True):
            heap = self._heaps[field]
            names_by_value = self._names_by_value[field]
            while heap and heap[0] <= limit:
                value = heappop(heap)
                names = names_by_value.pop(value)
                self._entry_count -= len(names)
                due.update([name for name in names if self._timer(name)[field] == value])
        return due

    def soonest(self) -> KeyTimer:
        """Return the smallest value of each field."""
        return KeyTimer(*[self._least(field) for field in _FIELDS])

    def _least(self, field: int) -> int:
        """Return the smallest value of a field that a key has, and drop the outdated entries before it."""
        heap = self._heaps[field]
        while heap:
            value = heap[0]
            names = self._names_by_value[field][value]
            while names and self._timer(names[-1])[field] != value:
                names.pop()
                self._entry_count -= 1
            if names:
                return value
            del self._names_by_value[field][heappop(heap)]
        return INFINITY

    def _clear(self) -> None:
        self._entry_count = 0
        self._heaps: list[list[int]] = [[] for _ in _FIELDS]
        self._names_by_value: list[dict[int, list[bytes]]] = [{} for _ in _FIELDS]

    def _timer(self, name: bytes) -> KeyTimer:
        key = self._keys.get(name)
        return NO_TIMER if key is None else key.timer
