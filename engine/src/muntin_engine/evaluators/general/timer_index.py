"""Find the keys that are due, and the soonest timer, without a look at the keys that are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Final, TypeAlias

from muntin import INFINITY
from muntin_engine.state.bucket_state import KeyTimer

_Entry: TypeAlias = tuple[int, bytes]
"""The value of a field of a timer, and the key."""

_FIELDS: Final = range(len(KeyTimer._fields))
_TRIGGERS: Final = tuple(KeyTimer._fields.index(name) for name in ("closing", "visibility", "clock", "max_event_time"))
"""The fields that make a key due, in the order of what `KeyTimer.is_reached` takes."""

_MANY: Final = 4
"""Where at least one key in so many gets another timer, or so many times as many entries as keys are outdated, the
heaps are made anew."""


class TimerIndex:
    """A heap for each field of the timers of keys.

    An entry is outdated if its key has another value by now; it is dropped when it comes up, or when the heaps are made
    anew.

    Cost: logarithmic for each key that gets a timer or is due, and constant for the soonest timer, in the long run;
    linear in all keys where many of them get one.
    """

    def __init__(self, timer_of: Callable[[bytes], KeyTimer | None]) -> None:
        """Start without keys.

        Args:
            timer_of: Returns the timer of a key now; None if it has none any more.
        """
        self._timer_of = timer_of
        self._heaps: list[list[_Entry]] = [[] for _ in _FIELDS]
        self._taken: list[tuple[int, _Entry]] = []

    def rebuild(self, timers: Iterable[tuple[bytes, KeyTimer]]) -> None:
        """Take the timers of all keys."""
        known = list(timers)
        self._heaps = [[(timer[field], name) for name, timer in known if timer[field] < INFINITY] for field in _FIELDS]
        self._taken = []
        for heap in self._heaps:
            heapify(heap)

    def update(self, names: Sequence[bytes], keys: int, timers: Iterable[tuple[bytes, KeyTimer]]) -> None:
        """Take the new timers of some keys.

        Args:
            names: The keys that have another timer, or none.
            keys: The number of all keys.
            timers: The timers of all keys, in case that so many change.
        """
        entries = sum(map(len, self._heaps))
        if len(names) * _MANY >= keys or entries > _MANY * (keys + len(names)) * len(_FIELDS):
            self.rebuild(timers)
            return
        self._put_back()
        for name in names:
            if (timer := self._timer_of(name)) is not None:
                for field, value in enumerate(timer):
                    if value < INFINITY:
                        heappush(self._heaps[field], (value, name))

    def due(self, at: Sequence[int]) -> set[bytes]:
        """Return the keys that are due at a progress, none of whose limits is `INFINITY`: then all keys are."""
        self._put_back()
        found: set[bytes] = set()
        for field, limit in zip(_TRIGGERS, at, strict=True):
            heap = self._heaps[field]
            while heap and heap[0][0] <= limit:
                entry = heappop(heap)
                if self._is_valid(field, entry):
                    found.add(entry[1])
                    self._taken.append((field, entry))
        return found

    def soonest(self) -> KeyTimer:
        """Return the smallest value of each field."""
        return KeyTimer(*map(self._first, _FIELDS))

    def _put_back(self) -> None:
        """Take what was due once more, in case that a key was not written after that."""
        for field, entry in self._taken:
            heappush(self._heaps[field], entry)
        self._taken = []

    def _first(self, field: int) -> int:
        heap = self._heaps[field]
        while heap and not self._is_valid(field, heap[0]):
            heappop(heap)
        return heap[0][0] if heap else INFINITY

    def _is_valid(self, field: int, entry: _Entry) -> bool:
        timer = self._timer_of(entry[1])
        return timer is not None and timer[field] == entry[0]
