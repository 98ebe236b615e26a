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
from muntin_engine.evaluators.over_slices.module_results import ModuleResults, expanded
from muntin_engine.evaluators.over_slices.slice_bucket import Complete
from muntin_engine.evaluators.over_slices.window_tables import extent_tables
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
    starts = windows.windows
    yield from _tables(task, starts, ends, keys, form_columns(task, windows, _locator(task, starts, ends, keys)))


def state_session_tables(task: TaskPayload, complete: Complete[ClosedStates]) -> Iterator[pa.Table]:
    """Yield sessions of modules that keep Python states as tables of the query's result schema.

    Raises:
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    starts, ends, keys, values = complete.output
    results = ModuleResults(task, values, _locator(task, starts, ends, keys))
    if results.counts is not None:
        session_of_row, _ = expanded(results.counts)
        starts, ends, keys = starts[session_of_row], ends[session_of_row], keys.take(pa.array(session_of_row))
    yield from _tables(task, starts, ends, keys, results.column)


def _tables(task: TaskPayload, starts: IntArray, ends: IntArray, keys: pa.Table, output: Output) -> Iterator[pa.Table]:
    """Yield rows of sessions as tables, given what returns the column of a module."""
    columns = [keys.column(name) for name in task.key_names]
    yield from extent_tables(task, starts, np.ma.masked_equal(ends, INFINITY), columns, output)


def _locator(task: TaskPayload, starts: IntArray, ends: IntArray, keys: pa.Table) -> At:
    """Return a function from the place of a session to its key and window."""

    def at(place: int) -> tuple[Key, Window]:
        key = tuple(keys.column(name)[place].as_py() for name in task.key_names)
        return key, Window(int(starts[place]), int(ends[place]))

    return at
