"""The state of a stream up to a point: its live events, and the changes that its watermark forbids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

from muntin.axis import EARLIEST, INFINITY
from muntin.changes import Insertion, Punctuation, Revision, same_id
from muntin.errors import StreamError
from muntin.events import Event
from muntin.testing.batches import KeyedChange, KeyPunctuation, Step, matches, spell_pattern

_Place: TypeAlias = tuple[Hashable, Hashable, int]
"""The name of an event: its key, its id and its start."""


class StreamHistory:
    """Takes the steps of a stream one by one and keeps the legal ones.

    The changes of an event may come in any order. Each applies to the state that another one left: an insertion to
    nothing, a revision to the event as it expects it. A change that applies to no state yet waits.

    A change is illegal if its sync time lies below an earlier punctuation of its key. So is one that still waits when a
    watermark passes its sync time, if the missing change would alter the axis below the watermark. So is a revision
    of an event that ended before the watermark, or was retracted and started before it: nothing legal brings it back.

    Attributes:
        watermark: The highest punctuation of all keys so far.
        illegal: The illegal steps, where the history is not strict.
    """

    def __init__(self, *, is_strict: bool = True) -> None:
        """Prepare for the first step; a strict history raises on an illegal one."""
        self.watermark = EARLIEST
        self.illegal: list[Step] = []
        self._is_strict = is_strict
        self._of_keys: dict[Hashable, int] = {}
        self._trails: dict[_Place, list[KeyedChange]] = {}
        self._waiting: dict[_Place, list[KeyedChange]] = {}

    @property
    def accepted(self) -> dict[Hashable, list[Insertion[Any] | Revision[Any]]]:
        """The legal changes per key, each after the one that it applies to."""
        found: dict[Hashable, list[Insertion[Any] | Revision[Any]]] = {}
        for (key, *_), trail in self._trails.items():
            found.setdefault(key, []).extend(step.change for step in trail)
        return {key: changes for key, changes in found.items() if changes}

    @property
    def waiting(self) -> int:
        """The number of changes that wait for others of their event."""
        return sum(map(len, self._waiting.values()))

    def take(self, step: Step) -> None:
        """Take the next step.

        Raises:
            StreamError: The step is illegal, or makes one illegal that waits, and the history is strict.
        """
        if isinstance(step, Punctuation | KeyPunctuation):
            self._punctuate(step)
        elif isinstance(step, KeyedChange) and not self._is_late(step):
            place = (step.key, step.change.id, step.change.event.start)
            trail = self._trails.setdefault(place, [])
            known = _left(trail)
            if isinstance(step.change, Revision) and _end(place[2], known) < self.watermark_of(step.key):
                self._reject(step, self._misfit(step, known))
                return
            waiting = self._waiting.pop(place, [])
            if not waiting and _expected(step) == known:
                trail.append(step)  # as ordering all of them anew would
                return
            self._trails[place], waiting = _trail([*trail, *waiting, step])
            if waiting:
                self._waiting[place] = waiting

    def watermark_of(self, key: Hashable) -> int:
        """Return the watermark of a key: the highest punctuation of all keys, or of some that it is one of."""
        return max([self.watermark, *(time for pattern, time in self._of_keys.items() if matches(pattern, key))])

    def events(self, key: Hashable, id: Hashable) -> list[Event[Any]]:
        """Return the events of an id that are alive, as they are now."""
        found = (_left(trail) for (of, known, _), trail in self._trails.items() if (of, known) == (key, same_id(id)))
        return [event for event in found if event is not None]

    def keys_of(self, id: Hashable) -> list[Hashable]:
        """Return the keys that have an event of that id alive."""
        return list(
            dict.fromkeys(
                key for (key, known, _), trail in self._trails.items() if (known,) == (same_id(id),) and _left(trail)
            )
        )

    def _punctuate(self, step: Punctuation | KeyPunctuation) -> None:
        if isinstance(step, Punctuation):
            whose, before = "the watermark", self.watermark
            self.watermark = max(before, step.time)
        else:
            whose, before = f"the watermark of {spell_pattern(step.key)}", self._of_keys.get(step.key, EARLIEST)
            self._of_keys[step.key] = max(before, step.time)
        if step.time < before:
            self._reject(step, f"{whose} goes back from {before} to {step.time}")
        for place, waiting in list(self._waiting.items()):
            watermark, known = self.watermark_of(place[0]), _left(self._trails[place])
            is_over = watermark == INFINITY or _end(place[2], known) < watermark
            late = waiting if is_over else []
            if not is_over and _has_gap(waiting, watermark):
                late = [other for other in waiting if other.change.sync_time < watermark]
            self._waiting[place] = [other for other in waiting if other not in late]
            if not self._waiting[place]:
                del self._waiting[place]
            for other in late:
                self._reject(other, self._misfit(other, known))

    def _misfit(self, step: KeyedChange, known: Event[object] | None) -> str:
        if isinstance(step.change, Insertion):
            return f"{_spell(step)}, but that event is alive: {known}"
        return f"{_spell(step)} expects {step.change.event}, but the event is {known or 'gone'}"

    def _is_late(self, step: KeyedChange) -> bool:
        watermark = self.watermark_of(step.key)
        is_late = step.change.sync_time < watermark
        if is_late:
            self._reject(
                step,
                f"{_spell(step)} has the sync time {step.change.sync_time}, below the watermark {watermark}\n"
                "  expected: no change of the axis before the watermark\n"
                "  to test an engine with such a change: Script(allow_illegal=True)",
            )
        return is_late

    def _reject(self, step: Step, message: str) -> None:
        if self._is_strict:
            raise StreamError(message, step=step, watermark=self.watermark)
        self.illegal.append(step)


def _has_gap(waiting: Sequence[KeyedChange], watermark: int) -> bool:
    """Return True if changes that wait for others of their event depend on one below a watermark, which cannot come.

    They lack one if they expect an end below the watermark more often, or less often, than others of them leave it.
    """
    start = waiting[0].change.event.start
    ends = Counter(_end(start, _left([step])) for step in waiting)
    ends.subtract(_end(start, _expected(step)) for step in waiting)
    return any(count and end < watermark for end, count in ends.items())


def _end(start: int, event: Event[object] | None) -> int:
    return start if event is None else event.end


def _trail(changes: Sequence[KeyedChange]) -> tuple[list[KeyedChange], list[KeyedChange]]:
    """Order the changes of one event so that each applies to the state that the one before left.

    Returns:
        Those in order, and those that fit nowhere.
    """
    trail, rest = _walk(None, changes)
    place = 0
    while place <= len(trail):  # changes that were skipped may be a detour that leads back to where it left
        state = _left(trail[:place])
        detour, others = _walk(state, rest)
        while detour and _left(detour) != state:
            others.append(detour.pop())
        if detour:
            trail[place:place], rest = detour, others
        else:
            place += 1
    return trail, rest


def _walk(state: Event[object] | None, changes: Sequence[KeyedChange]) -> tuple[list[KeyedChange], list[KeyedChange]]:
    """Apply changes to an event, or to nothing, until none applies; return those that did and the others."""
    walk: list[KeyedChange] = []
    rest = list(changes)
    while (step := next((step for step in rest if _expected(step) == state), None)) is not None:
        rest = [other for other in rest if other is not step]
        walk.append(step)
        state = _left(walk)
    return walk, rest


def _expected(step: KeyedChange) -> Event[object] | None:
    return None if isinstance(step.change, Insertion) else step.change.event


def _left(trail: Sequence[KeyedChange]) -> Event[object] | None:
    """Return the event after the last change of a trail; None if it is deleted."""
    if not trail:
        return None
    change = trail[-1].change
    if isinstance(change, Insertion):
        return change.event
    return None if change.is_retraction else Event(change.event.start, change.new_end, change.event.payload)


def _spell(step: KeyedChange) -> str:
    verb = "the insertion" if isinstance(step.change, Insertion) else "the revision"
    return f"{verb} of event {step.change.id!r}" + ("" if step.key is None else f" of key {step.key!r}")
