"""Events with ids of a stored bucket, read without the modules of their query."""

from __future__ import annotations

from collections.abc import Iterator

from muntin_engine.evaluators.keyed.stored_keys import query_without_modules
from muntin_engine.evaluators.revised.store import RevisedStore
from muntin_engine.state.stored_bucket import HeldRow, StoredBucket
from muntin_engine.time.inputs_progress import InputsProgress


def rows_of_events(stored: StoredBucket) -> Iterator[HeldRow]:
    """Yield the events, the rows that wait for others of theirs, and the results that may change."""
    entries = [part.entry._replace(schema_version=None) for part in stored.parts]
    progress = InputsProgress.from_data(stored.tracked)
    store = RevisedStore(query_without_modules(stored.identity, stored.identity), (), stored.codec, None)
    store.restore(entries, stored.cells, progress)
    return store.held_rows(stored.identity, entries, progress.least.watermark)
