"""Complete sessions as typed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Window
from muntin.columnar.arrays import IntArray
from muntin.schemas import Field
from muntin_engine.core.changes import Key
from muntin_engine.evaluators.columnar.result_tables import form_columns
from muntin_engine.evaluators.fused.state_store import ClosedStates
from muntin_engine.evaluators.fused.store import ClosedSessions
from muntin_engine.evaluators.over_slices.slice_bucket import Complete
from muntin_engine.evaluators.over_slices.window_tables import extent_tables
from muntin_engine.exchange.arrays import Source
from muntin_engine.exchange.task_payload import TaskPayload

At: TypeAlias = Callable[[int], tuple[Key, Window]]
Output: TypeAlias = Callable[[int, Field, pa.DataType], pa.Array]


def session_tables(task: TaskPayload, complete: Complete[ClosedSessions]) -> Iterator[pa.Table]:
    """Yield sessions of columnar aggregates as tables of the query's result schema.

    Raises:
        ModuleFailedError: A module raised an exception.
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    windows, ends, keys = complete.output
    yield from _tables(task, windows.windows, ends, keys, lambda at: form_columns(task, windows, at))


def state_session_tables(task: TaskPayload, complete: Complete[ClosedStates]) -> Iterator[pa.Table]:
    """Yield sessions of modules that keep Python states as tables of the query's result schema.

    Raises:
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    starts, ends, keys, values = complete.output

    def output_of(at: At) -> Output:
        def output(place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
            module = task.query.bindings[place].module
            return Source(task, f"{module.name} {module.version}", at).column(values[place], field, arrow_type)

        return output

    yield from _tables(task, starts, ends, keys, output_of)


def _tables(
    task: TaskPayload, starts: IntArray, ends: IntArray, keys: pa.Table, output_of: Callable[[At], Output]
) -> Iterator[pa.Table]:
    """Yield sessions as tables, given what makes the column of a module of what says the place of a row."""
    columns = [keys.column(name) for name in task.key_names]

    def at(row: int) -> tuple[Key, Window]:
        return tuple(column[row].as_py() for column in columns), Window(int(starts[row]), int(ends[row]))

    yield from extent_tables(task, starts, np.ma.masked_equal(ends, INFINITY), columns, output_of(at))
