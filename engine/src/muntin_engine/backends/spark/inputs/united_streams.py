"""The rows of several streams as those of one, each under the name of its stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import Axis
from muntin.errors import QueryError
from muntin.errors.messages import Earlier
from muntin_engine.backends.backend import EventRows, UnitedStreams
from muntin_engine.backends.planning.read_columns import orders_by_name
from muntin_engine.backends.spark.inputs.column_lookup import as_column, look_up
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.time.source_rules import SourceRules

if TYPE_CHECKING:
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.plan.request import Heartbeat, InputRequest

_ROLES: Final = ("start", "end", "id", "change", "new_end", "signal", "source")
"""The columns that a stream names one each; it may name several that order its rows."""


@in_session()
def unite(streams: Mapping[str, InputRequest]) -> UnitedStreams:
    """Make one stream of several: their rows, and the rules and heartbeats of each.

    Raises:
        QueryError: A column is missing, or those of the streams are of different types.
    """
    first = next(iter(streams.values()))
    key_names = [part.name for part in look_up(first.df, _keys(first), {}).values()]
    shared_names = {"change", "source", "end"}
    for stream in streams.values():
        shared_names |= {name for name, column in _columns_of(stream).items() if column is not None}
    order_names = [name for name in shared_names if name.startswith("order")]
    order_names.sort(key=lambda name: (len(name), name))  # "order 10" comes after "order 9"
    condition_name = _condition_name(streams)

    tables = {name: _rows(name, stream, key_names, shared_names, condition_name) for name, stream in streams.items()}
    role_names = [name for name in _ROLES if name in shared_names]
    for column in [*key_names, *order_names, *role_names]:
        _check_types(column, tables)
    try:
        df = reduce(lambda rows, more: rows.unionByName(more, allowMissingColumns=True), tables.values())
    except AnalysisException as error:
        raise QueryError(
            f"the columns of the streams of a union do not fit together: {str(error).splitlines()[0]}\n"
            "  cast or rename those of the same name, for example with select(...)"
        ) from error

    columns: dict[str, Any] = {name: name if name in shared_names else None for name in _ROLES}
    columns["keys"] = tuple(f"`{name}`" for name in key_names)
    columns["conditions"] = (F.col(f"`{condition_name}`"),) if condition_name else ()
    order = tuple(f"`{name}`" for name in order_names)
    if len(order) > 1:
        columns["order"] = order
    else:
        columns["order"] = order[0] if order else None

    rules: list[SourceRules] = []
    heartbeats: list[Heartbeat] = []
    for name, stream in streams.items():
        for source in _sources(name, stream):
            has_new_ends = stream.new_end is not None
            rules.append(SourceRules(source, stream.progress, stream.lifetime_changes, has_new_ends))
        heartbeats += _heartbeats(name, stream)
    return UnitedStreams(EventRows(df, columns), tuple(rules), tuple(heartbeats))


def _check_types(column: str, tables: Mapping[str, DataFrame]) -> None:
    """Refuse streams in which a column is of different types; a null has none.

    Raises:
        QueryError: It is.
    """
    types = {name: table.schema[column].dataType for name, table in tables.items()}
    kinds = {kind.simpleString() for kind in types.values() if not isinstance(kind, spark_types.NullType)}
    if len(kinds) > 1:
        spelled = ", ".join(f"{name} {kind.simpleString()}" for name, kind in types.items())
        raise QueryError(f"the {column} of the streams of a union is of one type, got {spelled}\n  cast them")


def _rows(
    name: str, stream: InputRequest, key_names: list[str], shared_names: set[str], condition_name: str
) -> DataFrame:
    """Return the rows of a stream under the names that all have in common, its own columns beside them.

    Args:
        name: The name of the stream.
        stream: The stream.
        key_names: The names of the keys.
        shared_names: The names of the other columns that make rows events, in any of the streams.
        condition_name: The name of the column that says whether a row meets the conditions; empty if there are none.

    Raises:
        QueryError: A column is missing, or has a name that is the union's own.
    """
    event_columns = _columns_of(stream)
    fields = look_up(stream.df, {**event_columns, **_keys(stream)}, {})
    start = fields["start"]
    columns = {part: as_column(stream.df, column) for part, column in event_columns.items() if column is not None}
    if stream.change is None:
        columns["change"] = F.lit("insert")
    if stream.end is None:
        columns["end"] = F.lit(None).cast(start.spelled_type) if stream.is_edge else _after(columns["start"], start)
    columns |= dict(zip(key_names, (as_column(stream.df, key) for key in stream.keys), strict=True))
    if condition_name:
        columns[condition_name] = reduce(and_, stream.conditions) if stream.conditions else F.lit(True)

    taken_names = {part.casefold() for part in (*columns, *shared_names)}
    own_names = {part.name for part in fields.values()}
    payload: list[Column] = []
    for part in stream.df.columns:
        if part.casefold() not in taken_names:
            payload.append(F.col(f"`{part}`"))
        elif part not in own_names:
            raise QueryError(
                "{stream} has a column {value}, which is a name of the union's own\n"
                "  rename it {before_events}, for example df.withColumnRenamed({value!r}, '{value}_')",
                value=part,
                stream=name,
                before_events=Earlier("events"),
            )

    sources = F.array(*map(F.lit, _sources(name, stream)))
    if stream.source is not None:
        # Punctuation without a source is that of all sources of its stream: a row for each.
        is_of_all = columns["source"].isNull() & columns["change"].isin("punctuate", "close")
        sources = F.when(is_of_all, sources).otherwise(F.array(F.concat(F.lit(f"{name}."), columns["source"])))
    columns.pop("source", None)
    renamed = [column.alias(part) for part, column in columns.items()]
    rows: DataFrame = stream.df.select(*payload, *renamed, sources.alias("source"))
    return rows.withColumn("source", F.explode("source"))


def _columns_of(stream: InputRequest) -> dict[str, Any]:
    """Return the columns that make the rows of a stream events, by the names that they have in the union."""
    return {**{part: getattr(stream, part) for part in _ROLES}, **orders_by_name(stream.order)}


def _after(start: Column, part: InputColumn) -> Column:
    """Return the end of a point: a tick after its start."""
    if part.axis is Axis.TIME:
        return start + F.expr("INTERVAL 0.000001 SECOND")
    tick = F.lit(1)
    if part.places is not None:
        tick = F.lit(10**-part.places).cast(f"decimal(18, {part.places})")
    return F.try_add(start, tick).cast(part.spelled_type)


def _condition_name(streams: Mapping[str, InputRequest]) -> str:
    """Return the conditions of all streams in words, as the name of a column; empty if there are none."""
    spelled: list[str] = []
    for name, stream in streams.items():
        if stream.conditions:
            texts = [str(condition).removeprefix("Column<'").removesuffix("'>") for condition in stream.conditions]
            spelled.append(f"{name}: {' and '.join(texts)}")
    return "; ".join(spelled).replace("`", "")


def _sources(name: str, stream: InputRequest) -> list[str]:
    return [f"{name}.{source}" for source in stream.sources] or [name]


def _heartbeats(name: str, stream: InputRequest) -> Iterator[Heartbeat]:
    """Yield the heartbeats of a stream as those of its sources."""
    for beat in stream.heartbeats:
        if beat.source is None:
            every = F.explode(F.array(*map(F.lit, _sources(name, stream))))
            yield replace(beat, df=beat.df.withColumn("source of all", every), source=F.col("`source of all`"))
        else:
            yield replace(beat, source=F.concat(F.lit(f"{name}."), as_column(beat.df, beat.source)))


def _keys(stream: InputRequest) -> dict[str, Any]:
    return {f"key {place}": key for place, key in enumerate(stream.keys)}
