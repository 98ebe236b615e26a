"""The rows of several tables as those of one stream, each under the name of its stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import duckdb
import pyarrow as pa

from muntin import Axis
from muntin.errors import QueryError
from muntin_engine.backends.backend import EventRows, UnitedStreams
from muntin_engine.backends.local.duckdb_types import duckdb_type, quoted, spelled, text_literal
from muntin_engine.backends.local.expressions.called_function import CalledFunction
from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.frames.frame_kind import FrameKind
from muntin_engine.backends.local.frames.local_frame import (
    ChangedFrame,
    LocalFrame,
    called_by_all,
    kept_columns,
    opened,
)
from muntin_engine.backends.local.frames.micro_batch import MicroBatch
from muntin_engine.backends.local.inputs.column_lookup import TextColumn, column_expression
from muntin_engine.backends.local.inputs.column_reader import LocalColumnReader
from muntin_engine.backends.planning.union_columns import UnionColumns, event_columns, source_rules, sources_of
from muntin_engine.plan.request import SqlExpression, backquoted

if TYPE_CHECKING:
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.plan.request import Heartbeat, InputRequest


_SOURCE: Final = "source of all"
"""The name of a column of a heartbeat: the source of the union that a row speaks for."""


@dataclass(frozen=True, eq=False)
class UnitedFrame(LocalFrame):
    """The rows of several tables, one after the other; a column that one of them lacks is null in its rows.

    Attributes:
        frames: The tables.
        schema: The columns of all.
    """

    frames: Sequence[LocalFrame]
    schema: pa.Schema

    @property
    def kind(self) -> FrameKind:
        """The kind of the first table."""
        return self.frames[0].kind

    @property
    def micro_batch(self) -> MicroBatch | None:
        """The micro-batch of the tables: all are of one, or all end."""
        return self.frames[0].micro_batch

    @property
    def runs_queries(self) -> bool:
        """True if the rows of one of the tables are the results of a query."""
        return any(frame.runs_queries for frame in self.frames)

    def refusal(self, name: str) -> str | None:
        """Return the error for reading a column whose type in one of the tables has no meaning in a query, or None."""
        for frame in self.frames:
            if name not in frame.schema.names:
                continue  # it is null in the rows of the table
            refusal = frame.refusal(name)
            if refusal is not None:
                return refusal
        return None

    def called_functions(self) -> tuple[CalledFunction, ...]:
        """Return the functions that the tables call."""
        return called_by_all(self.frames)

    def is_hidden(self, name: str) -> bool:
        """True if a column of one of the tables cannot be read by expressions."""
        return any(name in frame.schema.names and frame.is_hidden(name) for frame in self.frames)

    def relations(self, names: Sequence[str]) -> Iterator[duckdb.DuckDBPyRelation]:
        """Yield the rows of each table, in the columns and types of the union; a column that a table lacks is null."""
        for frame in self.frames:
            columns: list[str] = []
            for name in names:
                value = quoted(name) if name in frame.schema.names else "NULL"
                data_type = self.schema.field(name).type
                if not pa.types.is_null(data_type):  # another table may have the column in a larger type
                    value = f"CAST({value} AS {duckdb_type(data_type)})"
                columns.append(f"{value} AS {quoted(name)}")
            read_names = [name for name in names if name in frame.schema.names]
            for relation in frame.relations(read_names):
                yield relation.project(", ".join(columns) or "1")  # a relation needs a column, even to count its rows


def unite(streams: Mapping[str, InputRequest]) -> UnitedStreams:
    """Make one stream of several: the rows of all, and the rules and heartbeats of each source.

    Args:
        streams: The streams, by name.

    Raises:
        QueryError: A column is missing, or columns of the streams are of different types.
    """
    reader = LocalColumnReader()
    union_columns = UnionColumns.of(reader, streams)
    frames: dict[str, LocalFrame] = {}
    for name, stream in streams.items():
        frames[name] = _rows(reader, union_columns, name, stream)

    # Keys, times and orders have to be of one type; other columns only need a type in common.
    for column in union_columns.names_of_one_type:
        types: dict[str, str | None] = {}
        for name, frame in frames.items():
            if column in frame.schema.names:
                data_type = frame.schema.field(column).type
                types[name] = None if pa.types.is_null(data_type) else spelled(data_type)
        union_columns.check_types(column, types)
    united = UnitedFrame(tuple(frames.values()), _united_schema(frames))

    # Whether a row meets the conditions of its own stream is a column, and that column is the condition of the union.
    conditions: tuple[SqlExpression, ...] = ()
    if union_columns.condition:
        conditions = (SqlExpression(backquoted(union_columns.condition)),)
    heartbeats: list[Heartbeat] = []
    for name, stream in streams.items():
        heartbeats += _heartbeats(name, stream)
    rows = EventRows(united, union_columns.columns_of_events(conditions))
    return UnitedStreams(rows, tuple(source_rules(streams)), tuple(heartbeats))


def _united_schema(frames: Mapping[str, LocalFrame]) -> pa.Schema:
    """Return the columns of a union: columns of one name become one, in a type that holds the values of each.

    Args:
        frames: The tables of the union, by the names of their streams.

    Raises:
        QueryError: There is no such type, or names differ only in upper and lower case.
    """
    types: dict[str, pa.DataType] = {}
    spelled_names: dict[str, str] = {}  # by a name in small letters, the name as the first stream spells it
    for stream, frame in frames.items():
        for field in frame.schema:
            name = spelled_names.setdefault(field.name.casefold(), field.name)
            united_type = _united_type(types.get(name, pa.null()), field.type)
            if name != field.name or united_type is None:
                kind = spelled(field.type)
                raise QueryError(
                    f"the columns of the streams of a union do not fit together: {field.name} of {stream} is {kind}, "
                    f"and {name} of another is {spelled(types[name])}\n"
                    "  cast or rename those of the same name, for example with select(...)"
                )
            types[name] = united_type
    return pa.schema(list(types.items()))


def _united_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the type of a column of a union that has values of two types; None if there is no such type.

    Only numbers of one kind mix, whole numbers or floats, as in a union on Spark. Expressions mix more types (see
    `duckdb_expression.common_type`).
    """
    if left == right or pa.types.is_null(right):
        return left
    if pa.types.is_null(left):
        return right
    for is_kind in (pa.types.is_integer, pa.types.is_floating):
        if is_kind(left) and is_kind(right):
            return max(left, right, key=lambda data_type: data_type.bit_width)
    return None


