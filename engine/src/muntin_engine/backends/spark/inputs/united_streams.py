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
from muntin.messages import Earlier
from muntin_engine.backends.backend import EventRows, UnitedStreams
from muntin_engine.backends.spark.column_types import axis_of, places_of
from muntin_engine.backends.spark.inputs.input_columns import as_column, fields_of, orders_by_name
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.time.source_rules import SourceRules

if TYPE_CHECKING:
    from muntin_engine.plan.request import Heartbeat, InputRequest

_ROLES: Final = ("start", "end", "id", "change", "new_end", "signal", "source")
"""The columns that a stream names one each; it may name several that order its rows."""


@in_session()
def melded(streams: Mapping[str, InputRequest]) -> UnitedStreams:
    """Make one stream of several: their rows, and the rules and heartbeats of each.

    Raises:
        QueryError: A column is missing, or those of the streams are of different types.
    """
    first = next(iter(streams.values()))
    names = [part.name for part in fields_of(first.df, _keys(first), {}).values()]
    named = {"change", "source", "end"}
    for stream in streams.values():
        named |= {name for name, column in _columns_of(stream).items() if column is not None}
    orders = sorted((name for name in named if name.startswith("order")), key=lambda name: (len(name), name))
    where = _where(streams)
    tables = [_rows(name, stream, names, named, where) for name, stream in streams.items()]
    for part in [*names, *orders, *(name for name in _ROLES if name in named)]:
        types = {name: table.schema[part].dataType for name, table in zip(streams, tables, strict=True)}
        said = {kind.simpleString() for kind in types.values() if not isinstance(kind, spark_types.NullType)}
        if len(said) > 1:
            told = ", ".join(f"{name} {kind.simpleString()}" for name, kind in types.items())
            raise QueryError(f"the {part} of the streams of a union is of one type, got {told}\n  cast them")
    try:
        df = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), tables)
    except AnalysisException as error:
        raise QueryError(
            f"the columns of the streams of a union do not fit together: {str(error).splitlines()[0]}\n"
            "  cast or rename those of the same name, for example with select(...)"
        ) from error
    roles: dict[str, Any] = {name: name if name in named else None for name in _ROLES}
    quoted = tuple(f"`{name}`" for name in orders)
    roles["order"] = None if not quoted else quoted[0] if len(quoted) == 1 else quoted
    roles |= {"keys": tuple(f"`{name}`" for name in names), "conditions": (F.col(f"`{where}`"),) if where else ()}
    rules = tuple(
        SourceRules(source, stream.progress, stream.lifetime_changes, stream.new_end is not None)
        for name, stream in streams.items()
        for source in _sources(name, stream)
    )
    heartbeats: list[Heartbeat] = []
    for name, stream in streams.items():
        heartbeats += _heartbeats(name, stream)
    return UnitedStreams(EventRows(df, roles), rules, tuple(heartbeats))


def _rows(name: str, stream: InputRequest, keys: list[str], named: set[str], where: str) -> DataFrame:
    """Return the rows of a stream under the names that all have in common, its own columns beside them."""
    given = _columns_of(stream)
    columns = {part: as_column(column) for part, column in given.items() if column is not None}
    fields = fields_of(stream.df, {**given, **_keys(stream)}, {})
    start = fields["start"]
    if stream.change is None:
        columns["change"] = F.lit("insert")
    if stream.end is None:
        columns["end"] = F.lit(None).cast(start.dataType) if stream.is_edge else _after(columns["start"], start)
    columns |= dict(zip(keys, map(as_column, stream.keys), strict=True))
    if where:
        columns[where] = reduce(and_, stream.conditions) if stream.conditions else F.lit(True)
    taken = {part.casefold() for part in columns} | {part.casefold() for part in named}
    own = {part.name for part in (*fields.values(),)}
    lost = [part for part in stream.df.columns if part.casefold() in taken and part not in own]
    if lost:
        raise QueryError(
            "{stream} has a column {value}, which is a name of the union's own\n"
            "  rename it {before_events}, for example df.withColumnRenamed({value!r}, '{value}_')",
            value=lost[0],
            stream=name,
            before_events=Earlier("events"),
        )
    rest = [F.col(f"`{part}`") for part in stream.df.columns if part.casefold() not in taken]
    sources = F.array(*map(F.lit, _sources(name, stream)))
    if stream.source is not None:
        is_of_all = columns["source"].isNull() & columns["change"].isin("punctuate", "close")
        sources = F.when(is_of_all, sources).otherwise(F.array(F.concat(F.lit(f"{name}."), columns["source"])))
    columns.pop("source", None)
    made = stream.df.select(*rest, *(column.alias(part) for part, column in columns.items()), sources.alias("source"))
    return made.withColumn("source", F.explode("source"))


def _columns_of(stream: InputRequest) -> dict[str, Any]:
    """Return the columns that make the rows of a stream events, by the names that they have in the union."""
    return {**{part: getattr(stream, part) for part in _ROLES}, **orders_by_name(stream.order)}


def _after(start: Column, part: spark_types.StructField) -> Column:
    """Return the end of a point: a tick after its start."""
    if axis_of(part.name, part.dataType) is Axis.TIME:
        return start + F.expr("INTERVAL 0.000001 SECOND")
    places = places_of(part.dataType)
    tick = F.lit(1) if places is None else F.lit(10**-places).cast(f"decimal(18, {places})")
    return F.try_add(start, tick).cast(part.dataType)


def _where(streams: Mapping[str, InputRequest]) -> str:
    """Return the conditions of all streams in words; nothing if there are none."""
    told = {
        name: " and ".join(str(condition)[len("Column<'") : -len("'>")] for condition in stream.conditions)
        for name, stream in streams.items()
        if stream.conditions
    }
    return "; ".join(f"{name}: {text}" for name, text in told.items()).replace("`", "")


def _sources(name: str, stream: InputRequest) -> list[str]:
    return [f"{name}.{source}" for source in stream.sources] or [name]


def _heartbeats(name: str, stream: InputRequest) -> Iterator[Heartbeat]:
    """Yield the heartbeats of a stream as those of its sources."""
    for beat in stream.heartbeats:
        if beat.source is None:
            every = F.explode(F.array(*map(F.lit, _sources(name, stream))))
            yield replace(beat, df=beat.df.withColumn("source of all", every), source=F.col("`source of all`"))
        else:
            yield replace(beat, source=F.concat(F.lit(f"{name}."), as_column(beat.source)))


def _keys(stream: InputRequest) -> dict[str, Any]:
    return {f"key {place}": key for place, key in enumerate(stream.keys)}
