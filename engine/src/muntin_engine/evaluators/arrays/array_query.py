"""A query on arrays, put together from the parts that the plan chose: its map side, and its buckets.

Each part that the plan names becomes an object here, and nowhere else: the rows that are taken in, the geometry of
their stretches, and the values that stretches hold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import EARLIEST, INFINITY, OutputContract, TimestampPolicy
from muntin_engine.evaluators.arrays.array_bucket import ArrayQuery, BucketResult
from muntin_engine.evaluators.arrays.bound_form import BoundForm, forms_of
from muntin_engine.evaluators.arrays.entries import Entries, FormEntries
from muntin_engine.evaluators.arrays.late_rows import LateRows
from muntin_engine.evaluators.arrays.lifting import Rows, lift_each, lift_rows, rows_to_lift
from muntin_engine.evaluators.arrays.result_tables import form_table
from muntin_engine.evaluators.arrays.row_entries import RowEntries
from muntin_engine.evaluators.arrays.state_entries import StateEntries
from muntin_engine.evaluators.arrays.state_modules import StateModules, lift_states
from muntin_engine.evaluators.arrays.stores import grid_query, session_query
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.evaluators.revised.incoming import blobs_of
from muntin_engine.evaluators.revised.store import ResultsOf, revised_query
from muntin_engine.plan.choice import Arrivals, Geometry, Held
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.plan.plan import Plan
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import InputChange
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.wire.blobs import to_blob
from muntin_engine.wire.python_values import values_in
from muntin_engine.wire.task_payload import TaskPayload


@dataclass(frozen=True)
class ArrayWork:
    """A query, prepared for evaluation on arrays.

    Attributes:
        plan: The plan, whose `arrays` are the parts.
        query: The query in the terms of evaluators.
        forms: The forms of its modules, if it computes with them.
        grids: Its slices; none of sessions and snapshots.
        codec: Writes states.
        results_of: Returns the results of windows as columns that can be stored.
        values_of: Returns the values of an input column.
    """

    plan: Plan
    query: EvaluatorQuery
    forms: Sequence[BoundForm]
    grids: Sequence[SliceGrid]
    codec: Codec
    results_of: ResultsOf
    values_of: Callable[[pa.ChunkedArray], list[Any]] = values_in

    @cached_property
    def arrivals(self) -> ArrivingRows:
        """The rows that are taken in."""
        return _ARRIVALS[self.plan.arrays.arrivals](self)

    @cached_property
    def geometry(self) -> StretchGeometry:
        """The stretches of the axis that rows become."""
        return _GEOMETRIES[self.plan.arrays.geometry](self)

    @cached_property
    def values(self) -> StretchValues:
        """The values of stretches."""
        return _VALUES[self.plan.arrays.held](self)

    @property
    def at_end(self) -> bool:
        """True if results are points at the ends of their windows."""
        return self.plan.timestamps is TimestampPolicy.POINT_AT_END

    @property
    def late(self) -> LateRows | None:
        """A maker of late rows, if these are wanted."""
        return LateRows(self.query.axis, self.values_of) if self.plan.keeps_late_rows else None


def work_of(task: TaskPayload) -> ArrayWork:
    """Prepare the query of a task for evaluation on arrays."""
    return ArrayWork(task.plan, task.query, task.once(forms_of), task.grids, task.codec, partial(form_table, task))


class ArrivingRows(ABC):
    """The rows that a query takes in: on their way to buckets, and there."""

    def __init__(self, work: ArrayWork) -> None:
        self._work = work

    @abstractmethod
    def lift(self, task: TaskPayload, rows: pa.Table) -> Iterator[BucketBlob]:
        """Yield the blob of each bucket that gets rows, given good rows of a task."""

    @abstractmethod
    def lift_one(self, row: InputChange, keys: Sequence[pa.Array], payload: Sequence[pa.Array]) -> Iterator[BucketBlob]:
        """Yield the blob of a row for the only bucket there is.

        Args:
            row: The row, for its times and its id.
            keys: The parts of its key as columns.
            payload: The parts of its payload as columns.
        """

    @abstractmethod
    def in_buckets(self) -> ArrayQuery:
        """Return the query as its buckets see it."""


class InsertedRows(ArrivingRows):
    """Rows that are new events each: they are lifted before the shuffle, and buckets decide which are late."""

    def lift(self, task: TaskPayload, rows: pa.Table) -> Iterator[BucketBlob]:
        """Yield the partial states of each bucket that gets rows."""
        return self._work.geometry.lift(rows_to_lift(task, rows))

    def lift_one(self, row: InputChange, keys: Sequence[pa.Array], payload: Sequence[pa.Array]) -> Iterator[BucketBlob]:
        """Yield the partial state of a row."""
        starts = np.array([row.start], np.int64)
        ends = None if self._work.plan.input.is_point else np.array([row.end], np.int64)
        return self._work.geometry.lift(Rows(1, starts, ends, keys, payload))

    def in_buckets(self) -> ArrayQuery:
        """Return the query as its buckets see it."""
        query = self._work.geometry.in_buckets()
        if self._work.plan.contract is OutputContract.UNRESTRICTED:
            return query._replace(output_watermark=_watermark_of_anywhere)
        return query


def _watermark_of_anywhere(result: BucketResult) -> int:
    """Return the output watermark where results may lie anywhere: none before all are there."""
    return INFINITY if result.now.least.watermark == INFINITY else EARLIEST


class IdentifiedRows(ArrivingRows):
    """Rows that insert and revise events with ids: buckets admit them, and lift them then."""

    def lift(self, task: TaskPayload, rows: pa.Table) -> Iterator[BucketBlob]:
        """Yield the rows of each bucket that gets any, as they are."""
        return blobs_of(task, rows)

    def lift_one(self, row: InputChange, keys: Sequence[pa.Array], payload: Sequence[pa.Array]) -> Iterator[BucketBlob]:
        """Yield a row as it is."""
        columns = {f"k{place}": column for place, column in enumerate(keys)}
        for name in ("start", "end", "new_end", "id"):
            columns[name] = pa.array([getattr(row, name)], pa.int64())
        for place, column in enumerate(payload):
            columns[f"i{place}"] = column
        yield BucketBlob(0, to_blob(pa.table(columns)))

    def in_buckets(self) -> ArrayQuery:
        """Return the query as its buckets see it."""
        work = self._work
        return revised_query(work.query, work.forms, work.codec, work.results_of)


class StretchGeometry(ABC):
    """The stretches of the axis that new events become, and so how these become windows."""

    def __init__(self, work: ArrayWork) -> None:
        self._work = work

    @abstractmethod
    def lift(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the partial states of each bucket that gets rows."""

    @abstractmethod
    def in_buckets(self) -> ArrayQuery:
        """Return windows of such stretches as their buckets see them."""


