"""Queries without state: the calls of an operator for many events in turn, as they come, or the events themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from muntin import INFINITY, Event, StreamOperator, Window
from muntin.errors import ModuleFailedError
from muntin.errors.safe_text import safe_cause
from muntin.query_checks import check_cause
from muntin_engine.modules.binding import Binding
from muntin_engine.modules.calls import CURRENT_CALL
from muntin_engine.modules.plain_results import listing
from muntin_engine.modules.skipping import SKIPPED, payloads_of
from muntin_engine.time.changes import Key
from muntin_engine.wire.python_values import columns_of, tuples_of
from muntin_engine.wire.result_columns import ResultColumns
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.times import extents


def results_of(task: TaskPayload, rows: pa.Table) -> pa.Table:
    """Return the results of the good rows of a query without state.

    Keys stay columns; times and payloads become Python values.

    Cost: for each row a call of the operator, and for each of its rows a value.

    Raises:
        ModuleFailedError: The operator raised an exception.
        ModuleContractError: A row is not of the type that its class declares, or starts before its event.
    """
    (binding,), given, at = task.query.bindings, task.input, rows.column("start").to_numpy()
    times: list[int] = at.tolist()

    def locate(place: int) -> tuple[Key, Window]:
        return tuples_of(rows.slice(place, 1), given.key_names)[0], Window(times[place], times[place] + 1)

    payloads = payloads_of(binding.select, columns_of(rows, given.payload_names), len(times))
    returned = calls(binding, times, payloads, locate)
    causes = np.repeat(np.arange(len(times)), np.fromiter(map(len, returned), np.int64, len(times)))
    starts, values = at[causes], list(chain.from_iterable(returned))
    ends, module = starts + 1, binding.module
    if any(issubclass(kind, Event) for kind in set(map(type, values))):
        for number, row in enumerate(values):
            if isinstance(row, Event):
                cause = int(causes[number])
                check_cause(module, row.start, times[cause], locate(cause)[0])
                starts[number], ends[number], values[number] = row.start, row.end, row.payload
    result_columns = ResultColumns(task, f"{module.name} {module.version}", lambda number: locate(int(causes[number])))
    keys = rows.select(given.key_names).take(pa.array(causes))
    columns = [keys.column(name).combine_chunks() for name in given.key_names]
    columns.append(extents(task, starts, pa.array(ends, mask=ends >= INFINITY)))
    for place, output in enumerate(task.outputs):
        arrow_type = task.results.field(len(columns)).type
        columns.append(result_columns.part(values, module.result_field(), place, output, arrow_type))
    return pa.table(columns, schema=task.results)


def passed_events(task: TaskPayload, rows: pa.Table) -> pa.Table:
    """Return good rows of a query without state as its results: their keys, lifetimes and payloads.

    Cost: a few passes over columns; no value becomes a Python object.
    """
    join, given = task.plan.join, task.input
    assert join is not None, "a query without operators returns the events themselves"
    columns = [rows.column(name).combine_chunks() for name in given.key_names]
    starts = rows.column("start").to_numpy()
    ends = rows.column("end").to_numpy()
    columns.append(extents(task, starts, pa.array(ends, mask=ends >= INFINITY)))
    for joined in join.columns:
        columns.append(rows.column(given.payload_names[joined.place]).combine_chunks())
    return pa.table(columns, schema=task.results)


def calls(
    binding: Binding,
    times: Sequence[int],
    payloads: Sequence[object],
    locate: Callable[[int], tuple[Key, Window]],
) -> list[Sequence[object]]:
    """Call an operator with each of some events, and return its rows for each.

    Args:
        binding: The operator.
        times: When the events happened.
        payloads: Their payloads; `SKIPPED` where it does not accept one.
        locate: Returns the key and the tick of an event by its place, for errors.

    Raises:
        ModuleFailedError: The operator raised an exception.
    """
    module, meter = binding.module, binding.meter
    assert isinstance(module, StreamOperator), "only such modules follow a stream"
    on_event = listing(module.on_event, binding.plain, module.result_field())
    CURRENT_CALL.set_module(f"{module.name} {module.version}")
    returned, started = list[Sequence[object]](), meter.now()
    try:
        for payload, time in zip(payloads, times, strict=True):
            returned.append(() if payload is SKIPPED else on_event(None, payload, time))
    except BaseException as error:  # an exit, too, is the module's failure
        failed = ModuleFailedError(module.name, module.version, *locate(len(returned)), "on_event", error)
        raise failed from safe_cause(error)
    meter.since(started)
    return returned
