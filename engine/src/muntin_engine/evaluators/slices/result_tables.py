"""Windows of modules that keep Python states as typed tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from muntin import Window
from muntin.schemas import Field
from muntin_engine.core.changes import Key
from muntin_engine.evaluators.over_slices.slice_bucket import Complete
from muntin_engine.evaluators.over_slices.window_tables import window_tables
from muntin_engine.evaluators.slices.runs import WindowRuns
from muntin_engine.exchange.arrays import Source
from muntin_engine.exchange.task_payload import TaskPayload


def run_tables(task: TaskPayload, complete: Complete[WindowRuns]) -> Iterator[pa.Table]:
    """Yield the windows of modules that keep Python states as tables of the query's result schema.

    Raises:
        ModuleContractError: A module's results are not of the type that its class declares.
    """
    runs = complete.output
    firsts, counts = np.array(runs.firsts, np.int64), np.subtract(runs.lasts, runs.firsts)
    places = np.repeat(np.arange(len(firsts)), counts)
    within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = list(zip(*runs.keys, strict=True)) if task.keys else []
    keys = [pa.array(column, key).take(pa.array(places)) for column, key in zip(columns, task.keys, strict=True)]

    def output(place: int, field: Field, arrow_type: pa.DataType) -> pa.Array:
        def at(run: int) -> tuple[Key, Window]:
            return runs.keys[run], task.grids[complete.place].windows.window(runs.firsts[run])

        module = task.query.bindings[place].module
        source = Source(task, f"{module.name} {module.version}", at)
        return source.column(runs.values[place], field, arrow_type).take(pa.array(places))

    yield from window_tables(task, complete.place, firsts[places] + within, keys, output)
