"""The rows of events that are admitted one by one, as the general evaluator admits them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin_engine.evaluators.arrays.store.event_store import EventStore
from muntin_engine.evaluators.arrays.store.live_events import LiveEvents
from muntin_engine.evaluators.arrays.store.waiting_rows import identities_of
from muntin_engine.evaluators.arrays.stretches.key_table import keys_in
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS
from muntin_engine.evaluators.keyed.admission import Admission
from muntin_engine.evaluators.keyed.event_index import StoredEvent
from muntin_engine.evaluators.keyed.key_events import Identity, KeyEvents
from muntin_engine.evaluators.keyed.lateness import LateRule
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import InputChange, Key, Rejection, canonical
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.event_ids import id_array
from muntin_engine.wire.python_values import tuples_of


@dataclass(slots=True)
class SingleChanges:
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

    def event_rows(self, schema: pa.Schema) -> pa.Table:
        """Return the id and the payload of each new event as a table with a schema, which begins with the id."""
        id_field, *payload_fields = schema
        ids = [identity_of(event)[0] for _, event in self.new]
        arrays = [id_array(ids, id_field.type)]
        for place, part in enumerate(payload_fields):
            values = [event.payload[place] for _, event in self.new]
            arrays.append(arrow_array(values, part.type))
        return pa.table(arrays, schema=schema)

    def add(self, code: int, admission: Admission, places: Mapping[Hashable, int]) -> None:
        """Add what the admission of a key changed.

        Args:
            code: The code of the key.
            admission: The admission.
            places: The place of each live event of the key, by its id there.
        """
        self.new += [(code, event) for event in admission.inserted]
        for identity, (old, new) in admission.touched.items():
            if old is not None and new is not None and new.payload is old.payload:
                self.moved.append((places[identity], new.end))
                continue
            if old is not None and new is None:
                self.deleted.append(places[identity])
            elif old is not None:
                self.replaced.append(places[identity])
            if new is not None:
                self.new.append((code, new))


def admit_single_rows(
    query: EvaluatorQuery,
    store: EventStore,
    changes: Mapping[int, Sequence[InputChange]],
    previous: InputsProgress,
    progress: InputsProgress,
) -> SingleChanges:
    """Admit rows one by one; and those that waited, of the keys of these rows or, when the watermark has moved, of all.

    Cost: that of the general evaluator's admission, and of making values of Python of the rows and of their events.

    Args:
        query: The query.
        store: The store, with the events before the batch; rows that wait are put there.
        changes: Rows of the batch by the codes of their keys; if there is one of an event, all of that event.
        previous: The progress before the batch.
        progress: The progress after it.
    """
    watermark = previous.least.watermark
    next_watermark = progress.least.watermark
    waiting = store.waiting
    codes = [*changes]
    if watermark < next_watermark:
        codes = [*dict.fromkeys([*changes, *waiting.by_key])]
    live_events = _live_events_of(store.live, _names_of(codes, changes, waiting.by_key))
    keys = keys_in(store.keys.take(np.array(codes, np.int64))) if codes else []
    single = SingleChanges()
    for code, key in zip(codes, map(canonical, keys), strict=True):
        key_events = live_events.get(code, ())
        state = KeyEvents(query)
        state.pending = dict(waiting.by_key.get(code, {}))
        state.events.replace((), [event for _, event in key_events])
        admission = Admission(state, LateRule(watermark, watermark, query.axis))
        admission.admit(changes.get(code, ()), next_watermark)
        waiting.put(code, state.pending)
        single.rejections += [(key, rejection) for rejection in admission.rejections]
        single.add(code, admission, {event.id: place for place, event in key_events})
    return single


def _names_of(
    codes: Sequence[int],
    changes: Mapping[int, Sequence[InputChange]],
    waiting: Mapping[int, Mapping[Identity, object]],
) -> list[tuple[int, Hashable, int]]:
    """Return the code, the id and the start of each event that rows of keys are about, new ones and waiting ones."""
    names: list[tuple[int, Hashable, int]] = []
    for code in codes:
        identities: dict[tuple[Hashable, int], None] = {}
        for row in changes.get(code, ()):
            identities[row.id, row.start] = None
        identities |= dict.fromkeys(waiting.get(code, ()))
        names += [(code, id, start) for id, start in identities]
    return names


def identity_of(event: StoredEvent) -> Identity:
    """Return the id of an event, and the start that it was inserted with."""
    identity: Hashable = event.id
    assert isinstance(identity, tuple)
    return identity


def _live_events_of(
    live: LiveEvents, names: Sequence[tuple[int, Hashable, int]]
) -> dict[int, list[tuple[int, StoredEvent]]]:
    """Return by key the live events that have some codes, ids and starts, each with its place."""
    if not names or not len(live):
        return {}
    identities = identities_of(names, is_whole=live.has_whole_ids)
    places = live.find(identities, identities.hashes())
    rows = np.flatnonzero(places >= 0)
    events = live.bare(places[rows])
    table = events.parts[ROWS].table
    payloads = tuples_of(table, table.column_names[1:])
    columns = (rows.tolist(), places[rows].tolist(), events.high.tolist(), payloads)
    by_key: dict[int, list[tuple[int, StoredEvent]]] = {}
    for row, place, end, payload in zip(*columns, strict=True):
        code, id, start = names[row]
        event = StoredEvent((id, start), start, end, payload, start, end)
        by_key.setdefault(code, []).append((place, event))
    return by_key
