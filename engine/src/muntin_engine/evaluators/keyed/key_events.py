"""The events of one key and input between micro-batches, and the rows that wait for others of their event."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, compress
from typing import Any, Final, NamedTuple, Self, TypeAlias

from sortedcontainers import SortedDict

from muntin import EARLIEST, INFINITY, LatePolicy, Window
from muntin_engine.errors import StateError
from muntin_engine.evaluators.keyed.event_index import EventIndex, StoredEvent, in_order, stored_event
from muntin_engine.evaluators.keyed.row_chain import EventState, PendingRows
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_reader import NamedInput, StateReader, StateRow, payload_of, waiting_row
from muntin_engine.time.changes import InputChange

DECODED: Final = 10
"""The memory of a decoded state as a multiple of its records' size, roughly."""

ALWAYS: Final = Window(EARLIEST, INFINITY)
"""Stands for a window or tick that is not known yet, in messages about a module's state."""

Identity: TypeAlias = tuple[Hashable, int]
"""Identifies an event among those of its key: its id, and the start that it was inserted with."""


class Sample(NamedTuple):
    """A sample of a key.

    Attributes:
        time: The time of the sample.
        id: The id of its event.
    """

    time: int
    id: Hashable


class EventsData(NamedTuple):
    """The events of a key as plain data, column by column, or their difference to a saved state.

    Attributes:
        serial: The largest serial number in use.
        gone_columns: The identities of saved events that are gone, as columns: one of serial numbers, or two, of ids
            and of starts, where the input has ids.
        input_ids: The ids of the events.
        origins: The starts that events were inserted with, where late ones are adjusted; empty if they are `starts`.
        starts: The starts of the events.
        ends: The ends of the events.
        width: The number of values of each payload.
        values: The values of all payloads, one payload after the other.
        pending: The data of rows that wait for others of their event.
        key_watermark: The watermark of the key alone.
    """

    serial: int
    gone_columns: Sequence[Any]
    input_ids: list[Any]
    origins: list[int]
    starts: list[int]
    ends: list[int]
    width: int
    values: list[Any]
    pending: list[Any]
    key_watermark: int


