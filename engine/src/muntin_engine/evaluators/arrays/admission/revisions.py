"""Rows that insert and revise events with ids: each finds its event, and counts if it fits what that is now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.admission.admission_contract import NO_KEYS, Admitted, RowAdmission
from muntin_engine.evaluators.arrays.admission.other_revisions import SingleChanges, admit_single_rows
from muntin_engine.evaluators.arrays.admission.plain_revisions import NO_CHANGES, IncomingRows, PlainChanges, classify
from muntin_engine.evaluators.arrays.store.event_store import EventStore
from muntin_engine.evaluators.arrays.store.live_events import START
from muntin_engine.evaluators.arrays.stretches.coding import encode
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED, Dense
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable, named_keys
from muntin_engine.evaluators.arrays.stretches.row_values import RowValues
from muntin_engine.evaluators.arrays.stretches.stretch_table import ROWS, StretchTable
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.evaluators.keyed.intake import Filter
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.time.changes import InputChange, Key, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.blobs import from_blob, to_blob
from muntin_engine.wire.key_buckets import by_bucket
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.value_flags import flags


class ClassifiedRows(NamedTuple):
    """The rows of a batch.

    Attributes:
        rows: The number of rows that the filter of the query counts.
        keys: The number of keys with rows.
        plain: The changes that need no look at each row.
        new_events: The events that plain rows insert.
        other_rows: The rows that are not plain, by the codes of their keys.
    """

    rows: int = 0
    keys: int = 0
    plain: PlainChanges = NO_CHANGES
    new_events: Sequence[StretchTable] = ()
    other_rows: Mapping[int, Sequence[InputChange]] = MappingProxyType({})


class Revisions(RowAdmission[EventStore]):
    """Rows of events with ids: they cross the shuffle as they are, and the bucket lifts those that it admits.

    Most rows are plain, and are admitted as arrays; the others are admitted one by one, as the general evaluator does.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        """Admit the rows of a query."""
        self._query = query
        self._filter = Filter(query.keeps)

    def lift(self, task: TaskPayload, rows: pa.Table) -> Iterator[BucketBlob]:
        """Encode the rows of each bucket as they are: only the bucket knows the events that they insert and revise."""
        # Columns of the map task, which has left out bad rows by now.
        unneeded = [name for name in ("problem", "change") if name in rows.column_names]
        for bucket, bucket_rows in by_bucket(rows, task.key_names, task.plan.buckets):
            yield BucketBlob(bucket, to_blob(bucket_rows.drop_columns(unneeded)))

    def lift_one(self, row: InputChange, keys: Sequence[pa.Array], payload: Sequence[pa.Array]) -> Iterator[BucketBlob]:
        """Encode a row as it is, as a table of one row for the only bucket; its id is a whole number, or null."""
        columns = {f"k{place}": column for place, column in enumerate(keys)}
        for name in ("start", "end", "new_end", "id"):
            columns[name] = arrow_array([getattr(row, name)], pa.int64())
        for place, column in enumerate(payload):
            columns[f"i{place}"] = column
        yield BucketBlob(0, to_blob(pa.table(columns)))

    def admit(
        self, blobs: Sequence[bytes], store: EventStore, previous: InputsProgress, progress: InputsProgress
    ) -> Admitted:
        """Change and delete live events of a store as the rows of a batch say, and return the events to add.

        The blobs are tables with key columns, `id`, `start`, `end`, `new_end` and the payload.
        """
        # Most rows are admitted as arrays. Other rows of the batch, and rows that waited, are admitted one by one.
        previously_waiting = self._filter.count(store.waiting.rows)
        incoming = self._classify(blobs, store, previous.least.watermark)
        single = SingleChanges()
        if incoming.other_rows or store.waiting.by_key:
            single = admit_single_rows(self._query, store, incoming.other_rows, previous, progress)

        # The changes of both kinds of rows name live events by their places. So they are applied together: once an
        # event is deleted, the places of others change.
        inserted_tables = [*self._single_events(single, store.schema), *incoming.new_events]
        changed_tables = [*_change_live_events(store, incoming.plain, single), *inserted_tables]
        # Only of plain insertions is it certain that the log has no record of their events yet: they come last.
        store.record_changes(changed_tables, new_count=sum(map(len, incoming.new_events)))

        # Accepted are the rows that came or waited, less those that are rejected or wait now. Rows of events that the
        # filter leaves out do not count.
        rejections: list[tuple[Key, Rejection]] = []
        for key, rejection in single.rejections:
            if self._filter.is_visible(rejection.change):
                rejections.append((key, rejection))
        now_waiting = self._filter.count(store.waiting.rows)
        accepted = previously_waiting + incoming.rows - len(rejections) - now_waiting
        changed_keys = NO_KEYS if store.changed_events is None else store.changed_events.events.keys
        return Admitted(
            rows=inserted_tables,
            accepted=accepted,
            keys=incoming.keys,
            rejections=rejections,
            changed_keys=changed_keys,
        )

    def _classify(self, blobs: Sequence[bytes], store: EventStore, watermark: int) -> ClassifiedRows:
        """Decode the rows of a batch, and divide them into plain ones and those to be admitted one by one.

        Plain rows, as `classify` tells them from others, are admitted all at once, as arrays. New keys get codes, and
        the store gets the schema of the rows.

        Args:
            blobs: The rows, as map tasks sent them.
            store: The store, with the events before the batch.
            watermark: The watermark before the batch, by which rows are late.
        """
        if not blobs:
            return ClassifiedRows()
        table = pa.concat_tables(list(map(from_blob, blobs))).combine_chunks()
        codes = _key_codes(table, store.keys)
        incoming = IncomingRows.of(table, codes)
        event_rows = incoming.event_rows()
        store.schema = event_rows.schema
        plain = classify(incoming, store, watermark)

        # With a filter, the last column of the payload says whether an event passes it. An insertion of an event that
        # does not pass is not counted.
        row_count = len(table)
        if self._query.keeps is not None:
            is_left_out = incoming.is_insertion & ~flags(event_rows.columns[-1])
            row_count -= int(np.count_nonzero(is_left_out))

        # A new event ends where a revision of the same batch says, if there is one.
        new_events: list[StretchTable] = []
        places = plain.inserting_rows
        if len(places):
            identities = incoming.identities.take(places)
            rows = event_rows.take(arrow_array(places))
            new_events.append(self._events(identities.codes, identities.starts, plain.inserted_ends, rows))
        return ClassifiedRows(
            rows=row_count,
            keys=len(np.unique(codes)),
            plain=plain,
            new_events=new_events,
            other_rows=incoming.changes(plain.other_rows),
        )

    def _single_events(self, single: SingleChanges, schema: pa.Schema) -> list[StretchTable]:
        """Return the new events of rows that were admitted one by one: one table of stretches, or no table."""
        if not single.new_events:
            return []
        events = [event for _, event in single.new_events]
        codes = np.array([code for code, _ in single.new_events], np.int64)
        starts = np.array([event.start for event in events], np.int64)
        ends = np.array([event.end for event in events], np.int64)
        return [self._events(codes, starts, ends, single.event_rows(schema))]

    def _events(self, codes: IntArray, starts: IntArray, ends: IntArray, rows: pa.Table) -> StretchTable:
        """Return events as stretches, with the weight 0 where the filter of the query leaves one out.

        Args:
            codes: The code of each event's key.
            starts: The starts.
            ends: The ends.
            rows: The ids and payloads; with a filter, the last column says whether each event passes it.
        """
        is_member = np.ones(len(codes), np.bool_)
        if self._query.keeps is not None:
            is_member = flags(rows.columns[-1])
        parts = {START: Dense(COUNTED, starts), ROWS: RowValues.of(rows)}
        return StretchTable(codes, starts, ends, is_member.astype(np.int8), parts)


