"""The rows of several streams as those of one, each under the name of its stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import Axis
from muntin.errors import QueryError
from muntin_engine.backends.backend import EventRows, UnitedStreams
from muntin_engine.backends.planning.union_columns import UnionColumns, event_columns, source_rules, sources_of
from muntin_engine.backends.spark.inputs.column_lookup import as_column
from muntin_engine.backends.spark.inputs.column_reader import SparkColumnReader
from muntin_engine.backends.spark.inputs.declared_frames import is_known, known_schema_of_union, with_known_columns
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.plan.request import SqlExpression, backquoted

if TYPE_CHECKING:
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.plan.request import ColumnLike, Heartbeat, InputRequest


@in_session()
def unite(streams: Mapping[str, InputRequest]) -> UnitedStreams:
    """Make one stream of several: their rows, and the rules and heartbeats of each.

    Args:
        streams: The streams, by name.

    Raises:
        QueryError: A column is missing, or has different types in two streams.
    """
    reader = SparkColumnReader()
    union_columns = UnionColumns.of(reader, streams)
    tables = {name: _rows(reader, union_columns, name, stream) for name, stream in streams.items()}

    # If the query writer has declared the columns of all streams, Spark is not asked for them.
    are_known = all(is_known(stream.df) for stream in streams.values())
    if are_known:
        schema = known_schema_of_union(streams)
    else:
        _check_types(union_columns, tables)
    try:
        df = reduce(lambda rows, table: rows.unionByName(table, allowMissingColumns=True), tables.values())
    except AnalysisException as error:
        raise QueryError(
            f"the columns of the streams of a union do not fit together: {str(error).splitlines()[0]}\n"
            "  cast or rename those of the same name, for example with select(...)"
        ) from error

    if are_known:
        first_stream = next(iter(streams.values()))
        df = with_known_columns(df, schema, is_stream=first_stream.df.isStreaming)

    # One column stands for the conditions of all streams: it says whether a row meets the conditions of its stream.
    conditions: tuple[ColumnLike, ...] = ()
    if union_columns.condition:
        quoted_name = backquoted(union_columns.condition)
        conditions = (SqlExpression(quoted_name) if are_known else F.col(quoted_name),)
    heartbeats: list[Heartbeat] = []
    for name, stream in streams.items():
        heartbeats += _heartbeats(name, stream)
    rows = EventRows(df, union_columns.columns_of_events(conditions))
    return UnitedStreams(rows, tuple(source_rules(streams)), tuple(heartbeats))


def _check_types(union_columns: UnionColumns, tables: Mapping[str, DataFrame]) -> None:
    """Raise if a column has one type in one stream and another type in another one.

    Args:
        union_columns: The columns of the union.
        tables: The rows of each stream.

    Raises:
        QueryError: A column has different types.
    """
    for column in union_columns.names_of_one_type:
        types: dict[str, str | None] = {}
        for name, table in tables.items():
            if column in table.columns:
                types[name] = _spelled(table.schema[column].dataType)
        union_columns.check_types(column, types)


def _spelled(data_type: spark_types.DataType) -> str | None:
    """Return the name of a type, for errors; None for the type of nulls, which fits any other type."""
    return None if isinstance(data_type, spark_types.NullType) else data_type.simpleString()


def _rows(reader: SparkColumnReader, union_columns: UnionColumns, name: str, stream: InputRequest) -> DataFrame:
    """Return the rows of a stream with the columns that all streams of a union have, and its own columns beside them.

    Args:
        reader: The reader that looks up columns.
        union_columns: The columns of the union.
        name: The name of the stream.
        stream: The stream.

    Raises:
        QueryError: A column is missing, or has a name that the union needs.
    """
    fields = union_columns.look_up(reader, stream)
    start_field = fields["start"]

    # The columns that make rows events, under the names that they have in all streams.
    columns: dict[str, Column] = {}
    for part, column in event_columns(stream).items():
        if column is not None:
            columns[part] = as_column(stream.df, column)
    if stream.change is None:
        columns["change"] = F.lit("insert")
    if stream.end is None:
        if stream.is_edge:
            columns["end"] = F.lit(None).cast(start_field.spelled_type)  # a sample lasts until the next one
        else:
            columns["end"] = _tick_after(columns["start"], start_field)
    for key_name, key in zip(union_columns.keys, stream.keys, strict=True):
        columns[key_name] = as_column(stream.df, key)
    if union_columns.condition:
        condition = F.lit(True)
        if stream.conditions:
            stream_conditions = [as_column(stream.df, stream_condition) for stream_condition in stream.conditions]
            condition = reduce(and_, stream_conditions)
        columns[union_columns.condition] = condition

    # All other columns of the stream are payload.
    event_names = [part.name for part in fields.values()]
    payload = union_columns.payload(name, stream.df.columns, list(columns), event_names)

    # `sources` is an array with the sources of a row. The last line makes of each row one row for each source. An event
    # has one source. Punctuation, or a row that closes the stream, is of all sources of its stream if it names none.
    sources = F.array(*map(F.lit, sources_of(name, stream)))
    if stream.source is not None:
        is_of_all = columns["source"].isNull() & columns["change"].isin("punctuate", "close")
        sources = F.when(is_of_all, sources).otherwise(F.array(F.concat(F.lit(f"{name}."), columns["source"])))
    columns.pop("source", None)  # `sources` takes its place: there, the name of the stream is before each source

    payload_columns = [F.col(backquoted(payload_name)) for payload_name in payload]
    event_parts = [column.alias(part) for part, column in columns.items()]
    rows: DataFrame = stream.df.select(*payload_columns, *event_parts, sources.alias("source"))
    return rows.withColumn("source", F.explode("source"))


def _tick_after(start: Column, times: InputColumn) -> Column:
    """Return the end of a point: a tick after its start.

    Args:
        start: The column with the starts of points.
        times: The description of that column, with its type.
    """
    if times.axis is Axis.TIME:
        return start + F.expr("INTERVAL 0.000001 SECOND")
    tick = F.lit(1)
    if times.decimal_places is not None:
        tick = F.lit(10**-times.decimal_places).cast(f"decimal(18, {times.decimal_places})")
    return F.try_add(start, tick).cast(times.spelled_type)  # null if the type does not hold the sum


def _heartbeats(name: str, stream: InputRequest) -> Iterator[Heartbeat]:
    """Yield the heartbeats of a stream, each with the names that its sources have in the union.

    Args:
        name: The name of the stream.
        stream: The stream.
    """
    for heartbeat in stream.heartbeats:
        if heartbeat.source is None:
            # A heartbeat of the whole stream becomes a row for each of its sources.
            each_source = F.explode(F.array(*map(F.lit, sources_of(name, stream))))
            rows = heartbeat.df.withColumn("source of all", each_source)
            yield replace(heartbeat, df=rows, source=F.col("`source of all`"))
        else:
            source = as_column(heartbeat.df, heartbeat.source)
            yield replace(heartbeat, source=F.concat(F.lit(f"{name}."), source))
