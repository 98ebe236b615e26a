"""Windows of modules that keep Python states as typed tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from muntin import Window
from muntin.schemas import Field
from muntin_engine.core.changes import Key
from muntin_engine.evaluators.arrays.coding import expanded
from muntin_engine.evaluators.arrays.result_tables import ModuleResults, extent_tables
from muntin_engine.evaluators.slices.runs import WindowRuns
from muntin_engine.exchange.counting import ticks_of
from muntin_engine.exchange.task_payload import TaskPayload


def run_tables(task: TaskPayload, runs: WindowRuns) -> Iterator[pa.Table]:
    """Yield the windows of modules that keep Python states as tables of the query's result schema.

    Raises:
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    grid = task.grids[runs.place].windows

    def at(run: int) -> tuple[Key, Window]:
        return runs.keys[run], grid.window(runs.firsts[run])

    results = ModuleResults(task, runs.values, at)
    firsts = np.array(runs.firsts, np.int64)
    run_of_row, number = expanded(np.subtract(runs.lasts, runs.firsts))
    result_of_row = run_of_row
    if results.counts is not None:
        window_of_row, number_of_row = expanded(results.counts[run_of_row])
        run_of_row, number = run_of_row[window_of_row], number[window_of_row]
        result_of_row = (np.cumsum(results.counts) - results.counts)[run_of_row] + number_of_row
    columns = list(zip(*runs.keys, strict=True)) if task.keys else []
    keys = [pa.array(column, key).take(pa.array(run_of_row)) for column, key in zip(columns, task.keys, strict=True)]
    taken = pa.array(result_of_row)

    def output(place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        return results.column(place, field, arrow_type).take(taken)

    starts = grid.counted.start(firsts[run_of_row] + number)
    starts, ends = (ticks_of(grid.periods, counted) for counted in (starts, starts + grid.counted.size))
    yield from extent_tables(task, runs.place, starts, ends, keys, output)
