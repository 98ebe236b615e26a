"""Projected inputs as one DataFrame, which the tasks of the map side take apart again: of a query, or of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin_engine.backends.spark.inputs.column_lookup import as_column
from muntin_engine.backends.spark.inputs.declared_frames import is_known, like
from muntin_engine.backends.spark.inputs.time_marks import fitted
from muntin_engine.tasks.one_pass import QueryColumns
from muntin_engine.wire.shuffle import SIDE, shared_name

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import ProjectedRows, Projection


def united(sources: Sequence[Projection]) -> DataFrame:
    """Return the rows of all inputs; the rows of a single input as they are."""
    if len(sources) == 1:
        rows: DataFrame = sources[0].df
        return rows
    sides: list[DataFrame] = []
    for side, source in enumerate(sources):
        columns = [F.col(name).alias(shared_name(side, name)) for name in source.df.columns]
        sides.append(source.df.select(F.lit(side).alias(SIDE), *columns))
    all_rows = reduce(lambda rows, side: rows.unionByName(side, allowMissingColumns=True), sides)
    if not all(is_known(source.df) for source in sources):
        return all_rows
    fields = [spark_types.StructField(SIDE, spark_types.IntegerType())]
    for side, source in enumerate(sources):
        for part in source.df.schema:
            fields.append(spark_types.StructField(shared_name(side, part.name), part.dataType))
    return like(sources[0].df, all_rows, spark_types.StructType(fields))


@dataclass(frozen=True)
class SharedRows:
    """The rows of the one input of several queries.

    Attributes:
        df: The rows, with the columns of all queries.
        owned: The columns and the flag of each query.
    """

    df: DataFrame
    owned: tuple[QueryColumns, ...]


def shared(sources: Sequence[Projection]) -> SharedRows:
    """Return the rows of a DataFrame once, for several projections of it.

    A column that several projections name is there once. Other columns are there once for each projection.
    """
    projections = [source.rows for source in sources]
    shared_names = _shared_names(projections)
    columns: dict[str, Column] = {}
    for projection, names in zip(projections, shared_names, strict=True):
        for name, column in projection.columns.items():
            columns[names[name]] = column

    has_marks = any(projection.marks for projection in projections)
    owned: list[QueryColumns] = []
    for place, (projection, names) in enumerate(zip(projections, shared_names, strict=True)):
        flag = None
        if has_marks or projection.condition is not None:
            flag = f"q{place}"
            is_own = F.lit(True)
            if projection.condition is not None:
                is_own = F.coalesce(as_column(projection.df, projection.condition), F.lit(False))
            columns[flag] = is_own
        owned.append(QueryColumns(tuple(names), tuple(names.values()), flag))
    df = projections[0].df.select(*(column.alias(name) for name, column in columns.items()))

    # Rows of heartbeats and clocks are those of one query: the flags of the others are false in them.
    schema = df.schema
    for projection, names, query_columns in zip(projections, shared_names, owned, strict=True):
        flags: dict[str, Column] = {}
        for columns_of_query in owned:
            if columns_of_query.condition is not None:
                flags[columns_of_query.condition] = F.lit(columns_of_query is query_columns)
        for stream, mark_columns in projection.marks:
            renamed = {names[name]: column for name, column in mark_columns.items()}
            df = df.unionByName(fitted(schema, stream, flags | renamed))
    return SharedRows(df, tuple(owned))


def _shared_names(projections: Sequence[ProjectedRows]) -> list[dict[str, str]]:
    """Return for each projection the names that its columns have in the shared rows, by their own names."""
    name_of_text: dict[str, str] = {}
    shared_names: list[dict[str, str]] = []
    for place, projection in enumerate(projections):
        names: dict[str, str] = {}
        for name in projection.columns:
            if name in projection.named:  # a column of the input, which others may name too
                names[name] = name_of_text.setdefault(projection.named[name], f"c{len(name_of_text)}")
            else:
                names[name] = f"q{place}_{name}"
        shared_names.append(names)
    return shared_names