def _rows(reader: LocalColumnReader, union_columns: UnionColumns, name: str, stream: InputRequest) -> LocalFrame:
    """Return the rows of one stream with the columns of the union, and then its payload columns.

    Args:
        reader: The reader of columns.
        union_columns: The columns that all streams have.
        name: The name of the stream.
        stream: The stream.

    Raises:
        QueryError: A column is missing, or has a name that is the union's own.
    """
    frame = opened(stream.df)
    input_columns = union_columns.look_up(reader, stream)
    columns: dict[str, DuckdbExpression] = {}
    for role, column in event_columns(stream).items():
        if column is not None:
            columns[role] = column_expression(frame, column, role)

    # A union always has changes and ends, which this stream may do without.
    if stream.change is None:
        columns["change"] = DuckdbExpression("'insert'", pa.string())
    if stream.end is None:  # an edge has no end yet, and other events without an end are points
        end = "NULL" if stream.is_edge else _after(columns["start"].sql, input_columns["start"])
        times = columns["start"].type
        columns["end"] = DuckdbExpression(f"CAST({end} AS {duckdb_type(times)})", times)

    # Keys have the names that they have in the first stream.
    for key_name, key in zip(union_columns.keys, stream.keys, strict=True):
        columns[key_name] = column_expression(frame, key, "key")

    if union_columns.condition:
        condition = DuckdbExpression("TRUE", pa.bool_())  # all rows of a stream without conditions meet them
        if stream.conditions:
            condition = column_expression(frame, reader.conjunction(stream.conditions), "where")
        columns[union_columns.condition] = condition

    # The source of the stream becomes a source of the union. Its column comes last, as `_source` may make several rows
    # of one row of punctuation.
    columns.pop("source", None)
    names_in_stream = [input_column.name for input_column in input_columns.values()]
    payload_names = union_columns.payload(
        stream_name=name, all_names=frame.schema.names, names_in_union=list(columns), names_in_stream=names_in_stream
    )
    columns["source"] = _source(frame, name, stream, columns["change"].sql)
    return ChangedFrame(
        frame, [*kept_columns(frame, payload_names), *columns.items()], kept_names=frozenset(payload_names)
    )


def _source(frame: LocalFrame, name: str, stream: InputRequest, change: str) -> DuckdbExpression:
    """Return the column of the union's source for the rows of a stream.

    Punctuation without a source speaks for all sources of its stream: the column makes a row for each of them.

    Args:
        frame: The table of the stream.
        name: The name of the stream.
        stream: The stream.
        change: The column of changes, in DuckDB's SQL.
    """
    if stream.source is None:
        return DuckdbExpression(text_literal(name), pa.string())
    source = column_expression(frame, TextColumn(stream.source), "source").sql
    is_for_all = f"{source} IS NULL AND {change} IN ('punctuate', 'close')"
    one_source = f"[{text_literal(f'{name}.')} || {source}]"
    return DuckdbExpression(
        f"unnest(CASE WHEN {is_for_all} THEN {_all_sources(name, stream)} ELSE {one_source} END)", pa.string()
    )


def _all_sources(name: str, stream: InputRequest) -> str:
    """Return the sources of a stream as a list in DuckDB's SQL."""
    return f"[{', '.join(map(text_literal, sources_of(name, stream)))}]"


def _after(start: str, times: InputColumn) -> str:
    """Return the end of a point, in DuckDB's SQL: one tick after its start, or null if no such number fits the type.

    Args:
        start: The start in DuckDB's SQL.
        times: The column of starts.
    """
    if times.axis is Axis.TIME:
        return f"{start} + to_microseconds(1)"
    tick = "1"
    if times.decimal_places is not None:
        tick = f"CAST('1e-{times.decimal_places}' AS DECIMAL(18, {times.decimal_places}))"
    return f"TRY({start} + {tick})"


def _heartbeats(name: str, stream: InputRequest) -> Iterator[Heartbeat]:
    """Yield the heartbeats of a stream with a column that names the sources of the union for which a row speaks.

    A row of a heartbeat without a source becomes a row for each source of the stream.
    """
    for beat in stream.heartbeats:
        frame = opened(beat.df)
        if beat.source is None:
            source = f"unnest({_all_sources(name, stream)})"
        else:
            source_in_stream = column_expression(frame, TextColumn(beat.source), "with_heartbeat(source=...)").sql
            source = f"{text_literal(f'{name}.')} || {source_in_stream}"
        with_source = ChangedFrame.beside(frame, {_SOURCE: DuckdbExpression(source, pa.string())})
        yield replace(beat, df=with_source, source=_SOURCE)