class StretchesOnGrid(StretchGeometry):
    """Slices, or runs of slices: rows are merged into those that they overlap."""

    def lift(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the partial states of slices."""
        return self._work.values.lift_into_slices(rows)

    def in_buckets(self) -> ArrayQuery:
        """Return windows on grids."""
        return grid_query(self._work.grids, self._work.values.entries, at_end=self._work.at_end)


class FusedStretches(StretchGeometry):
    """Each event is a stretch, and sessions are fused from those that overlap or touch."""

    def lift(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the partial states of events."""
        return self._work.values.lift_each(rows)

    def in_buckets(self) -> ArrayQuery:
        """Return sessions."""
        return session_query(self._work.values.entries, at_end=self._work.at_end, is_cut=False)


class CutStretches(FusedStretches):
    """Each event is a stretch, and snapshots are cut at the edges of these."""

    def in_buckets(self) -> ArrayQuery:
        """Return snapshots."""
        return session_query(self._work.values.entries, at_end=self._work.at_end, is_cut=True)


class StretchValues(ABC):
    """The values of stretches: made of rows before the shuffle, read and written in buckets."""

    def __init__(self, work: ArrayWork) -> None:
        self._work = work

    @abstractmethod
    def lift_into_slices(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the values of the slices, or runs of them, that rows are merged into."""

    @abstractmethod
    def lift_each(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the value of each row."""

    @abstractmethod
    def entries(self) -> Entries:
        """Return the reader and writer of values, for an empty store."""


class FormValues(StretchValues):
    """Components of columnar forms."""

    def lift_into_slices(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the components of slices."""
        work = self._work
        return lift_rows(work.grids[0], work.forms, rows, with_rows=work.plan.keeps_late_rows)

    def lift_each(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the components of each row."""
        work = self._work
        return lift_each(work.plan.arrays.gap, rows, work.forms, with_rows=work.plan.keeps_late_rows)

    def entries(self) -> Entries:
        """Return the reader and writer of components."""
        return FormEntries(self._work.forms, late=self._work.late)


class StateValues(StretchValues):
    """Python states of modules that define `combine`."""

    @cached_property
    def _modules(self) -> StateModules:
        work = self._work
        return StateModules(work.query.bindings, work.codec, work.query.axis, work.values_of)

    def lift_into_slices(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the states of slices."""
        work = self._work
        return lift_states(self._modules, work.grids, rows, with_rows=work.plan.keeps_late_rows)

    def lift_each(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the payload of each row, of which the bucket makes states."""
        work = self._work
        return lift_each(work.plan.arrays.gap, rows, with_rows=work.plan.keeps_late_rows)

    def entries(self) -> Entries:
        """Return the reader and writer of states."""
        return StateEntries(self._modules, self._work.grids, self._work.late)


class ListedRows(StretchValues):
    """The rows themselves, with their times."""

    def lift_into_slices(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the rows of slices."""
        return lift_rows(self._work.grids[0], (), rows, with_rows=True)

    def lift_each(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the rows as they are."""
        return lift_each(self._work.plan.arrays.gap, rows, (), with_rows=True)

    def entries(self) -> Entries:
        """Return the reader and writer of rows."""
        work = self._work
        sliding = work.grids if work.plan.arrays.slides else ()
        return RowEntries(work.query, sliding, work.values_of, work.late)


_ARRIVALS: Final[Mapping[Arrivals, type[ArrivingRows]]] = {
    Arrivals.INSERTIONS: InsertedRows,
    Arrivals.IDENTIFIED: IdentifiedRows,
}
_GEOMETRIES: Final[Mapping[Geometry, type[StretchGeometry]]] = {
    Geometry.SLICES: StretchesOnGrid,
    Geometry.RUNS: StretchesOnGrid,
    Geometry.SESSIONS: FusedStretches,
    Geometry.SNAPSHOTS: CutStretches,
}
_VALUES: Final[Mapping[Held, type[StretchValues]]] = {
    Held.COMPONENTS: FormValues,
    Held.STATES: StateValues,
    Held.ROWS: ListedRows,
}