def _key_codes(table: pa.Table, keys: KeyTable) -> IntArray:
    """Return the code of each row's key in the bucket; new keys are added to the key table."""
    key_names = [name for name in table.column_names if name[0] == "k"]  # `k0`, `k1` and so on
    columns = [table.column(name).combine_chunks() for name in key_names]
    # Each distinct key of the batch is looked up once.
    batch_keys = encode(columns, len(table))
    named = named_keys(batch_keys.columns, batch_keys.size)
    return keys.codes(named)[batch_keys.codes]


def _change_live_events(store: EventStore, plain: PlainChanges, single: SingleChanges) -> list[StretchTable]:
    """Move the ends of live events and delete others; return the moved and the deleted events for the log.

    Args:
        store: The store.
        plain: The changes of rows that were admitted as arrays.
        single: The changes of rows that were admitted one by one.

    Returns:
        Moved events with their new ends, and deleted ones, which end where they start. Replaced events are not among
        them: they are inserted again, with their new payload.
    """
    live = store.live
    single_moves = np.array(single.moved_ends, np.int64).reshape(-1, 2)  # a place and an end in each row
    moved_places = np.concatenate([plain.moved_places, single_moves[:, 0]])
    deleted_places = np.concatenate([plain.deleted_places, np.array(single.deleted_places, np.int64)])
    changed_tables: list[StretchTable] = []
    if len(moved_places):
        live.end_at(moved_places, np.concatenate([plain.moved_ends, single_moves[:, 1]]))
        changed_tables.append(live.unlifted(moved_places))
    if len(deleted_places):
        deleted_events = live.unlifted(deleted_places)
        # They end at their starts and not at `low`, as the rest of a cut event begins later than the event starts.
        changed_tables.append(replace(deleted_events, high=deleted_events.parts[START].array))

    is_kept = np.ones(len(live), np.bool_)
    is_kept[[*deleted_places, *single.replaced_places]] = False
    live.keep(is_kept)
    return changed_tables
