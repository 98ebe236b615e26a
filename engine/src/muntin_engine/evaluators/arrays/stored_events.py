"""Events with ids of a stored bucket, read without the modules of their query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from muntin.windows.regular import RegularWindows
from muntin_engine.evaluators.arrays.geometry.event_geometry import (
    EventGeometry,
    EventGridGeometry,
    EventSnapshotGeometry,
)
from muntin_engine.evaluators.arrays.store.event_store import EventStore
from muntin_engine.evaluators.arrays.stretches.key_table import keys_in
from muntin_engine.evaluators.arrays.values.stretch_values import FormComponents
from muntin_engine.evaluators.keyed.stored_keys import query_without_modules
from muntin_engine.plan.choice import Geometry
from muntin_engine.state.stored_bucket import HeldRow, StoredBucket, payload_of, waiting_row
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.slice_grid import SliceGrid


def rows_of_events(stored: StoredBucket) -> Iterator[HeldRow]:
    """Yield the events, the results that may change, and the rows that wait for others of their event."""
    entries = [part.entry._replace(schema_version=None) for part in stored.parts]
    progress = InputsProgress.from_data(stored.tracked)
    geometry = _geometry_without_forms(stored)
    store = geometry.new_store()
    geometry.restore(store, entries, stored.cells, progress)

    events = geometry.present_events(store, entries, progress.least.watermark)
    weights = events.weight.tolist()
    for (key, start, end, (id, *payload)), weight in zip(store.plain_rows(events), weights, strict=True):
        kind = "event" if weight else "filtered"
        yield HeldRow(kind, key, start, end, payload_of(stored.identity, payload), id=id, events=1)
    for key, start, end, values in store.plain_rows(store.results.held):
        yield HeldRow("result", key, start, end, values)
    yield from _waiting_rows(stored, store)


def _waiting_rows(stored: StoredBucket, store: EventStore) -> Iterator[HeldRow]:
    for code, events in store.waiting.by_key.items():
        (key,) = keys_in(store.keys.take(np.array([code])))
        for pending in events.values():
            for row in pending.rows:
                yield waiting_row(stored.identity, row)._replace(key=key)


def _geometry_without_forms(stored: StoredBucket) -> EventGeometry:
    """Return the geometry of a stored query: what it holds of events does not depend on its forms."""
    components = FormComponents(())
    if stored.identity["arrays"]["geometry"] == Geometry.SNAPSHOTS:
        return EventSnapshotGeometry(components, stored.codec, at_end=False)
    window = query_without_modules(stored.identity, stored.identity).window
    grid = SliceGrid.of(cast(RegularWindows, window.grid()))
    return EventGridGeometry(grid, components, stored.codec, at_end=False)
