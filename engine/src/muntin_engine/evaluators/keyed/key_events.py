"""The events of one key and input between micro-batches, and the rows that wait for others of their event."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, compress
from typing import Any, Final, Self, TypeAlias

from sortedcontainers import SortedDict

from muntin import EARLIEST, INFINITY, LatePolicy, Window
from muntin_engine.errors import StateError
from muntin_engine.evaluators.keyed.event_index import EventIndex, StoredEvent, in_order, stored_event
from muntin_engine.evaluators.keyed.row_chain import EventState, PendingRows
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.stored_bucket import HeldRow, NamedInput, StoredStates, payload_of, waiting_row
from muntin_engine.time.changes import InputChange

DECODED: Final = 10
"""The memory of a decoded state as a multiple of its records' size, roughly."""

ALWAYS: Final = Window(EARLIEST, INFINITY)
"""Stands for a window or tick that is not known yet, in messages about a module's state."""

Neighbour: TypeAlias = tuple[int, Hashable]
"""The time of a sample and the id of its event."""

Identity: TypeAlias = tuple[Hashable, int]
"""Identifies an event among those of its key: its id, and the start that it was inserted with."""


class Samples:
    """The times of a key's samples with the ids of their events. Every operation is logarithmic."""

    def __init__(self, samples: Iterable[Neighbour] = ()) -> None:
        self._ids: SortedDict[int, Hashable] = SortedDict(samples)

    def add(self, at: int, id: Hashable) -> None:
        """Add a sample."""
        self._ids[at] = id

    def discard(self, at: int) -> None:
        """Remove the sample at a time, if there is one."""
        self._ids.pop(at, None)

    def has(self, at: int) -> bool:
        """Return True if there is a sample at a time."""
        return at in self._ids

    def around(self, at: int) -> tuple[Neighbour | None, Neighbour | None]:
        """Return the last sample at a time or before it, and the first after it."""
        place = self._ids.bisect_right(at)
        before = self._ids.peekitem(place - 1) if place > 0 else None
        after = self._ids.peekitem(place) if place < len(self._ids) else None
        return before, after


