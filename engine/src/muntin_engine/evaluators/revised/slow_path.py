"""The rows that are admitted one by one, as the general evaluator admits them, and those that wait for others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import msgpack
import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import Array, IntArray
from muntin_engine.evaluators.arrays.key_table import KeyTable, keys_in
from muntin_engine.evaluators.arrays.stretch_table import ROWS
from muntin_engine.evaluators.keyed.admission import Admission
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import Identity, KeyEvents
from muntin_engine.evaluators.keyed.lateness import LateRule
from muntin_engine.evaluators.keyed.row_chain import EventState, PendingRows
from muntin_engine.evaluators.revised.events import HashArray, LiveEvents, hashes_of
from muntin_engine.modules.evaluator_query import EvaluatorQuery
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import InputChange, Key, Rejection, canonical
from muntin_engine.wire.blobs import from_blob, to_blob
from muntin_engine.wire.event_ids import id_array
from muntin_engine.wire.python_values import tuples_of


class WaitingRows:
    """The rows of a bucket that wait. There are few, if senders keep the order of an event's rows.

    Attributes:
        by_key: For the code of each key with such rows, these by event.
    """

    def __init__(self) -> None:
        self.by_key: dict[int, dict[Identity, PendingRows]] = {}

    @property
    def rows(self) -> list[InputChange]:
        """All of them, in no order."""
        return [row for events in self.by_key.values() for some in events.values() for row in some.rows]

    @property
    def codes(self) -> IntArray:
        """The codes of the keys."""
        return np.array(sorted(self.by_key), np.int64)

    def put(self, code: int, events: Mapping[Identity, PendingRows]) -> None:
        """Set the rows of a key."""
        self.by_key.pop(code, None)
        if events:
            self.by_key[code] = dict(events)

    def hashes(self, *, is_whole: bool) -> HashArray:
        """Return the numbers of the events' identities; `is_whole` says that their ids are whole numbers."""
        names = [(code, *identity) for code, events in self.by_key.items() for identity in events]
        return hashes_of(*_columns(names, is_whole=is_whole))

    def renumber(self, places: IntArray) -> None:
        """Give each key its new code."""
        self.by_key = {int(places[code]): events for code, events in self.by_key.items()}

    def to_bytes(self, keys: KeyTable, codec: Codec, schema: pa.Schema) -> bytes:
        """Return all rows as bytes, with the schema of the columns of events."""
        named = [
            [
                [*identity, [list(row[2:]) for row in some.rows], list(some.base) if some.base else None]
                for identity, some in events.items()
            ]
            for events in self.by_key.values()
        ]
        codes = np.array(list(self.by_key), np.int64)
        blobs = map(to_blob, (keys.take(codes), schema.empty_table()))
        packed: bytes = msgpack.packb([*blobs, codec.pack(named)])
        return packed

    def restore(self, data: bytes, keys: KeyTable, codec: Codec) -> pa.Schema:
        """Take the rows that `to_bytes` wrote, and return the schema."""
        blob, of_events, packed = msgpack.unpackb(data)
        codes = keys.codes(from_blob(blob)).tolist()
        for code, events in zip(codes, codec.unpack(packed), strict=True):
            found = self.by_key.setdefault(code, {})
            for id, start, rows, base in events:
                waiting = tuple(InputChange(id, start, end, tuple(payload), *more) for end, payload, *more in rows)
                before = EventState(base[0], base[1], tuple(base[2])) if base else None
                found[id, start] = PendingRows(waiting, before)
        schema: pa.Schema = from_blob(of_events).schema
        return schema


@dataclass(slots=True)
class Admitted:
    """The outcome of rows that were admitted one by one.

    Attributes:
        rejections: The late and rejected ones, by key.
        new: The codes of the keys of new events, and these.
        moved: The places of the live events that end elsewhere, and their new ends.
        deleted: The places of the live events that are there no more.
        replaced: The places of those that are among the new ones now, with another payload.
    """

    rejections: list[tuple[Key, Rejection]] = field(default_factory=list)
    new: list[tuple[int, StoredEvent]] = field(default_factory=list)
    moved: list[tuple[int, int]] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)

    def rows(self, schema: pa.Schema) -> pa.Table:
        """Return the id and the payload of each new event as a table with a schema, which begins with the id."""
        id_field, *payload_fields = schema
        ids = [identity_of(event)[0] for _, event in self.new]
        arrays = [id_array(ids, id_field.type)]
        for place, part in enumerate(payload_fields):
            values = [event.payload[place] for _, event in self.new]
            arrays.append(pa.array(values, part.type))
        return pa.table(arrays, schema=schema)


