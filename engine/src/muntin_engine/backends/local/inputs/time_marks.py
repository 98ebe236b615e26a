"""Rows of other tables beside the events: punctuation by a heartbeat, and readings of a clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin import Axis
from muntin.axis import decimal_of
from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import INSTANT, duckdb_type, quoted, spelled
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.frames.local_frame import LocalFrame, opened
from muntin_engine.backends.local.inputs.column_lookup import TextColumn, column_expression, look_up_column
from muntin_engine.backends.local.inputs.local_rows import LocalRows
from muntin_engine.backends.planning.input_column import InputColumn
from muntin_engine.backends.planning.time_marks import check_clock, check_heartbeat
from muntin_engine.plan.lengths import UNITS, AxisScale

if TYPE_CHECKING:
    from muntin_engine.plan.request import Heartbeat, InputRequest


def marks_of(request: InputRequest, schema: pa.Schema, scale: AxisScale) -> tuple[LocalRows, ...]:
    """Return the rows of heartbeats and of a clock, which a query reads besides the rows of events.

    Args:
        request: The events, with their heartbeats and their clock.
        schema: The columns of projected events, which all rows have.
        scale: The meaning of the events' times.

    Raises:
        QueryError: The times of a heartbeat or a clock are of another kind than those of the events.
    """
    times = schema.field("start").type
    start = InputColumn("start", type=times, spelled_type=spelled(times))  # as if an input had it, for the checks
    marks: list[LocalRows] = []
    for heartbeat in request.heartbeats:
        delay = scale.resolve(heartbeat.delay, "delay of a heartbeat")
        marks.append(_punctuation(start, heartbeat, delay, schema))
    if request.clock is not None:
        marks.append(_readings(start, opened(request.clock), schema, scale))
    return tuple(marks)


def _punctuation(start: InputColumn, heartbeat: Heartbeat, delay: int, schema: pa.Schema) -> LocalRows:
    """Return the rows of a heartbeat as rows of punctuation, whose time is that of the heartbeat minus its delay.

    Args:
        start: The starts of the events.
        heartbeat: The heartbeat.
        delay: The delay of the heartbeat, in ticks of the events' axis.
        schema: The columns of projected events.

    Raises:
        QueryError: The times of the heartbeat are of another kind than those of the events.
    """
    frame = opened(heartbeat.df)
    reader_name = "with_heartbeat(at=...)"  # for errors
    beat = look_up_column(frame, heartbeat.at, reader_name)
    check_heartbeat(start, beat)
    at = column_expression(frame, heartbeat.at, reader_name).sql
    # The delay is in ticks: microseconds of a timestamp, steps in the last place of a decimal, or ones of an integer.
    if beat.axis is Axis.TIME:
        time = f"{at} - to_microseconds({delay})"
    elif beat.decimal_places is not None:
        time = f"{at} - CAST('{decimal_of(delay, beat.decimal_places)}' AS DECIMAL(19, {beat.decimal_places}))"
    else:
        time = f"{at} - CAST({delay} AS BIGINT)"

    columns = {"change": "'punctuate'", "start": time}
    if heartbeat.source is not None:
        columns["source"] = column_expression(frame, TextColumn(heartbeat.source), "with_heartbeat(source=...)").sql
    return _fitted(frame, columns, schema)


def _readings(start: InputColumn, clock: LocalFrame, schema: pa.Schema, scale: AxisScale) -> LocalRows:
    """Return the readings of a clock as rows with the change 'clock'.

    Args:
        start: The starts of the events.
        clock: The table of the readings, in its first column.
        schema: The columns of projected events.
        scale: The meaning of the events' times.

    Raises:
        QueryError: The times of the query are decimals, or the readings are no moments.
    """
    check_clock(scale)
    name = clock.schema.names[0]
    reading = look_up_column(clock, name, "with_clock()")
    if reading.type != INSTANT:
        raise QueryError(
            f"the readings of a clock are moments, and {name!r} is of type {reading.spelled_type}\n"
            "  expected: a table whose first column is of times in a zone, such as UTC"
        )
    if start.axis is Axis.TIME:
        check_heartbeat(start, reading)
        time = quoted(name)
    else:  # the times are integers, which count units of the query since 1970; `UNITS` has the nanoseconds of each
        time = f"epoch_us({quoted(name)}) * {UNITS['us']} // {UNITS[scale.unit or 'us']}"
    return _fitted(clock, {"change": "'clock'", "start": time}, schema)


def _fitted(frame: LocalFrame, columns: Mapping[str, str], schema: pa.Schema) -> LocalRows:
    """Return the rows of a table under the schema of projected events.

    Args:
        frame: The table.
        columns: The columns that its rows have, in DuckDB's SQL, by name; the other columns are null.
        schema: The columns of projected events.
    """
    expressions: dict[str, DuckdbExpression] = {}
    for field in schema:
        value = columns.get(field.name, "NULL")
        sql = value if pa.types.is_null(field.type) else f"CAST({value} AS {duckdb_type(field.type)})"
        expressions[field.name] = DuckdbExpression(sql, field.type)
    return LocalRows(frame, expressions)
