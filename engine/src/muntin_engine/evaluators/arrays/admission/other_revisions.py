"""The rows of events that are admitted one by one, as the general evaluator admits them.

Which rows these are: see `plain_revisions`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from muntin_engine.evaluators.arrays.store.event_store import EventStore
from muntin_engine.evaluators.arrays.store.live_events import LiveEvents
from muntin_engine.evaluators.arrays.store.waiting_rows import IdentityInBucket, identities_of
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
        new_events: Each new event with the code of its key.
        moved_ends: The place of each live event that ends elsewhere, and its new end.
        deleted_places: The places of the live events that are deleted.
        replaced_places: The places of the live events that get another payload: with it they are among the new events.
    """

    rejections: list[tuple[Key, Rejection]] = field(default_factory=list)
    new_events: list[tuple[int, StoredEvent]] = field(default_factory=list)
    moved_ends: list[tuple[int, int]] = field(default_factory=list)
    deleted_places: list[int] = field(default_factory=list)
    replaced_places: list[int] = field(default_factory=list)

    def event_rows(self, schema: pa.Schema) -> pa.Table:
        """Return the id and the payload of each new event as a table.

        Args:
            schema: The columns of the table: the id, then the parts of the payload.
        """
        id_field, *payload_fields = schema
        ids = [identity_of(event)[0] for _, event in self.new_events]  # an identity is the id, then the start
        arrays = [id_array(ids, id_field.type)]
        for place, part in enumerate(payload_fields):
            values = [event.payload[place] for _, event in self.new_events]
            arrays.append(arrow_array(values, part.type))
        return pa.table(arrays, schema=schema)

    def add(self, code: int, admission: Admission, places: Mapping[Hashable, int]) -> None:
        """Add the changes that the rows of a key make.

        Args:
            code: The code of the key.
            admission: The admission of these rows, which has each changed event before and after them.
            places: The place of each live event of the key, by its identity.
        """
        self.new_events += [(code, event) for event in admission.inserted]
        for identity, (previous, present) in admission.changes_by_id.items():
            if previous is None:  # the rows insert the event
                if present is not None:  # otherwise they delete it again
                    self.new_events.append((code, present))
            elif present is None:
                self.deleted_places.append(places[identity])
            elif present.payload is previous.payload:  # the very same object: no row brought another payload
                self.moved_ends.append((places[identity], present.end))
            else:
                # The columns of a live event are never changed: with another payload it is inserted anew.
                self.replaced_places.append(places[identity])
                self.new_events.append((code, present))


def admit_single_rows(
    query: EvaluatorQuery,
    store: EventStore,
    changes: Mapping[int, Sequence[InputChange]],
    previous: InputsProgress,
    progress: InputsProgress,
) -> SingleChanges:
    """Admit rows one by one, together with the rows that wait for others of their event.

    Waiting rows are admitted if their key has rows in the batch. When the watermark moves, the waiting rows of all keys
    are admitted: their wait may end.

    Cost: that of the general evaluator's admission, and of making Python values of the rows and of their events.

    Args:
        query: The query.
        store: The store, with the events before the batch; it gets the rows that still wait after it.
        changes: Rows of the batch by the codes of their keys. If one row of an event is among them, all are.
        previous: The progress before the batch.
        progress: The progress after it.
    """
    watermark = previous.least.watermark
    next_watermark = progress.least.watermark
    waiting_rows = store.waiting
    codes = [*changes]
    if watermark < next_watermark:
        codes = [*dict.fromkeys([*changes, *waiting_rows.by_key])]  # each key once, those of the batch first
    identities = _identities_in(codes, changes, waiting_rows.by_key)
    live_events = _live_events_of(store.live, identities)
    keys = keys_in(store.keys.take(np.array(codes, np.int64))) if codes else []

    # Events with ids may be revised at any tick: their watermark is never moved back to the end of a window. So it is
    # the watermark to the tick, too.
    late_rule = LateRule(watermark=watermark, watermark_to_the_tick=watermark, axis=query.axis)

    # The general evaluator admits key by key. It gets a state with just the events that the key's rows are about.
    single = SingleChanges()
    for code, key in zip(codes, map(canonical, keys), strict=True):
        key_events = live_events.get(code, ())
        state = KeyEvents(query)
        state.pending = dict(waiting_rows.by_key.get(code, {}))
        state.events.replace(old_events=(), new_events=[event for _, event in key_events])
        admission = Admission(state, late_rule)
        admission.admit(changes.get(code, ()), next_watermark)
        waiting_rows.put(code, state.pending)
        single.rejections += [(key, rejection) for rejection in admission.rejections]
        places = {event.id: place for place, event in key_events}  # such an event has its identity as its id
        single.add(code, admission, places)
    return single


def _identities_in(
    codes: Sequence[int],
    changes: Mapping[int, Sequence[InputChange]],
    pending: Mapping[int, Mapping[Identity, object]],
) -> list[IdentityInBucket]:
    """Return the identity of each event that rows are about, each once.

    Args:
        codes: The codes of the keys.
        changes: The rows of the batch, by the codes of their keys.
        pending: The rows that wait, by the codes of their keys and by event.
    """
    identities: list[IdentityInBucket] = []
    for code in codes:
        incoming_identities = [(row.id, row.start) for row in changes.get(code, ())]
        distinct_identities = dict.fromkeys([*incoming_identities, *pending.get(code, ())])
        for id, start in distinct_identities:
            identities.append(IdentityInBucket(code, id, start))
    return identities


def identity_of(event: StoredEvent) -> Identity:
    """Return the id of an event, and the start that it was inserted with."""
    identity: Hashable = event.id
    assert isinstance(identity, tuple)
    return identity


def _live_events_of(live: LiveEvents, searched: Sequence[IdentityInBucket]) -> dict[int, list[tuple[int, StoredEvent]]]:
    """Return the live events among those searched for, by the codes of their keys, each with its place.

    Args:
        live: The live events of the bucket.
        searched: The identities of the events.
    """
    if not searched or not len(live):
        return {}
    identities = identities_of(searched, is_whole=live.has_whole_ids)
    places = live.find(identities, identities.hashes())
    is_live = places >= 0
    live_identities = [searched[row] for row in np.flatnonzero(is_live).tolist()]
    live_places = places[is_live]
    events = live.unlifted(live_places)
    table = events.parts[ROWS].table
    payloads = tuples_of(table, table.column_names[1:])  # the first column is the id

    columns = (live_identities, live_places.tolist(), events.high.tolist(), payloads)
    by_key: dict[int, list[tuple[int, StoredEvent]]] = {}
    for (code, id, start), place, end, payload in zip(*columns, strict=True):
        # An event is found by its id and its start, and is a member of windows as long as it lasts.
        event = StoredEvent(id=(id, start), start=start, end=end, payload=payload, since=start, until=end)
        by_key.setdefault(code, []).append((place, event))
    return by_key
