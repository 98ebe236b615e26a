"""The rows of a batch that are admitted one by one, as the general evaluator admits them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin_engine.core.changes import InputChange, Key, Rejection, canonical
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.evaluators.arrays.key_table import KeyTable
from muntin_engine.evaluators.arrays.lifting import NO_KEYS
from muntin_engine.evaluators.keyed.admission import Admission
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import Identity, KeyEvents
from muntin_engine.evaluators.revised.events import Events, LiveEvents
from muntin_engine.evaluators.revised.identities import hashes_of
from muntin_engine.evaluators.revised.waiting import WaitingRows
from muntin_engine.exchange.intake import tuples_of


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

    def events(self, schema: pa.Schema) -> Events:
        """Return the new events; `schema` is that of their rows."""
        codes = np.array([code for code, _ in self.new], np.int64)
        starts = np.array([event.start for _, event in self.new], np.int64)
        ends = np.array([event.end for _, event in self.new], np.int64)
        columns = zip(*((_identity(event)[0], *event.payload) for _, event in self.new), strict=True)
        arrays = [pa.array(values, part.type) for values, part in zip(columns, schema, strict=True)]
        return Events(codes, starts, starts, ends, pa.table(arrays, schema=schema))


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
    table = keys.take(np.array(codes, np.int64))
    names = tuples_of(table, [name for name in table.column_names if name != NO_KEYS])
    for code, name in zip(codes, names, strict=True):
        state, own = KeyEvents(query), known.get(code, ())
        state.pending = dict(waiting.by_key.get(code, {}))
        state.events.replace((), [event for _, event in own])
        places = {event.id: place for place, event in own}
        admission = Admission(state, before, axis=query.axis)
        admission.admit(changes.get(code, ()), now)
        assert not admission.inserted, "rows without an id are rejected before the shuffle"
        waiting.put(code, state.pending)
        found.rejections += [(canonical(name), rejection) for rejection in admission.rejections]
        for identity, (old, new) in admission.touched.items():
            if old is not None and new is not None and new.payload is old.payload:
                found.moved.append((places[identity], new.end))
                continue
            if old is not None:
                (found.deleted if new is None else found.replaced).append(places[identity])
            if new is not None:
                found.new.append((code, new))
    return found


def _known(live: LiveEvents, names: Sequence[tuple[int, Hashable, int]]) -> dict[int, list[tuple[int, StoredEvent]]]:
    """Return by key the live events that have some codes, ids and starts, each with its place."""
    if not names or not len(live):
        return {}
    some_codes, some_ids, some_starts = zip(*names, strict=True)
    codes, starts = np.array(some_codes, np.int64), np.array(some_starts, np.int64)
    ids = np.fromiter(some_ids, live.id_type, len(names))
    places = live.find(codes, ids, starts, hashes_of(codes, ids, starts))
    rows = np.flatnonzero(places >= 0)
    events = live.take(places[rows])
    payloads = tuples_of(events.rows, events.rows.column_names[1:])
    found: dict[int, list[tuple[int, StoredEvent]]] = {}
    for row, place, end, payload in zip(
        rows.tolist(), places[rows].tolist(), events.ends.tolist(), payloads, strict=True
    ):
        code, id, start = names[row]
        found.setdefault(code, []).append((place, StoredEvent((id, start), start, end, payload, start, end)))
    return found


def _identity(event: StoredEvent) -> Identity:
    identity: Hashable = event.id
    assert isinstance(identity, tuple)
    return identity