class KeyEvents:
    """The events of one key and input that something needs, or that may still be revised.

    Subclasses say for how long an event is needed, its membership, and add what they keep besides events.

    Attributes:
        query: How events come.
        events: The events.
        pending: The rows that wait for others of their event.
        key_watermark: The key's own watermark, if it is beyond that of the input.
        samples: The times of an edge stream's samples; None where events are no samples.
        serial: The last serial number.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Start a key, with the largest serial number that may be in use already, by this key or another."""
        self.query = query
        self.events = EventIndex([])
        self.pending: dict[Identity, PendingRows] = {}
        self.samples = Samples() if query.is_edge else None
        self.serial = serial
        self.key_watermark = EARLIEST

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return not (self.events.size or self.pending or self.key_watermark > EARLIEST)

    @property
    def waiting(self) -> list[InputChange]:
        """The rows that wait for others of their event."""
        return [row for waiting in self.pending.values() for row in waiting.rows] if self.pending else []

    @property
    def held_count(self) -> int:
        """The number of events that are kept."""
        return self.events.size

    @property
    def held_windows(self) -> int:
        """The number of windows that are kept: none, unless a subclass has some."""
        return 0

    @property
    def plain_count(self) -> int:
        """The number of events, if nothing besides them takes room worth speaking of; otherwise 0."""
        return 0 if self.pending or self.key_watermark > EARLIEST else self.events.size

    def memory(self, size: int) -> int:
        """Return the memory that it takes in bytes, roughly, if its records have so many bytes."""
        return DECODED * size

    def event(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id, or None."""
        return self.events.get(id)

    def next_serial(self) -> int:
        """Return a number this key has not used yet."""
        self.serial += 1
        return self.serial

    def anonymous_ids(self, starts: Sequence[int]) -> Sequence[Hashable]:
        """Make ids for events that have none, from their starts; they cannot equal one of the input."""
        first = self.serial + 1
        self.serial += len(starts)
        serials = range(first, self.serial + 1)
        if not self.query.names_events:
            return serials
        return [(("anonymous", serial), start) for serial, start in zip(serials, starts, strict=True)]

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch for which an event with a lifetime is needed: here the lifetime itself."""
        return start, end

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the starts and the ends of the memberships of many lifetimes."""
        return starts, ends

    def replace(self, gone: Sequence[StoredEvent], new: Sequence[StoredEvent]) -> None:
        """Remove some events, and add others except those that nothing needs and nothing revises."""
        kept = new if self.query.event_ends_move else [event for event in new if event.since < event.until]
        self.events.replace(gone, kept)

    def forgot(self, events: Iterable[StoredEvent]) -> None:
        """Hear that the index has forgotten events for good."""
        if self.samples is not None:
            for event in events:
                self.samples.discard(event.start)

    def track(self) -> None:
        """Take the state for stored as it is, and track its changes from now on."""
        self.events.track()

    def waiting_times(self, watermark: int) -> list[int]:
        """Return the watermarks at which rows stop waiting for others of their event, or the key's own is reached."""
        times = [self.key_watermark] if self.key_watermark > EARLIEST else []
        for identity, waiting in self.pending.items():
            event, (_, start) = self.event(identity), identity
            nodes = {start, *(end for row in waiting.rows for end in (row.end, row.new_end) if end is not None)}
            nodes |= set() if event is None else {event.end}  # nothing can follow an event that has ended
            times += [node + 1 for node in nodes if watermark <= node < INFINITY]
        return times

    def held_rows(self, states: StoredStates, inputs: Sequence[NamedInput]) -> Iterator[HeldRow]:
        """Yield what is held, for readers of a checkpoint; the caller knows the key.

        Args:
            states: Tells what modules keep.
            inputs: The name and the properties of each input.
        """
        del states
        ((name, given),) = inputs
        of_input = HeldRow("event", (), EARLIEST, INFINITY, None, input=name)
        for event in self.events:
            kind = "filtered" if event.is_filtered else "event"
            row = of_input._replace(kind=kind, start=event.start, end=event.end, events=1)
            yield row._replace(value=payload_of(given, event.payload), id=self.id_of(event.id))
        for waiting in self.waiting:
            yield waiting_row(given, waiting)._replace(input=name)
        if self.key_watermark > EARLIEST:
            yield of_input._replace(kind="watermark", start=self.key_watermark)

    def id_of(self, id: Hashable) -> Hashable:
        """Return the id that the input gave an event; None if it gave none."""
        named = id[0] if self.query.names_events and isinstance(id, tuple) else None
        return None if isinstance(named, tuple) and named[0] == "anonymous" else named

    @property
    def tracks(self) -> bool:
        """True if the changes since the state was stored are known."""
        return self.events.tracks

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data, events column by column, or its difference to the stored state.

        The difference has the ids of stored events that are gone, and further events, with all else.

        Raises:
            StateError: A module's state cannot be stored.
        """
        del serializer, key
        has_ids = self.query.names_events
        gone: list[Any]
        gone, events = ([], self.events.ordered) if is_whole else self.events.changes()
        pending = [
            [*identity, [list(row[2:]) for row in waiting.rows], list(waiting.base) if waiting.base else None]
            for identity, waiting in self.pending.items()
        ]
        ids, starts, ends, payloads, *_ = zip(*events, strict=True) if events else ((), (), (), ())
        widths = set(map(len, payloads))
        if len(widths) > 1:
            raise StateError(f"the rows of one query must have equally many values, got {sorted(widths)}")
        return [
            self.serial,
            [list(column) for column in zip(*gone, strict=True)] if has_ids else [gone],
            [id for id, _ in ids] if has_ids else list(ids),
            [start for _, start in ids] if has_ids and self.query.late.policy is LatePolicy.ADJUST else [],
            list(starts),
            list(ends),
            max(widths, default=0),
            list(chain.from_iterable(payloads)),
            pending,
            self.key_watermark,
        ]

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> Self:
        """Return the state that `to_data` wrote, with the differences after it; older schema versions are upgraded.

        Raises:
            ModuleFailedError: A module's `upgrade_state` raised an exception.
        """
        del serializer, key
        state = cls(query)
        state.restore(stored)
        return state

    def restore(self, stored: Sequence[list[Any]], *, is_ordered: bool = False) -> None:
        """Take in the events and the waiting rows of records.

        Args:
            stored: As for `from_data`. What the memberships of events depend on is restored already.
            is_ordered: True if the events are in the order of an index.
        """
        self.serial, *_, pending, self.key_watermark = stored[-1]
        ids, starts, ends, payloads = _events_of(stored, has_ids=self.query.names_events)
        events = list(map(stored_event, zip(ids, starts, ends, payloads, *self.memberships(starts, ends), strict=True)))
        if (keeps := self.query.keeps) is not None:
            events = [event if keeps(event.payload) else event.filtered() for event in events]
        if not is_ordered:
            events.sort(key=in_order)
        self.events = EventIndex(events)
        if self.samples is not None:
            self.samples = Samples((event.start, event.id) for event in events)
        for id, start, rows, base in pending:
            waiting = tuple(InputChange(id, start, end, tuple(payload), *more) for end, payload, *more in rows)
            before = EventState(base[0], base[1], tuple(base[2])) if base else None
            self.pending[id, start] = PendingRows(waiting, before)


def payloads_of(values: Sequence[Any], width: int, count: int) -> list[tuple[Any, ...]]:
    """Return so many payloads from their values, one payload after the other."""
    return list(zip(*[iter(values)] * width, strict=True)) if width else [()] * count


def _events_of(stored: Sequence[list[Any]], *, has_ids: bool) -> Sequence[Sequence[Any]]:
    """Return the ids, the starts, the ends and the payloads of stored events, after all changes of them."""
    dead: set[Hashable] = set()
    parts: list[Sequence[Sequence[Any]]] = []
    for _, gone, ids, origins, starts, ends, width, values, *_ in reversed(stored):
        payloads = payloads_of(values, width, len(ids))
        names = list(zip(ids, origins or starts, strict=True)) if has_ids else ids
        columns: Sequence[Sequence[Any]] = (names, starts, ends, payloads)
        if dead:
            is_live = [name not in dead for name in names]
            columns = [list(compress(column, is_live)) for column in columns]
        parts.append(columns)
        dead.update(zip(*gone, strict=True) if has_ids else chain(*gone))
    return parts[0] if len(parts) == 1 else [list(chain(*reversed(some))) for some in zip(*parts, strict=True)]
