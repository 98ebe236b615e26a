"""Rows of other streams beside the events: punctuation by a heartbeat, and readings of a clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import Axis
from muntin.axis import decimal_of
from muntin_engine.backends.planning.time_marks import check_clock, check_heartbeat
from muntin_engine.backends.spark.inputs.column_lookup import as_column, look_up
from muntin_engine.plan.lengths import UNITS, AxisScale
from muntin_engine.plan.request import Heartbeat, backquoted

if TYPE_CHECKING:
    from muntin_engine.backends.planning.input_column import InputColumn

_SECOND: Final = 1_000_000

Marks: TypeAlias = tuple[tuple[DataFrame, Mapping[str, Column]], ...]
"""The streams of heartbeats and clocks, each with the columns that its rows have when they are put among events."""


def marks_of(start: InputColumn, heartbeats: Sequence[Heartbeat], clock: DataFrame | None, scale: AxisScale) -> Marks:
    """Return the streams of heartbeats and of a clock, whose rows are put among the events of an input.

    Args:
        start: The column with the starts of the events.
        heartbeats: The heartbeats: streams whose rows become punctuation.
        clock: The stream of a clock's readings; None if there is no clock.
        scale: The meaning of the events' times, such as their unit.

    Raises:
        QueryError: The times of a heartbeat and of the events are of different kinds; or there is a clock, and times
            are decimals.
    """
    marks = [_punctuation(start, heartbeat) for heartbeat in heartbeats]
    if clock is not None:
        marks.append(_readings(start, clock, scale))
    return tuple(marks)


def with_marks(projected: DataFrame, marks: Iterable[tuple[DataFrame, Mapping[str, Column]]]) -> DataFrame:
    """Return projected events together with the rows of heartbeats and clocks.

    Args:
        projected: The events, which have a column `change`.
        marks: The streams of heartbeats and clocks, as `marks_of` returns them.
    """
    for stream, mark_columns in marks:
        projected = projected.unionByName(fitted(projected.schema, stream, mark_columns))
    return projected


def fitted(schema: spark_types.StructType, df: DataFrame, mark_columns: Mapping[str, Column]) -> DataFrame:
    """Return the rows of a heartbeat or a clock in the schema of projected events.

    Args:
        schema: The schema.
        df: The stream of the heartbeat or the clock.
        mark_columns: The columns of the rows of this stream, by name. All other columns of the schema are null.
    """
    columns: list[Column] = []
    for part in schema:
        column = mark_columns.get(part.name, F.lit(None))
        columns.append(column.cast(part.dataType).alias(part.name))
    return df.select(*columns)


def _punctuation(start: InputColumn, heartbeat: Heartbeat) -> tuple[DataFrame, Mapping[str, Column]]:
    """Return the stream of a heartbeat, and the columns of its rows as punctuation.

    Args:
        start: The column with the starts of the events.
        heartbeat: The heartbeat, with its delay in ticks.

    Raises:
        QueryError: The stream lacks a column, or its times and the events' are of different kinds.
    """
    heartbeat_columns = {"at": heartbeat.at, "source": heartbeat.source}
    calls = {name: f"with_heartbeat({name}=...)" for name in heartbeat_columns}
    described_columns = look_up(heartbeat.df, heartbeat_columns, calls)  # raises if one of the columns is missing
    time_column = described_columns["at"]
    check_heartbeat(start, time_column)

    # A heartbeat promises that all rows before its time minus the delay have come.
    heartbeat_time = as_column(heartbeat.df, heartbeat.at)
    if time_column.axis is Axis.TIME:
        seconds = f"{heartbeat.delay // _SECOND}.{heartbeat.delay % _SECOND:06}"
        promised_time = heartbeat_time - F.expr(f"make_dt_interval(0, 0, 0, {seconds})")
    elif time_column.decimal_places is not None:
        promised_time = heartbeat_time - F.lit(decimal_of(heartbeat.delay, time_column.decimal_places))
    else:
        promised_time = heartbeat_time - F.lit(heartbeat.delay)

    columns = {"change": F.lit("punctuate"), "start": promised_time}
    if heartbeat.source is not None:
        columns["source"] = as_column(heartbeat.df, heartbeat.source)
    return heartbeat.df, columns


def _readings(start: InputColumn, clock: DataFrame, scale: AxisScale) -> tuple[DataFrame, Mapping[str, Column]]:
    """Return the stream of a clock as it is, and the columns of its readings as rows with the change 'clock'.

    Args:
        start: The column with the starts of the events.
        clock: The stream of readings, which are timestamps.
        scale: The meaning of the events' times.

    Raises:
        QueryError: The times of the query are decimals.
    """
    check_clock(scale)
    if start.axis is Axis.TIME:
        reading = F.col(backquoted(clock.columns[0]))
    else:
        # Times that are integers count units since the epoch: microseconds, unless the query writer has named a unit.
        # Readings are cast from microseconds to that unit.
        reading = F.expr(f"unix_micros({backquoted(clock.columns[0])}) * {UNITS['us']} div {UNITS[scale.unit or 'us']}")
    return clock, {"change": F.lit("clock"), "start": reading}
