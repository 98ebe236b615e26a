"""Projected inputs as one DataFrame, which the tasks of the map side take apart again: of a query, or of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin_engine.backends.spark.inputs.column_lookup import as_column
from muntin_engine.backends.spark.inputs.declared_frames import is_known, with_columns_if_declared
from muntin_engine.backends.spark.inputs.time_marks import fitted
from muntin_engine.tasks.one_pass import QueryColumns
from muntin_engine.wire.shuffle import SIDE, shared_name

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import ProjectedRows, Projection


def united(sources: Sequence[Projection]) -> DataFrame:
    """Return the rows of all inputs in one DataFrame; the rows of a single input stay as they are.

    Several inputs keep their columns apart: each column has its side in its name, and is null in rows of other sides.
    """
    if len(sources) == 1:
        rows: DataFrame = sources[0].df
        return rows
    rows_of_sides: list[DataFrame] = []
    for side, source in enumerate(sources):
        columns = [F.col(name).alias(shared_name(side, name)) for name in source.df.columns]
        rows_of_sides.append(source.df.select(F.lit(side).alias(SIDE), *columns))
    all_rows = rows_of_sides[0]
    for rows_of_side in rows_of_sides[1:]:
        all_rows = all_rows.unionByName(rows_of_side, allowMissingColumns=True)
    if not all(is_known(source.df) for source in sources):
        return all_rows

    # The query writer has declared the columns of all sides. So those of the union are set, and Spark is not asked.
    fields = [spark_types.StructField(SIDE, spark_types.IntegerType())]
    for side, source in enumerate(sources):
        for part in source.df.schema:
            fields.append(spark_types.StructField(shared_name(side, part.name), part.dataType))
    return with_columns_if_declared(sources[0].df, all_rows, spark_types.StructType(fields))


@dataclass(frozen=True)
class SharedRows:
    """The rows of the one input of several queries.

    Attributes:
        df: The rows, with the columns of all queries.
        columns_by_query: For each query, the names of its columns, and of the flag that is true in its rows.
    """

    df: DataFrame
    columns_by_query: tuple[QueryColumns, ...]


def shared(sources: Sequence[Projection]) -> SharedRows:
    """Combine several projections of one DataFrame, so that its rows are read only once.

    A column that several projections name is in the result once. Other columns are in it once for each projection.
    """
    projections = [source.rows for source in sources]
    shared_names = _shared_names(projections)
    columns: dict[str, Column] = {}
    for projection, names in zip(projections, shared_names, strict=True):
        for name, column in projection.columns.items():
            columns[names[name]] = column

    # For each query a flag is added, a column that is true in the rows that the query reads. A query without a
    # condition reads all rows of the DataFrame, and needs no flag. But if any query has marks, which are rows of
    # heartbeats and clocks, all queries need flags: no other query may read these rows.
    has_marks = any(projection.marks for projection in projections)
    columns_by_query: list[QueryColumns] = []
    for place, (projection, names) in enumerate(zip(projections, shared_names, strict=True)):
        flag = None
        if has_marks or projection.condition is not None:
            flag = f"q{place}"
            is_row_of_query = F.lit(True)
            if projection.condition is not None:
                # A row for which the condition is null is left out, as by `where`.
                is_row_of_query = F.coalesce(as_column(projection.df, projection.condition), F.lit(False))
            columns[flag] = is_row_of_query
        query_columns = QueryColumns(tuple(names), shared_names=tuple(names.values()), condition=flag)
        columns_by_query.append(query_columns)
    df = projections[0].df.select(*(column.alias(name) for name, column in columns.items()))

    # Add the rows of heartbeats and clocks. Only the flag of their own query is true in them.
    schema = df.schema
    for projection, names, query_columns in zip(projections, shared_names, columns_by_query, strict=True):
        flags = _flags_of(query_columns, columns_by_query)
        for stream, mark_columns in projection.marks:
            renamed = {names[name]: column for name, column in mark_columns.items()}
            df = df.unionByName(fitted(schema, stream, flags | renamed))
    return SharedRows(df, tuple(columns_by_query))


def _flags_of(reader: QueryColumns, columns_by_query: Sequence[QueryColumns]) -> dict[str, Column]:
    """Return the flags of rows that only one query reads: true for that query, and false for all others.

    Args:
        reader: The columns of the query that reads the rows.
        columns_by_query: The columns of all queries.
    """
    flags: dict[str, Column] = {}
    for query_columns in columns_by_query:
        if query_columns.condition is not None:  # the name of its flag
            flags[query_columns.condition] = F.lit(query_columns is reader)
    return flags


def _shared_names(projections: Sequence[ProjectedRows]) -> list[dict[str, str]]:
    """Return, for each projection, the names of its columns in the shared rows, by their names in the projection.

    A plain column of the input has one name in all projections, `c0`, `c1` and so on: columns with equal texts in
    `column_texts` are the same. Any other column has a name with the place of its query, such as `q0_start`.
    """
    name_of_text: dict[str, str] = {}
    shared_names: list[dict[str, str]] = []
    for place, projection in enumerate(projections):
        names: dict[str, str] = {}
        for name in projection.columns:
            text = projection.column_texts.get(name)
            if text is not None:
                names[name] = name_of_text.setdefault(text, f"c{len(name_of_text)}")
            else:
                names[name] = f"q{place}_{name}"
        shared_names.append(names)
    return shared_names
