"""The admission of insertions: each row is a new event, and counts unless it is late."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from muntin.axis import AnyAxis
from muntin_engine.evaluators.arrays.admission.admission_contract import Admitted, RowAdmission
from muntin_engine.evaluators.arrays.geometry.window_geometry import StretchGeometry
from muntin_engine.evaluators.arrays.store.stretch_store import StretchStore
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable, keys_in
from muntin_engine.evaluators.arrays.stretches.row_values import SOURCE, RowLists
from muntin_engine.evaluators.arrays.stretches.stretch_codec import Arrival
from muntin_engine.evaluators.arrays.stretches.stretch_table import LISTS, StretchTable
from muntin_engine.evaluators.arrays.values.row_lifting import RowsToLift, rows_to_lift
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.time.changes import InputChange, Key, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.wire.arrow_arrays import arrow_array
from muntin_engine.wire.task_payload import TaskPayload


@dataclass(frozen=True)
class LateRows:
    """Makes rejections of late stretches, which have their rows beside them.

    Attributes:
        axis: The axis of ticks; only messages depend on it.
        values_of: Returns the values of an input column.
    """

    axis: AnyAxis
    values_of: Callable[[pa.ChunkedArray], list[Any]]

    def rejections(
        self, late: StretchTable, keys: KeyTable, watermark: int, side: int = 0
    ) -> list[tuple[Key, Rejection]]:
        """Return a rejection for each row of late stretches, with the key of the row.

        Args:
            late: The late stretches.
            keys: The keys of the bucket.
            watermark: The watermark by which the rows are late.
            side: The number of their input: 0, or 1 for the right input of a join.
        """
        if not len(late):
            return []
        lists: RowLists = late.parts[LISTS]
        places = lists.places()
        payload_columns = lists.payload(places, self.values_of)
        starts, ends, payloads = lists.rows(places, payload_columns)
        sources: Any = repeat(None)  # without end: the other columns say how many rows there are
        if SOURCE in lists.table.column_names:
            sources = lists.table.column(SOURCE).take(arrow_array(places)).to_pylist()

        # The rows lie stretch by stretch, as many of each as its weight says.
        row_keys: list[Key] = []
        for key, count in zip(keys_in(keys.take(late.keys)), late.weight.tolist(), strict=True):
            row_keys += [key] * count

        rejections: list[tuple[Key, Rejection]] = []
        for key, start, end, payload, source in zip(row_keys, starts, ends, payloads, sources, strict=False):
            row = InputChange(id=None, start=start, end=end, payload=payload, source=source, side=side)
            rejections.append((key, Rejection.late(row, start, watermark, self.axis)))
        return rejections


class Insertions(RowAdmission[StretchStore]):
    """Rows that are new events each: they are lifted before the shuffle, and buckets decide which are late."""

    def __init__(self, geometry: StretchGeometry, late_rows: LateRows | None, *, is_point: bool) -> None:
        """Admit rows.

        Args:
            geometry: The geometry of the query, which lifts rows to stretches.
            late_rows: Makes rejections of late rows; None if these are only counted.
            is_point: True if events last a tick each.
        """
        self._geometry = geometry
        self._late_rows = late_rows
        self._is_point = is_point

    def lift(self, task: TaskPayload, rows: pa.Table) -> Iterator[BucketBlob]:
        """Yield the partial states of each bucket that gets rows."""
        return self._geometry.lift(rows_to_lift(task, rows))

    def lift_one(self, row: InputChange, keys: Sequence[pa.Array], payload: Sequence[pa.Array]) -> Iterator[BucketBlob]:
        """Yield the partial state of a row."""
        starts = np.array([row.start], np.int64)
        ends = None if self._is_point else np.array([row.end], np.int64)
        return self._geometry.lift(RowsToLift(bucket_count=1, starts=starts, ends=ends, keys=keys, inputs=payload))

    def admit(
        self, blobs: Sequence[bytes], store: StretchStore, previous: InputsProgress, progress: InputsProgress
    ) -> Admitted:
        """Decide which rows are late: those that begin before the first slice, or tick, that is in time.

        This is decided before stretches of several map tasks are merged: a merged stretch would not tell any more how
        many of its rows are late.
        """
        del progress
        return admitted_insertions(
            store.codec.read_blobs(blobs),
            store.keys,
            first_in_time=self._geometry.first_in_time(previous),
            to_the_tick=min(previous.to_the_tick),  # the watermark as the policy says it, for messages
            late_rows=self._late_rows,
            without_late_rows=self._geometry.values.without_late_rows,
        )


def admitted_insertions(
    arrivals: Sequence[Arrival],
    keys: KeyTable,
    *,
    first_in_time: int,
    to_the_tick: int,
    late_rows: LateRows | None,
    without_late_rows: Callable[[StretchTable], StretchTable],
) -> Admitted:
    """Divide new events into those that count and late ones.

    Args:
        arrivals: The events.
        keys: The keys of the bucket.
        first_in_time: The first start of events that are in time.
        to_the_tick: The watermark as its policy says it, which rejections name. Where output changes only at the ends
            of windows, `first_in_time` follows from the last such end before it.
        late_rows: Makes rejections of late rows; None if these are only counted.
        without_late_rows: Drops the rows that travel beside stretches in case they are late.
    """
    rows: list[StretchTable] = []
    rejections: list[tuple[Key, Rejection]] = []
    accepted = 0
    late = 0
    for arrival in arrivals:
        is_in_time = arrival.stretches.low >= first_in_time
        in_time = without_late_rows(arrival.stretches.where(is_in_time))
        accepted += int(in_time.weight.sum())
        if len(in_time):
            rows.append(in_time)
        if not is_in_time.all():
            late_stretches = arrival.stretches.where(~is_in_time)
            late += int(late_stretches.weight.sum())
            if late_rows is not None:
                rejections += late_rows.rejections(late_stretches, keys, watermark=to_the_tick)
    key_count = keys.count([arrival.codes for arrival in arrivals])

    # A late row is either kept as a rejection, or only counted.
    counted_late = late - len(rejections)
    return Admitted(rows=rows, accepted=accepted, keys=key_count, late=counted_late, rejections=rejections)
