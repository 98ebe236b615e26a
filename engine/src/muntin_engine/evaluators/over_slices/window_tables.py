"""Complete windows of a grid as typed tables, for evaluators over slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from muntin import TimestampPolicy
from muntin.columnar.arrays import IntArray
from muntin.schemas import Field
from muntin_engine.exchange.counting import ticks_of
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.exchange.times import extents

MOST_ROWS: Final = 250_000
"""Most rows of a blob of results."""


def window_tables(
    task: TaskPayload,
    place: int,
    windows: IntArray,
    keys: Sequence[pa.Array],
    output: Callable[[int, Field, pa.DataType], pa.Array],
) -> Iterator[pa.Table]:
    """Yield windows as tables of the query's result schema.

    Args:
        task: The query.
        place: Which of its specifications the windows are of.
        windows: Their numbers.
        keys: The key columns.
        output: Returns the results of a module, by its place.
    """
    grid = task.grids[place].windows
    starts = grid.counted.start(windows)
    starts, ends = (ticks_of(grid.periods, counted) for counted in (starts, starts + grid.counted.size))
    name = list(task.plan.named_windows)[place] if task.plan.named_windows else None
    yield from extent_tables(task, starts, ends, keys, output, name)


def extent_tables(  # what a row is made of
    task: TaskPayload,
    starts: IntArray,
    ends: IntArray,
    keys: Sequence[pa.Array],
    output: Callable[[int, Field, pa.DataType], pa.Array],
    name: str | None = None,
) -> Iterator[pa.Table]:
    """Yield windows as tables of the query's result schema.

    Args:
        task: The query.
        starts: Where the windows start.
        ends: Where they end; masked where they do not.
        keys: The key columns.
        output: Returns the results of a module, by its place.
        name: The name of their specification, where there are several.
    """
    fields = list(task.results)
    columns = {field.name: column for field, column in zip(fields, keys, strict=False)}
    columns["window"] = extents(task, starts, ends)
    if task.query.timestamps is TimestampPolicy.POINT_AT_END:
        columns["lifetime"] = extents(task, ends, ends + 1)
    if name is not None:
        columns["window_name"] = pa.repeat(pa.scalar(name, pa.string()), len(starts))
    for number, field in enumerate(fields[len(fields) - len(task.outputs) :]):
        columns[field.name] = output(number, task.outputs[number], field.type)
    table = pa.table([columns[name] for name in task.results.names], schema=task.results)
    yield from (table.slice(start, MOST_ROWS) for start in range(0, table.num_rows, MOST_ROWS))
