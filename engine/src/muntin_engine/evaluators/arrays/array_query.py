"""A query on arrays, put together from the parts that the plan chose: its map side, and its buckets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa

from muntin import EARLIEST, INFINITY, OutputContract, TimestampPolicy
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.arrays.array_bucket import ArrayQuery
from muntin_engine.evaluators.arrays.bound_form import BoundForm, forms_of
from muntin_engine.evaluators.arrays.entries import Entries, FormEntries
from muntin_engine.evaluators.arrays.late_rows import LateRows
from muntin_engine.evaluators.arrays.lifting import Rows, lift_each, lift_rows
from muntin_engine.evaluators.arrays.result_tables import form_table
from muntin_engine.evaluators.arrays.row_entries import RowEntries
from muntin_engine.evaluators.arrays.state_entries import StateEntries
from muntin_engine.evaluators.arrays.state_modules import StateModules, lift_states
from muntin_engine.evaluators.arrays.stores import grid_query, session_query
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.evaluators.revised.store import ResultsOf, revised_query
from muntin_engine.plan.choice import Arrivals, Geometry, Held
from muntin_engine.plan.combinations import states_slide
from muntin_engine.plan.plan import Plan
from muntin_engine.state.codec import Codec
from muntin_engine.wire.python_values import values_in
from muntin_engine.wire.task_payload import TaskPayload


@dataclass(frozen=True)
class ArrayWork:
    """A query, prepared for evaluation on arrays.

    Attributes:
        plan: The plan, whose `arrays` are the parts.
        query: The same in the terms of evaluators.
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
    def state_modules(self) -> StateModules:
        """The modules, which keep Python states."""
        return StateModules(self.query.bindings, self.codec, self.query.axis, self.values_of)

    def lift(self, rows: Rows) -> Iterator[BucketBlob]:
        """Yield the blob of each bucket that gets rows; the rows are good and have no ids."""
        parts = self.plan.arrays
        with_rows = parts.held is Held.ROWS or self.plan.keeps_late_rows
        if not parts.is_on_grid:
            forms = None if parts.held is Held.STATES else self.forms
            return lift_each(parts.gap, rows, forms, with_rows=with_rows)
        if parts.held is Held.STATES:
            return lift_states(self.state_modules, self.grids, rows, with_rows=with_rows)
        return lift_rows(self.grids[0], self.forms, rows, with_rows=with_rows)

    def entries(self) -> Entries:
        """Return the reader and writer of the values of stretches, for an empty store."""
        late = LateRows(self.query.axis, self.values_of) if self.plan.keeps_late_rows else None
        match self.plan.arrays.held:
            case Held.COMPONENTS:
                return FormEntries(self.forms, late=late)
            case Held.STATES:
                return StateEntries(self.state_modules, self.grids, late)
            case Held.ROWS:
                sliding = self.grids if states_slide(self.plan) else ()
                return RowEntries(self.query, sliding, self.values_of, late)

    def in_buckets(self) -> ArrayQuery:
        """Return the query as its buckets see it."""
        parts, at_end = self.plan.arrays, self.plan.timestamps is TimestampPolicy.POINT_AT_END
        if parts.arrivals is Arrivals.IDENTIFIED:
            return revised_query(self.query, self.forms, self.codec, self.results_of)
        if parts.is_on_grid:
            query = grid_query(self.grids, self.entries, at_end=at_end)
        else:
            query = session_query(self.entries, at_end=at_end, is_cut=parts.geometry is Geometry.SNAPSHOTS)
        if self.plan.contract is OutputContract.UNRESTRICTED:  # a later result may lie anywhere, until all are there
            query = query._replace(
                output_watermark=lambda found: INFINITY if found.now.least.watermark == INFINITY else EARLIEST
            )
        return query


def work_of(task: TaskPayload) -> ArrayWork:
    """Prepare the query of a task for evaluation on arrays."""
    return ArrayWork(task.plan, task.query, task.once(forms_of), task.grids, task.codec, partial(form_table, task))