def admit(
    query: EvaluatorQuery,
    keys: KeyTable,
    live: LiveEvents,
    waiting: WaitingRows,
    changes: Mapping[int, Sequence[InputChange]],
    watermarks: tuple[int, int],
) -> Admitted:
    """Admit rows one by one; and those that waited, of the keys of these rows or, when the watermark has moved, of all.

    Cost: that of the general evaluator's admission, and of making values of Python of the rows and of their events.

    Args:
        query: The query.
        keys: The keys.
        live: The events before the batch.
        waiting: The rows that wait; those of the batch that have to join them.
        changes: Rows of the batch by the codes of their keys; if there is one of an event, all of that event.
        watermarks: Those before the batch and after it.
    """
    found, (before, now) = Admitted(), watermarks
    codes = [*dict.fromkeys([*changes, *(waiting.by_key if before < now else ())])]
    named = {
        code: dict.fromkeys([*((row.id, row.start) for row in changes.get(code, ())), *waiting.by_key.get(code, ())])
        for code in codes
    }
    known = _known(live, [(code, *identity) for code, some in named.items() for identity in some])
    names = keys_in(keys.take(np.array(codes, np.int64))) if codes else []
    for code, name in zip(codes, map(canonical, names), strict=True):
        state, own = KeyEvents(query), known.get(code, ())
        state.pending = dict(waiting.by_key.get(code, {}))
        state.events.replace((), [event for _, event in own])
        places = {event.id: place for place, event in own}
        admission = Admission(state, LateRule(before, before, query.axis))
        admission.admit(changes.get(code, ()), now)
        found.new += [(code, new) for new in admission.inserted]
        waiting.put(code, state.pending)
        found.rejections += [(name, rejection) for rejection in admission.rejections]
        for identity, (old, new) in admission.touched.items():
            if old is not None and new is not None and new.payload is old.payload:
                found.moved.append((places[identity], new.end))
                continue
            if old is not None:
                (found.deleted if new is None else found.replaced).append(places[identity])
            if new is not None:
                found.new.append((code, new))
    return found


def identity_of(event: StoredEvent) -> Identity:
    """Return the id of an event, and the start that it was inserted with."""
    identity: Hashable = event.id
    assert isinstance(identity, tuple)
    return identity


def _known(live: LiveEvents, names: Sequence[tuple[int, Hashable, int]]) -> dict[int, list[tuple[int, StoredEvent]]]:
    """Return by key the live events that have some codes, ids and starts, each with its place."""
    if not names or not len(live):
        return {}
    columns = _columns(names, is_whole=live.has_whole_ids)
    places = live.find(*columns, hashes_of(*columns))
    rows = np.flatnonzero(places >= 0)
    events = live.bare(places[rows])
    table = events.parts[ROWS].table
    payloads = tuples_of(table, table.column_names[1:])
    found: dict[int, list[tuple[int, StoredEvent]]] = {}
    for row, place, end, payload in zip(
        rows.tolist(), places[rows].tolist(), events.high.tolist(), payloads, strict=True
    ):
        code, id, start = names[row]
        found.setdefault(code, []).append((place, StoredEvent((id, start), start, end, payload, start, end)))
    return found


def _columns(names: Sequence[tuple[int, Hashable, int]], *, is_whole: bool) -> tuple[IntArray, Array, IntArray]:
    """Return the codes, ids and starts of identities."""
    codes, ids, starts = zip(*names, strict=True) if names else ((), (), ())
    of_type = np.fromiter(ids, np.int64 if is_whole else np.object_, len(ids))
    return np.array(codes, np.int64), of_type, np.array(starts, np.int64)
