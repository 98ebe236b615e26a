"""What a stream has said up to a point: which events are alive, and what punctuation forbids."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from muntin.axis import EARLIEST
from muntin.changes import Insertion, Punctuation, Revision
from muntin.errors import StreamError
from muntin.events import Event
from muntin.testing.batches import KeyedChange, Step


class Ledger:
    """Takes the steps of a stream one by one and keeps the legal ones.

    A change is illegal if its sync time lies below an earlier punctuation (SI-17), if it inserts an id that is
    alive, or if it revises an event that is not as the revision expects. A revision may come before the insertion of
    its event; it then waits for it.

    Attributes:
        punctuation: The highest so far.
        accepted: The legal changes per key, each revision after the insertion of its event.
        refused: The illegal steps, where the ledger is not strict.
    """

    def __init__(self, *, is_strict: bool = True) -> None:
        """Prepare for the first step; a strict ledger raises on an illegal one."""
        self.punctuation = EARLIEST
        self.accepted: dict[Hashable, list[Insertion[Any] | Revision[Any]]] = {}
        self.refused: list[Step] = []
        self._is_strict = is_strict
        self._alive: dict[tuple[Hashable, Hashable], Event[Any]] = {}
        self._inserted: set[tuple[Hashable, Hashable]] = set()
        self._waiting: dict[tuple[Hashable, Hashable], list[KeyedChange]] = {}

    def take(self, step: Step) -> None:
        """Take the next step.

        Raises:
            StreamError: The step is illegal, and the ledger is strict.
        """
        if isinstance(step, Punctuation):
            self._punctuate(step)
        elif isinstance(step, KeyedChange) and not self._is_late(step):
            self._change(step)

    def event(self, key: Hashable, id: Hashable) -> Event[Any] | None:
        """Return an event as it is now, or None if it is not alive."""
        return self._alive.get((key, id))

    def keys_of(self, id: Hashable) -> list[Hashable]:
        """Return the keys that have an event of that id alive."""
        return [key for key, alive in self._alive if alive == id]

    def _punctuate(self, step: Punctuation) -> None:
        if step.time < self.punctuation:
            self._refuse(step, f"punctuation goes back from {self.punctuation} to {step.time}")
        self.punctuation = max(self.punctuation, step.time)

    def _is_late(self, step: KeyedChange) -> bool:
        is_late = step.change.sync_time < self.punctuation
        if is_late:
            self._refuse(
                step,
                f"{_spell(step)} has the sync time {step.change.sync_time}, below the punctuation {self.punctuation}\n"
                "  expected: no change of the axis before the punctuation\n"
                "  to test an engine with such a change: Script(allow_illegal=True)",
            )
        return is_late

    def _change(self, step: KeyedChange) -> None:
        place = (step.key, step.change.id)
        if isinstance(step.change, Insertion):
            self._insert(step, place)
        elif place in self._inserted:
            self._revise(step, place)
        else:
            self._waiting.setdefault(place, []).append(step)

    def _insert(self, step: KeyedChange, place: tuple[Hashable, Hashable]) -> None:
        if place in self._alive:
            self._refuse(step, f"{_spell(step)}, but that event is alive: {self._alive[place]}")
            return
        self._inserted.add(place)
        self._accept(step, place, step.change.event)
        for waiting in self._waiting.pop(place, []):
            self._revise(waiting, place)

    def _revise(self, step: KeyedChange, place: tuple[Hashable, Hashable]) -> None:
        known, change = self._alive.get(place), step.change
        if known is None or known != change.event:
            self._refuse(step, f"{_spell(step)} expects {change.event}, but the event is {known}")
        elif isinstance(change, Revision):
            revised = None if change.is_retraction else Event(known.start, change.new_end, known.payload)
            self._accept(step, place, revised)

    def _accept(self, step: KeyedChange, place: tuple[Hashable, Hashable], event: Event[Any] | None) -> None:
        self.accepted.setdefault(step.key, []).append(step.change)
        if event is None:
            del self._alive[place]
        else:
            self._alive[place] = event

    def _refuse(self, step: Step, message: str) -> None:
        if self._is_strict:
            raise StreamError(message, step=step, punctuation=self.punctuation)
        self.refused.append(step)


def _spell(step: KeyedChange) -> str:
    verb = "the insertion" if isinstance(step.change, Insertion) else "the revision"
    return f"{verb} of event {step.change.id!r}" + ("" if step.key is None else f" of key {step.key!r}")
