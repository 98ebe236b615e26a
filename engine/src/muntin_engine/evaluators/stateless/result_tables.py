"""The output of an operator without state as a typed table."""

from __future__ import annotations

import pyarrow as pa

from muntin import INFINITY, Window
from muntin.schemas import Struct
from muntin_engine.core.changes import Key
from muntin_engine.evaluators.stateless.calls import follow
from muntin_engine.exchange.arrays import Source
from muntin_engine.exchange.intake import tuples_of
from muntin_engine.exchange.task_payload import TaskPayload
from muntin_engine.exchange.times import extents


def results_of(task: TaskPayload, rows: pa.Table) -> pa.Table:
    """Return the results of the good rows of a query without state.

    Keys stay columns; times and payloads become Python values.

    Raises:
        ModuleFailedError: The operator raised an exception.
        ModuleContractError: A row is not of the type that its class declares, or starts before its event.
    """
    (binding,), given, times = task.query.bindings, task.input, rows.column("start").to_pylist()

    def key_of(place: int) -> Key:
        return tuples_of(rows.slice(place, 1), given.key_names)[0]

    found = follow(binding, times, tuples_of(rows, given.payload_names), key_of)

    def at(number: int) -> tuple[Key, Window]:
        cause = found.causes[number]
        return key_of(cause), Window(times[cause], times[cause] + 1)

    source, row = Source(task, f"{binding.module.name} {binding.module.version}", at), binding.module.result_field()
    keys = rows.select(given.key_names).take(pa.array(found.causes, pa.int64()))
    columns = [keys.column(name).combine_chunks() for name in given.key_names]
    columns.append(extents(task, found.starts, [None if end >= INFINITY else end for end in found.ends]))
    for place, output in enumerate(task.outputs):
        parts = source.parts(found.values, row.type, place) if isinstance(row.type, Struct) else found.values
        columns.append(source.column(parts, output, task.results.field(len(columns)).type))
    return pa.table(columns, schema=task.results)
