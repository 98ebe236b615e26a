"""Events with ids of a bucket in a checkpoint, read without the modules of their query."""

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
from muntin_engine.evaluators.keyed.key_reader import query_without_modules
from muntin_engine.plan.chosen_evaluator import Geometry
from muntin_engine.state.bucket_reader import BucketReader, StateRow, payload_of, waiting_row
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.slice_grid import SliceGrid


def rows_of_events(bucket: BucketReader) -> Iterator[StateRow]:
    """Yield the events, the results that may change, and the rows that wait for others of their event."""
    # Without a schema version, an entry is read as it is. Nothing has to be upgraded: an entry has rows, no states.
    entries = [dated.entry._replace(schema_version=None) for dated in bucket.entries]
    progress = InputsProgress.from_data(bucket.progress)
    geometry = _geometry_without_forms(bucket)
    store = geometry.new_store()
    geometry.restore(store, entries, bucket.cells, progress)

    events = geometry.present_events(store, entries, progress.least.watermark)
    weights = events.weight.tolist()
    for row, weight in zip(store.plain_rows(events), weights, strict=True):
        id, *payload = row.columns
        kind = "event" if weight else "filtered"  # the weight is 0 if the filter of the query leaves the event out
        yield StateRow(kind, row.key, row.start, row.end, payload_of(bucket.identity, payload), id=id, events=1)
    for row in store.plain_rows(store.results.held):
        yield StateRow("result", row.key, row.start, row.end, row.columns)
    yield from _waiting_rows(bucket, store)


def _waiting_rows(bucket: BucketReader, store: EventStore) -> Iterator[StateRow]:
    """Yield the rows that wait for others of their event, key by key."""
    for code, events in store.waiting.by_key.items():
        (key,) = keys_in(store.keys.take(np.array([code])))
        for pending in events.values():
            for row in pending.rows:
                # `waiting_row`, which all evaluators share, does not know the key of the row.
                yield waiting_row(bucket.identity, row)._replace(key=key)


def _geometry_without_forms(bucket: BucketReader) -> EventGeometry:
    """Return the geometry of a query in a checkpoint, without the forms of its modules.

    Forms compute partial states of events, which are not in the checkpoint: the events themselves are.
    """
    components = FormComponents(())
    # No results are computed here, so `at_end`, which says what times they have, does not matter.
    if bucket.identity["arrays"]["geometry"] == Geometry.SNAPSHOTS:
        return EventSnapshotGeometry(components, bucket.codec, at_end=False)
    query = query_without_modules(bucket.identity, input_identity=bucket.identity)  # the query has one input
    grid = SliceGrid.of(cast(RegularWindows, query.window.grid()))
    return EventGridGeometry(grid, components, bucket.codec, at_end=False)
