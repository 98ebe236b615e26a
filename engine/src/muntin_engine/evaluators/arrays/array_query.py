"""A query on arrays, put together from the parts that the plan chose, each of which becomes an object here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from muntin import EmitPolicy, TimestampPolicy
from muntin_engine.evaluators.arrays.admission.insertions import Insertions, LateRows
from muntin_engine.evaluators.arrays.admission.revisions import Revisions
from muntin_engine.evaluators.arrays.geometry.event_geometry import EventGridGeometry, EventSnapshotGeometry
from muntin_engine.evaluators.arrays.geometry.grid_geometry import GridGeometry, GrowingGeometry
from muntin_engine.evaluators.arrays.geometry.tick_geometry import SessionGeometry, SnapshotGeometry
from muntin_engine.evaluators.arrays.geometry.window_geometry import StretchGeometry
from muntin_engine.evaluators.arrays.machine import ArrayQuery
from muntin_engine.evaluators.arrays.result_emission import CorrectedResults, FinalResults, StoredResults
from muntin_engine.evaluators.arrays.stretches.bound_form import BoundForm, bound_forms
from muntin_engine.evaluators.arrays.stretches.result_tables import ResultWindows, form_table
from muntin_engine.evaluators.arrays.values.row_list_values import ListedRows
from muntin_engine.evaluators.arrays.values.state_modules import StateModules
from muntin_engine.evaluators.arrays.values.state_values import PythonStates
from muntin_engine.evaluators.arrays.values.stretch_values import FormComponents, StretchValues
from muntin_engine.modules.meter import Meter
from muntin_engine.plan.chosen_evaluator import Arrivals, Geometry, Held
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.plan.plan import Plan
from muntin_engine.state.codec import Codec
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.wire.python_values import values_in
from muntin_engine.wire.task_payload import TaskPayload


@dataclass(frozen=True)
class QueryParts:
    """Puts a query on arrays together: all that its parts are made of.

    Attributes:
        plan: The plan, whose `arrays` names the parts.
        query: The query in the terms of evaluators.
        meters: The meter of the calls of each module.
        codec: Writes states.
        stored_results: Makes columns of results that may change; None if the results of this query never do.
        values_of: Returns the Python values of an input column.
    """

    plan: Plan
    query: EvaluatorQuery
    meters: Sequence[Meter]
    codec: Codec
    stored_results: StoredResults | None = None
    values_of: Callable[[pa.ChunkedArray], list[Any]] = values_in

    def assemble(self) -> ArrayQuery[Any]:
        """Return the query with the parts that the plan names."""
        return _ADMISSIONS[self.plan.arrays.arrivals](self)

    @cached_property
    def forms(self) -> Sequence[BoundForm]:
        """The forms of its modules, for the parts that compute with them."""
        return bound_forms(self.plan, self.meters)

    @property
    def grids(self) -> Sequence[SliceGrid]:
        """The slices of each specification of windows; none of sessions and snapshots."""
        return self.plan.arrays.grids

    @property
    def at_end(self) -> bool:
        """True if results are points at the ends of their windows."""
        return self.plan.timestamps is TimestampPolicy.POINT_AT_END


def array_query(task: TaskPayload) -> ArrayQuery[Any]:
    """Put the query of a task together; `TaskPayload.once` calls this once for a task."""
    parts = QueryParts(
        plan=task.plan,
        query=task.query,
        meters=task.meters,
        codec=task.codec,
        stored_results=TaskResults(task),
    )
    return parts.assemble()


class TaskResults(StoredResults):
    """Results in the types of the columns of a task."""

    def __init__(self, task: TaskPayload) -> None:
        """Make columns for a task."""
        self._task = task

    def columns(self, windows: ResultWindows) -> pa.Table:
        """Return the results of windows as columns `i0`, `i1` and so on."""
        return form_table(self._task, windows)


def _with_insertions(parts: QueryParts) -> ArrayQuery[Any]:
    """Return a query whose rows are new events each."""
    plan = parts.plan
    values_of_query = _VALUES[plan.arrays.held]
    values = values_of_query(parts)
    geometry_of_query = _GEOMETRIES[plan.arrays.geometry]
    geometry = geometry_of_query(parts, values)
    late_rows = LateRows(parts.query.axis, parts.values_of) if plan.keeps_late_rows else None
    admission = Insertions(geometry, late_rows, is_point=plan.input.is_point)
    return ArrayQuery(admission, geometry, FinalResults(geometry))


def _with_revisions(parts: QueryParts) -> ArrayQuery[Any]:
    """Return a query whose rows insert and revise events with ids."""
    admission = Revisions(parts.query)
    components = FormComponents(parts.forms)
    if parts.plan.arrays.geometry is Geometry.SNAPSHOTS:
        snapshots = EventSnapshotGeometry(components, parts.codec, at_end=parts.at_end)
        return ArrayQuery(admission, snapshots, FinalResults(snapshots))

    (grid,) = parts.grids  # queries with several specifications of windows have no events with ids
    geometry = EventGridGeometry(grid, components, parts.codec, at_end=parts.at_end)
    if parts.query.emit is EmitPolicy.FINAL:
        return ArrayQuery(admission, geometry, FinalResults(geometry))

    # A result that may change is stored, so that it can be compared with a later one.
    assert parts.stored_results is not None, "a query of forms is given a maker of result columns"
    is_eager = parts.query.emit is EmitPolicy.EAGER
    emission = CorrectedResults(geometry, parts.stored_results, is_eager=is_eager)
    return ArrayQuery(admission, geometry, emission)


def _grid(parts: QueryParts, values: StretchValues) -> StretchGeometry:
    """Return the geometry of windows on a grid, of points or of events that last."""
    grows = any(grid.grows for grid in parts.grids)
    geometry_class = GrowingGeometry if grows else GridGeometry
    return geometry_class(parts.grids, values, at_end=parts.at_end)


def _sessions(parts: QueryParts, values: StretchValues) -> StretchGeometry:
    """Return the geometry of sessions."""
    return SessionGeometry(values, at_end=parts.at_end)


def _snapshots(parts: QueryParts, values: StretchValues) -> StretchGeometry:
    """Return the geometry of snapshots of events that are never revised."""
    return SnapshotGeometry(values, at_end=parts.at_end)


def _components(parts: QueryParts) -> StretchValues:
    """Return components of columnar forms as the values of stretches."""
    plan = parts.plan
    return FormComponents(parts.forms, parts.grids, plan.arrays.gap, with_late_rows=plan.keeps_late_rows)


def _states(parts: QueryParts) -> StretchValues:
    """Return Python states as the values of stretches."""
    plan = parts.plan
    modules = StateModules(parts.query.bindings, parts.codec, parts.query.axis, parts.values_of)
    return PythonStates(modules, parts.grids, plan.arrays.gap, with_late_rows=plan.keeps_late_rows)


def _rows(parts: QueryParts) -> StretchValues:
    """Return the rows themselves as the values of stretches."""
    plan = parts.plan
    return ListedRows(
        parts.query,
        parts.grids,
        plan.arrays.gap,
        slides=plan.arrays.slides,
        values_of=parts.values_of,
        with_late_rows=plan.keeps_late_rows,
    )


_ADMISSIONS: Final[Mapping[Arrivals, Callable[[QueryParts], ArrayQuery[Any]]]] = {
    Arrivals.INSERTIONS: _with_insertions,
    Arrivals.IDENTIFIED: _with_revisions,
}
"""Makes a query, by what its rows are: new events, or rows of events with ids."""

_GEOMETRIES: Final[Mapping[Geometry, Callable[[QueryParts, StretchValues], StretchGeometry]]] = {
    Geometry.SLICES: _grid,
    Geometry.RUNS: _grid,
    Geometry.SESSIONS: _sessions,
    Geometry.SNAPSHOTS: _snapshots,
}
"""Makes the geometry of events that are never revised."""

_VALUES: Final[Mapping[Held, Callable[[QueryParts], StretchValues]]] = {
    Held.COMPONENTS: _components,
    Held.STATES: _states,
    Held.ROWS: _rows,
}
"""Makes the values of stretches, by what these hold."""
