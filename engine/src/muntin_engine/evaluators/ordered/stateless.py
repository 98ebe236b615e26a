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
from muntin_engine.modules.current_call import CURRENT_CALL
from muntin_engine.modules.plain_results import listing
from muntin_engine.modules.skipping import SKIPPED, payloads_of
from muntin_engine.time.changes import Key
from muntin_engine.wire.arrow_arrays import arrow_array, numpy_array
from muntin_engine.wire.python_values import columns_of, tuples_of
from muntin_engine.wire.result_columns import ResultColumns
from muntin_engine.wire.task_payload import TaskPayload
from muntin_engine.wire.times import extents


def results_of(task: TaskPayload, rows: pa.Table) -> pa.Table:
    """Call the operator of a query without state with good rows, and return its results.

    Keys stay columns; times and payloads become Python values.

    Cost: for each row a call of the operator, and for each of its rows a value.

    Raises:
        ModuleFailedError: The operator raised an exception.
        ModuleContractError: A row is not of the type that its class declares, or starts before its event.
    """
    (binding,) = task.query.bindings
    module = binding.module
    input_task = task.input
    event_times = numpy_array(rows.column("start"))
    times: list[int] = event_times.tolist()

    def locate(place: int) -> tuple[Key, Window]:
        """Return the key of an input row, and its tick, for messages."""
        key = tuples_of(rows.slice(place, 1), input_task.key_names)[0]
        return key, Window(times[place], times[place] + 1)

    payloads = payloads_of(binding.select, columns_of(rows, input_task.payload_names), len(times))
    rows_of_events = call_for_each(binding, times, payloads.values, locate)

    # A result is a point at the time of its cause, the input row that the operator was called with.
    row_counts = np.fromiter(map(len, rows_of_events), np.int64, len(times))
    causes = np.repeat(np.arange(len(times)), row_counts)  # the place of the cause of each result
    starts = event_times[causes]
    ends = starts + 1
    values = list(chain.from_iterable(rows_of_events))

    # A result that is an event has a lifetime of its own.
    has_lifetimes = any(issubclass(value_type, Event) for value_type in set(map(type, values)))
    if has_lifetimes:
        for result_place, row in enumerate(values):
            if isinstance(row, Event):
                cause = int(causes[result_place])
                key, _ = locate(cause)
                check_cause(module, row.start, times[cause], key)
                starts[result_place] = row.start
                ends[result_place] = row.end
                values[result_place] = row.payload

    # The columns: the keys of the causes, the lifetimes, and the fields of the operator's rows.
    label = f"{module.name} {module.version}"
    result_columns = ResultColumns(task, label, lambda result_place: locate(int(causes[result_place])))
    keys = rows.select(input_task.key_names).take(arrow_array(causes))
    columns = [keys.column(name).combine_chunks() for name in input_task.key_names]
    columns.append(extents(task, starts, arrow_array(ends, mask=ends >= INFINITY)))
    for place, output in enumerate(task.plan.outputs):
        arrow_type = task.results.field(len(columns)).type  # the field of the next column
        columns.append(result_columns.part(values, module.result_field(), place, output, arrow_type))
    return pa.table(columns, schema=task.results)


def passed_events(task: TaskPayload, rows: pa.Table) -> pa.Table:
    """Pass good rows of a query without state on as its results: their keys, lifetimes and payloads.

    Cost: a few passes over columns; no value becomes a Python object.
    """
    assert task.plan.passes_events, "only a query without modules returns the events themselves"
    input_task = task.input
    columns = [rows.column(name).combine_chunks() for name in input_task.key_names]
    starts = numpy_array(rows.column("start"))
    ends = numpy_array(rows.column("end"))
    columns.append(extents(task, starts, arrow_array(ends, mask=ends >= INFINITY)))
    for event_column in task.plan.joined_columns:  # those of the payload: to a plan, such a query joins with nothing
        columns.append(rows.column(input_task.payload_names[event_column.place]).combine_chunks())
    return pa.table(columns, schema=task.results)


def call_for_each(
    binding: Binding,
    times: Sequence[int],
    payloads: Sequence[object],
    locate: Callable[[int], tuple[Key, Window]],
) -> list[Sequence[object]]:
    """Call an operator with events, and return its rows for each.

    Args:
        binding: The operator.
        times: The time of each event.
        payloads: The payload of each event; `SKIPPED` if the operator does not accept it.
        locate: Returns the key and the tick of an event by its place, for errors.

    Raises:
        ModuleFailedError: The operator raised an exception.
    """
    module = binding.module
    meter = binding.meter
    assert isinstance(module, StreamOperator), "only such modules follow a stream"
    on_event = listing(module.on_event, binding.plain, module.result_field())
    CURRENT_CALL.set_module(f"{module.name} {module.version}")
    rows_of_events: list[Sequence[object]] = []
    started = meter.now()
    try:
        for payload, time in zip(payloads, times, strict=True):
            rows = () if payload is SKIPPED else on_event(None, payload, time)  # the operator has no state
            rows_of_events.append(rows)
    except BaseException as error:  # an exit, too, is the module's failure
        key, tick = locate(len(rows_of_events))
        failure = ModuleFailedError(module.name, module.version, key, tick, "on_event", error)
        raise failure from safe_cause(error)
    meter.since(started)
    return rows_of_events
