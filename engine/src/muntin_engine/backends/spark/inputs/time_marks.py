"""Rows of other streams beside the events: punctuation by a heartbeat, and readings of a clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import Axis
from muntin.axis import decimal_of
from muntin.errors import QueryError
from muntin.errors.messages import Argument
from muntin_engine.backends.spark.column_types import axis_of, places_of
from muntin_engine.backends.spark.inputs.input_columns import as_column, fields_of
from muntin_engine.plan.lengths import UNITS, AxisScale
from muntin_engine.plan.request import Heartbeat

_SECOND: Final = 1_000_000

Marks: TypeAlias = tuple[tuple[DataFrame, Mapping[str, Column]], ...]
"""Rows of other streams: each stream, and the columns that its rows have among projected events."""


def marks_of(
    start: spark_types.StructField, heartbeats: Sequence[Heartbeat], clock: DataFrame | None, scale: AxisScale
) -> Marks:
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
    return (*marks, *([] if clock is None else [_readings(start, clock, scale)]))


def with_marks(projected: DataFrame, marks: Iterable[tuple[DataFrame, Mapping[str, Column]]]) -> DataFrame:
    """Return projected events, which say what they do, with the rows of other streams among them."""
    for stream, given in marks:
        projected = projected.unionByName(fitted(projected.schema, stream, given))
    return projected


def fitted(schema: spark_types.StructType, df: DataFrame, given: Mapping[str, Column]) -> DataFrame:
    """Return some columns of a stream under the schema of projected events; the others are null."""
    return df.select(*(given.get(part.name, F.lit(None)).cast(part.dataType).alias(part.name) for part in schema))


def _punctuation(start: spark_types.StructField, heartbeat: Heartbeat) -> tuple[DataFrame, Mapping[str, Column]]:
    at = as_column(heartbeat.at)
    given = {"at": heartbeat.at, "source": heartbeat.source}
    field = fields_of(heartbeat.df, given, {name: f"with_heartbeat({name}=...)" for name in given})["at"]
    is_same = field.dataType == start.dataType
    if axis_of(field.name, field.dataType) is Axis.TIME:
        time = at - F.expr(f"make_dt_interval(0, 0, 0, {heartbeat.delay // _SECOND}.{heartbeat.delay % _SECOND:06})")
    elif (places := places_of(field.dataType)) is not None:
        time, is_same = at - F.lit(decimal_of(heartbeat.delay, places)), places == places_of(start.dataType)
    else:
        is_same = axis_of("at", start.dataType) is Axis.TICKS and places_of(start.dataType) is None
        time = at - F.lit(heartbeat.delay)
    if not is_same:
        raise QueryError(
            f"the events' times are {start.dataType.simpleString()}, those of the heartbeat are "
            f"{field.dataType.simpleString()}\n  cast them to the same type"
        )
    columns = {"change": F.lit("punctuate"), "start": time}
    return heartbeat.df, columns | ({} if heartbeat.source is None else {"source": as_column(heartbeat.source)})


def _readings(
    start: spark_types.StructField, clock: DataFrame, scale: AxisScale
) -> tuple[DataFrame, Mapping[str, Column]]:
    if scale.places is not None:
        raise QueryError(
            "a clock reads time, and the times of this query are decimals\n"
            "  give rows of readings yourself, in microseconds since 1970: {change}; or count instead of timing",
            change=Argument("change", "clock"),
        )
    reading = F.col(clock.columns[0])
    is_time = axis_of("at", start.dataType) is Axis.TIME
    counted = F.expr(f"unix_micros(`{clock.columns[0]}`) * {UNITS['us']} div {UNITS[scale.unit or 'us']}")
    given = {"change": F.lit("clock"), "start": reading if is_time else counted}
    return clock, given
