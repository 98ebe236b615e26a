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
from muntin_engine.plan.request import Heartbeat

if TYPE_CHECKING:
    from muntin_engine.backends.planning.input_column import InputColumn

_SECOND: Final = 1_000_000

Marks: TypeAlias = tuple[tuple[DataFrame, Mapping[str, Column]], ...]
"""Rows of other streams: each stream, and the columns that its rows have among projected events."""


def marks_of(start: InputColumn, heartbeats: Sequence[Heartbeat], clock: DataFrame | None, scale: AxisScale) -> Marks:
    """Return the rows of heartbeats and of a clock, which lie among the rows of events.

    Args:
        start: The starts of the events.
        heartbeats: Streams whose rows are punctuation.
        clock: A stream of readings.
        scale: The meaning of the events' times.

    Raises:
        QueryError: The times of a heartbeat are of another kind than those of the events; or there is a clock, and
            times are decimals.
    """
    marks = [_punctuation(start, heartbeat) for heartbeat in heartbeats]
    if clock is not None:
        marks.append(_readings(start, clock, scale))
    return tuple(marks)


def with_marks(projected: DataFrame, marks: Iterable[tuple[DataFrame, Mapping[str, Column]]]) -> DataFrame:
    """Return projected events, which have a column `change`, with the rows of other streams among them."""
    for stream, mark_columns in marks:
        projected = projected.unionByName(fitted(projected.schema, stream, mark_columns))
    return projected


def fitted(schema: spark_types.StructType, df: DataFrame, mark_columns: Mapping[str, Column]) -> DataFrame:
    """Return the rows of a stream under the schema of projected events; columns that it does not have are null."""
    columns: list[Column] = []
    for part in schema:
        column = mark_columns.get(part.name, F.lit(None))
        columns.append(column.cast(part.dataType).alias(part.name))
    return df.select(*columns)


def _punctuation(start: InputColumn, heartbeat: Heartbeat) -> tuple[DataFrame, Mapping[str, Column]]:
    """Return a heartbeat as rows of punctuation."""
    heartbeat_columns = {"at": heartbeat.at, "source": heartbeat.source}
    calls = {name: f"with_heartbeat({name}=...)" for name in heartbeat_columns}
    beat = look_up(heartbeat.df, heartbeat_columns, calls)["at"]  # the source is looked up to refuse a missing one
    at = as_column(heartbeat.df, heartbeat.at)
    check_heartbeat(start, beat)
    # A heartbeat says that rows up to its time have come, but for those of the last `delay` ticks.
    if beat.axis is Axis.TIME:
        time = at - F.expr(f"make_dt_interval(0, 0, 0, {heartbeat.delay // _SECOND}.{heartbeat.delay % _SECOND:06})")
    elif beat.places is not None:
        time = at - F.lit(decimal_of(heartbeat.delay, beat.places))
    else:
        time = at - F.lit(heartbeat.delay)

    columns = {"change": F.lit("punctuate"), "start": time}
    if heartbeat.source is not None:
        columns["source"] = as_column(heartbeat.df, heartbeat.source)
    return heartbeat.df, columns


def _readings(start: InputColumn, clock: DataFrame, scale: AxisScale) -> tuple[DataFrame, Mapping[str, Column]]:
    """Return the readings of a clock as rows with the change 'clock'.

    Raises:
        QueryError: The times of the query are decimals.
    """
    check_clock(scale)
    if start.axis is Axis.TIME:
        reading = F.col(clock.columns[0])
    else:
        # Numbers count units since the epoch: microseconds are divided by the length of the unit.
        reading = F.expr(f"unix_micros(`{clock.columns[0]}`) * {UNITS['us']} div {UNITS[scale.unit or 'us']}")
    return clock, {"change": F.lit("clock"), "start": reading}
