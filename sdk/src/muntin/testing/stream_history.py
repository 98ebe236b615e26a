"""The history of a stream up to a point: its live events, and the changes that its watermark forbids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

from muntin.axis import EARLIEST, INFINITY
from muntin.changes import Insertion, Punctuation, Revision, same_id
from muntin.errors import StreamError
from muntin.events import Event
from muntin.testing.batches import KeyedChange, KeyPunctuation, Step, matches, spell_pattern

_EventName: TypeAlias = tuple[Hashable, Hashable, int]
"""The name of an event: its key, its id and its start."""


class StreamHistory:
    """The legal steps of a stream, added one by one.

    The changes of an event may come in any order. Each applies to the state that another change left: an insertion to
    nothing, a revision to the event as it expects it. A change that applies to no state yet waits.

    Three kinds of changes are illegal:

    * one whose sync time lies below an earlier punctuation of its key;
    * one that still waits when a watermark passes its sync time, if the missing change would alter the axis below the
      watermark;
    * a revision of an event that ended before the watermark, or was retracted and started before it: no legal change
      brings the event back.

    Attributes:
        watermark: The highest punctuation of all keys so far.
        illegal: The illegal steps, where the history is not strict.
    """

    def __init__(self, *, is_strict: bool = True) -> None:
        """Prepare for the first step; a strict history raises on an illegal one."""
        self.watermark = EARLIEST
        self.illegal: list[Step] = []
        self._is_strict = is_strict
        self._watermarks: dict[Hashable, int] = {}  # by key or pattern of keys
        # The changes of each event, in the order in which each applies to the state that the one before it left.
        self._trails: dict[_EventName, list[KeyedChange]] = {}
        # The changes of each event that apply to no state yet.
        self._waiting: dict[_EventName, list[KeyedChange]] = {}

    @property
    def accepted(self) -> dict[Hashable, list[Insertion[Any] | Revision[Any]]]:
        """The legal changes per key, each after the one that it applies to."""
        changes: dict[Hashable, list[Insertion[Any] | Revision[Any]]] = {}
        for (key, _, _), trail in self._trails.items():
            if trail:
                changes.setdefault(key, []).extend(step.change for step in trail)
        return changes

    @property
    def waiting(self) -> int:
        """The number of changes that wait for others of their event."""
        return sum(map(len, self._waiting.values()))

    def add(self, step: Step) -> None:
        """Add the next step.

        Raises:
            StreamError: The history is strict, and the step is illegal or makes a waiting change illegal.
        """
        if isinstance(step, Punctuation | KeyPunctuation):
            self._punctuate(step)
        elif isinstance(step, KeyedChange):
            watermark = self.watermark_of(step.key)
            if step.change.sync_time < watermark:
                self._reject(step, _lateness(step, watermark))
            else:
                self._add_change(step)

    def _add_change(self, step: KeyedChange) -> None:
        """Add a change to the trail of its event, or let it wait for a change that must come before it."""
        start = step.change.event.start
        event_name = (step.key, step.change.id, start)
        trail = self._trails.setdefault(event_name, [])
        event = _state_after(trail)
        # The event has ended before the watermark: no legal change can bring it to the state that the revision expects.
        if isinstance(step.change, Revision) and _end(start, event) < self.watermark_of(step.key):
            self._reject(step, _misfit(step, event))
            return
        waiting = self._waiting.pop(event_name, [])
        if not waiting and _expected(step) == event:
            trail.append(step)  # the common case, in which ordering all changes anew would do the same
            return
        self._trails[event_name], waiting = _trail([*trail, *waiting, step])
        if waiting:
            self._waiting[event_name] = waiting

    def watermark_of(self, key: Hashable) -> int:
        """Return the watermark of a key: the highest punctuation of all keys, or of a pattern that the key matches."""
        times = [time for pattern, time in self._watermarks.items() if matches(pattern, key)]
        return max([self.watermark, *times])

    def events(self, key: Hashable, id: Hashable) -> list[Event[Any]]:
        """Return the events of an id that are alive, as they are now."""
        events: list[Event[Any]] = []
        for (key_of_event, id_of_event, _), trail in self._trails.items():
            event = _state_after(trail)
            # Compared in tuples, as these find NaN equal to itself, of which `same_id` leaves one object.
            if event is not None and (key_of_event, id_of_event) == (same_id(key), same_id(id)):
                events.append(event)
        return events

    def keys_of(self, id: Hashable) -> list[Hashable]:
        """Return the keys that have a live event of an id."""
        keys: dict[Hashable, None] = {}
        for (key, id_of_event, _), trail in self._trails.items():
            # Compared in tuples, as these find NaN equal to itself, of which `same_id` leaves one object.
            if (id_of_event,) == (same_id(id),) and _state_after(trail) is not None:
                keys[key] = None
        return list(keys)

    def _punctuate(self, step: Punctuation | KeyPunctuation) -> None:
        """Advance the watermark of all keys, or of a pattern.

        Waiting changes are rejected if the change that they wait for would now be late.
        """
        if isinstance(step, Punctuation):
            name = "the watermark"
            previous = self.watermark
            self.watermark = max(previous, step.time)
        else:
            name = f"the watermark of {spell_pattern(step.key)}"
            previous = self._watermarks.get(step.key, EARLIEST)
            self._watermarks[step.key] = max(previous, step.time)
        if step.time < previous:
            self._reject(step, f"{name} goes back from {previous} to {step.time}")
        for event_name in list(self._waiting):
            self._reject_late(event_name)

    def _reject_late(self, event_name: _EventName) -> None:
        """Reject the changes of an event that wait for a change that can no longer come."""
        key, _, start = event_name
        waiting = self._waiting.pop(event_name)
        watermark = self.watermark_of(key)
        event = _state_after(self._trails[event_name])
        late: list[KeyedChange] = []
        # Nothing comes any more at the end of the stream, nor for an event that ended before the watermark.
        if watermark == INFINITY or _end(start, event) < watermark:
            late = waiting
        # The missing change would be late. With it, the waiting changes below the watermark are rejected. The others
        # wait on: a change that is not late may yet complete them.
        elif _has_gap(waiting, watermark):
            late = [step for step in waiting if step.change.sync_time < watermark]
        still_waiting = [step for step in waiting if step not in late]
        if still_waiting:
            self._waiting[event_name] = still_waiting
        for step in late:
            self._reject(step, _misfit(step, event))

    def _reject(self, step: Step, message: str) -> None:
        """Raise `StreamError` with a message if the history is strict, and otherwise list the step as illegal."""
        if self._is_strict:
            raise StreamError(message, step=step, watermark=self.watermark)
        self.illegal.append(step)


def _misfit(step: KeyedChange, event: Event[object] | None) -> str:
    """Explain why a change does not apply to an event as it is; the event is None if it is not alive."""
    if isinstance(step.change, Insertion):
        return f"{_spell(step)}, but that event is alive: {event}"
    return f"{_spell(step)} expects {step.change.event}, but the event is {event or 'gone'}"


def _lateness(step: KeyedChange, watermark: int) -> str:
    """Explain that a change comes too late for the watermark of its key."""
    return (
        f"{_spell(step)} has the sync time {step.change.sync_time}, below the watermark {watermark}\n"
        "  expected: no change of the axis before the watermark\n"
        "  to test an engine with such a change: Script(allow_illegal=True)"
    )


def _has_gap(waiting: Sequence[KeyedChange], watermark: int) -> bool:
    """Return True if the waiting changes of an event depend on a change below a watermark, which is too late.

    A change expects the event with one end, and leaves it with another one. In a complete chain each end is expected as
    often as it is left. So a change is missing if an end below the watermark is expected more often, or less often,
    than these changes leave it.
    """
    start = waiting[0].change.event.start
    surplus: Counter[int] = Counter()
    for step in waiting:
        surplus[_end(start, _state_after([step]))] += 1
        surplus[_end(start, _expected(step))] -= 1
    return any(count and end < watermark for end, count in surplus.items())


def _end(start: int, event: Event[object] | None) -> int:
    """Return the end of an event; if it is deleted, and so None, the tick at which it started."""
    return start if event is None else event.end


def _trail(changes: Sequence[KeyedChange]) -> tuple[list[KeyedChange], list[KeyedChange]]:
    """Order the changes of one event so that each applies to the state that the previous one left.

    This is Hierholzer's algorithm for an Eulerian trail: the states of the event are nodes and its changes are edges.
    A first walk goes on as far as possible. It may skip a detour: changes that lead from a state back to that state.
    Then each place of the trail is searched for such detours, which are inserted there.

    Returns:
        The changes in order, and those that fit nowhere.
    """
    trail, unused = _walk(state=None, changes=changes)
    place = 0
    while place <= len(trail):
        state = _state_after(trail[:place])
        detour, left_over = _walk(state, unused)
        # Only the part that leads back may be inserted.
        while detour and _state_after(detour) != state:
            left_over.append(detour.pop())
        if detour:
            trail[place:place] = detour
            unused = left_over
        else:
            place += 1
    return trail, unused


def _walk(state: Event[object] | None, changes: Sequence[KeyedChange]) -> tuple[list[KeyedChange], list[KeyedChange]]:
    """Apply changes to an event, or to nothing, until none applies; return the applied changes and the others."""
    walk: list[KeyedChange] = []
    unused = list(changes)
    while (place := _first_that_applies(unused, state)) is not None:
        walk.append(unused.pop(place))
        state = _state_after(walk)
    return walk, unused


def _first_that_applies(changes: Sequence[KeyedChange], state: Event[object] | None) -> int | None:
    """Return the place of the first change that applies to a state; None if there is none."""
    for place, step in enumerate(changes):
        if _expected(step) == state:
            return place
    return None


def _expected(step: KeyedChange) -> Event[object] | None:
    """Return the state of the event to which a change applies; None for an insertion, which expects no event."""
    return None if isinstance(step.change, Insertion) else step.change.event


def _state_after(trail: Sequence[KeyedChange]) -> Event[object] | None:
    """Return the event after the last change of a trail; None if it is deleted, or not inserted yet."""
    if not trail:
        return None
    change = trail[-1].change
    if isinstance(change, Insertion):
        return change.event
    return None if change.is_retraction else Event(change.event.start, change.new_end, change.event.payload)


def _spell(step: KeyedChange) -> str:
    """Name a change by its kind, the id of its event and its key."""
    change = "the insertion" if isinstance(step.change, Insertion) else "the revision"
    key = "" if step.key is None else f" of key {step.key!r}"
    return f"{change} of event {step.change.id!r}{key}"