class Samples:
    """The times of a key's samples with the ids of their events. Every operation is logarithmic."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        """Hold samples."""
        self._id_by_time: SortedDict[int, Hashable] = SortedDict(samples)

    def add(self, time: int, id: Hashable) -> None:
        """Add a sample."""
        self._id_by_time[time] = id

    def discard(self, time: int) -> None:
        """Remove the sample at a time, if there is one."""
        self._id_by_time.pop(time, None)

    def has(self, time: int) -> bool:
        """Return True if there is a sample at a time."""
        return time in self._id_by_time

    def around(self, time: int) -> tuple[Sample | None, Sample | None]:
        """Return the last sample at a time or before it, and the first after it; None where there is none."""
        previous: Sample | None = None
        following: Sample | None = None
        following_place = self._id_by_time.bisect_right(time)
        if following_place > 0:
            previous = Sample(*self._id_by_time.peekitem(following_place - 1))
        if following_place < len(self._id_by_time):
            following = Sample(*self._id_by_time.peekitem(following_place))
        return previous, following


class KeyEvents:
    """The events of one key and input that something needs, or that may still be revised.

    Subclasses say for how long an event is needed, its membership, and add the state that they keep besides events.

    Attributes:
        query: The query, with the form in which its events come.
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
        return not self.events.size and not self.pending and self.key_watermark == EARLIEST

    @property
    def pending_rows(self) -> list[InputChange]:
        """The rows of `pending`, of all events."""
        if not self.pending:
            return []
        return list(chain.from_iterable(pending.rows for pending in self.pending.values()))

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
        """Number of events if they dominate the size, else 0."""
        return 0 if self.pending or self.key_watermark > EARLIEST else self.events.size

    def memory(self, size: int) -> int:
        """Return the memory of the state in bytes, roughly, if its records have `size` bytes."""
        return DECODED * size

    def event(self, id: Hashable) -> StoredEvent | None:
        """Return the event of an id, or None."""
        return self.events.get(id)

    def next_serial(self) -> int:
        """Return a number this key has not used yet."""
        self.serial += 1
        return self.serial

    def anonymous_ids(self, starts: Sequence[int]) -> Sequence[Hashable]:
        """Give out a new id for each of several events to which the input gives no id, by the starts of the events.

        The ids are the next serial numbers of the key. Where other events of the query have ids of the input, each id
        is an `Identity` that no event of the input has.
        """
        first_serial = self.serial + 1
        self.serial += len(starts)
        serials = range(first_serial, self.serial + 1)
        if not self.query.names_events:
            return serials
        return [(("anonymous", serial), start) for serial, start in zip(serials, starts, strict=True)]

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the start and the end of the stretch for which an event is needed: here those of its lifetime."""
        return start, end

    def memberships(self, starts: Sequence[int], ends: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
        """Return the starts and the ends of the memberships of many lifetimes."""
        return starts, ends

    def replace(self, old_events: Sequence[StoredEvent], new_events: Sequence[StoredEvent]) -> None:
        """Remove events, and add others except those that nothing needs."""
        self.events.replace(old_events, self.needed_events(new_events))

    def needed_events(self, events: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
        """Return the events that are, or may become, members of windows."""
        if self.query.event_ends_move:
            return events  # a revision may still make any event a member
        return [event for event in events if event.since < event.until]

    def record_forgotten(self, events: Iterable[StoredEvent]) -> None:
        """Record that the index has forgotten events for good."""
        if self.samples is not None:
            for event in events:
                self.samples.discard(event.start)

    def track(self) -> None:
        """Mark the state as saved; record changes from now on."""
        self.events.track()

    def waiting_times(self, watermark: int) -> list[int]:
        """Return the later watermarks of the input at which the key has work besides its windows.

        That is when a row may stop waiting for other rows of its event, and when the watermark reaches the key's own,
        which is then dropped.

        Args:
            watermark: The present watermark.
        """
        times: list[int] = []
        if self.key_watermark > EARLIEST:
            times.append(self.key_watermark)
        for identity, pending in self.pending.items():
            # The rows of an event lead from its start, or an end that it may have, to another: see `row_chain`. Once
            # the watermark has passed one of these nodes, no row that leads to it or from it can come.
            _, start = identity
            nodes = {start}
            for row in pending.rows:
                nodes.update(end for end in (row.end, row.new_end) if end is not None)
            event = self.event(identity)
            if event is not None:
                nodes.add(event.end)  # nothing can follow an event that has ended
            # A row that changes the tick of a node is late once the watermark lies beyond that tick.
            times += [node + 1 for node in nodes if watermark <= node < INFINITY]
        return times

    def state_rows(self, states: StateReader, inputs: Sequence[NamedInput]) -> Iterator[StateRow]:
        """Yield the content of the state, for readers of a checkpoint; the caller knows the key.

        Args:
            states: Decodes the states of modules.
            inputs: The name and the properties of each input.
        """
        del states
        ((input_name, input_identity),) = inputs
        for event in self.events:
            yield StateRow(
                kind="filtered" if event.is_filtered else "event",
                key=(),
                start=event.start,
                end=event.end,
                value=payload_of(input_identity, event.payload),
                id=self.id_of(event.id),
                events=1,
                input=input_name,
            )
        for row in self.pending_rows:
            yield waiting_row(input_identity, row)._replace(input=input_name)
        if self.key_watermark > EARLIEST:
            yield StateRow("watermark", key=(), start=self.key_watermark, end=INFINITY, value=None, input=input_name)

    def id_of(self, id: Hashable) -> Hashable:
        """Return the id that the input gave an event; None if it gave none.

        Args:
            id: The id of the event in the index: an `Identity`, or a serial number.
        """
        if not self.query.names_events or not isinstance(id, tuple):
            return None
        input_id = id[0]
        is_anonymous = isinstance(input_id, tuple) and input_id[0] == "anonymous"
        return None if is_anonymous else input_id

    @property
    def tracks(self) -> bool:
        """True if the changes since the state was saved are recorded."""
        return self.events.tracks

    def to_data(self, serializer: StateSerializer, key: object, *, is_whole: bool = True) -> list[object]:
        """Return the state as plain data, events column by column: the fields of `EventsData`.

        Args:
            serializer: Encodes the states of modules, if a subclass has any.
            key: The key, for errors.
            is_whole: False to leave out the events that are saved already, and to list the saved ones that are gone.

        Raises:
            StateError: A module's state cannot be stored.
        """
        del serializer, key
        has_ids = self.query.names_events
        gone_ids: list[Any] = []
        if is_whole:
            events = self.events.ordered
        else:
            # The order of all events is not asked for here: it would have to be brought up to date in each batch.
            gone_ids, events = self.events.changes()
        ids: list[Any] = [event.id for event in events]
        payloads = [event.payload for event in events]
        widths = set(map(len, payloads))
        if len(widths) > 1:
            raise StateError(f"the rows of one query must have equally many values, got {sorted(widths)}")

        # Where the input has ids, the id of an event in the index is a pair: the input's id, and the start that the
        # event was inserted with.
        gone_columns = [gone_ids]
        input_ids = ids
        origins: list[int] = []
        if has_ids:
            gone_columns = [list(column) for column in zip(*gone_ids, strict=True)]
            input_ids = [id for id, _ in ids]
            # Only this policy moves starts. With any other one an event still has the start that it was inserted with.
            if self.query.late.policy is LatePolicy.ADJUST:
                origins = [start for _, start in ids]
        data = EventsData(
            serial=self.serial,
            gone_columns=gone_columns,
            input_ids=input_ids,
            origins=origins,
            starts=[event.start for event in events],
            ends=[event.end for event in events],
            width=max(widths, default=0),
            values=list(chain.from_iterable(payloads)),
            pending=[pending_to_data(identity, pending) for identity, pending in self.pending.items()],
            key_watermark=self.key_watermark,
        )
        return list(data)

    @classmethod
    def from_data(
        cls, query: EvaluatorQuery, stored: Sequence[list[Any]], serializer: StateSerializer, key: object
    ) -> Self:
        """Return the state that `to_data` wrote; states of modules of older schema versions are upgraded.

        Args:
            query: The query.
            stored: The whole state, and the differences that were written after it, in order.
            serializer: Decodes the states of modules, if a subclass has any.
            key: The key, for errors.

        Raises:
            ModuleFailedError: A module's `upgrade_state` raised an exception.
        """
        del serializer, key
        state = cls(query)
        state.restore(stored)
        return state

    def restore(self, stored: Sequence[list[Any]], *, is_ordered: bool = False) -> None:
        """Restore the events and the waiting rows from records.

        Args:
            stored: The whole state, and the differences that were written after it, in order. A subclass whose
                `memberships` depend on its own state has restored that already.
            is_ordered: True if the events are in the order of an index.
        """
        # Only events are written as differences: all else is in the last record.
        last_record = EventsData(*stored[-1])
        self.serial = last_record.serial
        self.key_watermark = last_record.key_watermark
        ids, starts, ends, payloads = _event_columns(stored, has_ids=self.query.names_events)
        memberships = self.memberships(starts, ends)
        events = list(map(stored_event, zip(ids, starts, ends, payloads, *memberships, strict=True)))
        keeps = self.query.keeps
        if keeps is not None:  # which events are filtered is not saved: it follows from their payloads
            events = [event if keeps(event.payload) else event.filtered() for event in events]
        if not is_ordered:
            events.sort(key=in_order)
        self.events = EventIndex(events)
        if self.samples is not None:
            self.samples = Samples(Sample(event.start, event.id) for event in events)
        for id, start, rows, base in last_record.pending:
            self.pending[id, start] = pending_from_data(id, start, rows, base)


def payloads_of(values: Sequence[Any], width: int, count: int) -> list[tuple[Any, ...]]:
    """Return payloads from their values, one payload after the other.

    Args:
        values: The values.
        width: The number of values of a payload.
        count: The number of payloads.
    """
    if not width:
        return [()] * count
    # `zip` gets one and the same iterator `width` times: so each payload consists of the next `width` values.
    value_iterator = iter(values)
    return list(zip(*[value_iterator] * width, strict=True))


def pending_to_data(identity: Identity, pending: PendingRows) -> list[object]:
    """Return the rows of an event that wait for others as plain data."""
    rows = [list(row[2:]) for row in pending.rows]  # all but the id and the start, which the identity has
    base = list(pending.base) if pending.base else None
    return [*identity, rows, base]


def pending_from_data(id: Hashable, start: int, rows: Sequence[Any], base: Sequence[Any] | None) -> PendingRows:
    """Return the rows of an event that `pending_to_data` wrote."""
    changes: list[InputChange] = []
    for end, payload, *further_fields in rows:
        changes.append(InputChange(id, start, end, tuple(payload), *further_fields))
    if base is None:
        return PendingRows(tuple(changes))
    base_start, base_end, base_payload = base
    return PendingRows(tuple(changes), EventState(base_start, base_end, tuple(base_payload)))


def _event_columns(stored: Sequence[list[Any]], *, has_ids: bool) -> Sequence[Sequence[Any]]:
    """Return four columns of the saved events that are not gone: their ids, starts, ends and payloads.

    Args:
        stored: The whole record, and the records of changes after it.
        has_ids: True if the input has ids.
    """
    # Backwards: the events that later records say are gone are known when an earlier record is read.
    gone_ids: set[Hashable] = set()
    columns_by_record: list[Sequence[Sequence[Any]]] = []
    for record in reversed(stored):
        data = EventsData(*record)
        payloads = payloads_of(data.values, data.width, len(data.input_ids))
        ids = data.input_ids
        if has_ids:
            ids = list(zip(data.input_ids, data.origins or data.starts, strict=True))
        columns: Sequence[Sequence[Any]] = (ids, data.starts, data.ends, payloads)
        if gone_ids:
            is_live = [id not in gone_ids for id in ids]
            columns = [list(compress(column, is_live)) for column in columns]
        columns_by_record.append(columns)

        # A record may replace an event of an earlier record: then it names the event as gone, and has it among its own.
        if has_ids:
            gone_ids.update(zip(*data.gone_columns, strict=True))
        else:
            gone_ids.update(*data.gone_columns)

    if len(columns_by_record) == 1:
        return columns_by_record[0]
    columns_by_record.reverse()
    return [list(chain.from_iterable(columns)) for columns in zip(*columns_by_record, strict=True)]
