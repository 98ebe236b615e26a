"""DataFrames of Spark Connect whose columns the query writer declares, so that Spark is not asked for them.

A query in a function of a declarative pipeline is planned before the tables of the pipeline exist, and Spark refuses to
be asked. What planning asks for are names and types; those of the declared columns are known, and those of expressions
over them are what the backend of tables in this process says, which gives expressions the types that Spark gives them.

The data is held to both when the query runs: a column of another type than the declared one fails on its first row, and
so does an expression of another type than the planned one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin.errors import QueryError
from muntin_engine.backend_modules import LOCAL, imported_backend
from muntin_engine.backends.planning.declared_columns import check_declared
from muntin_engine.backends.planning.needs_spark import NeedsSparkError
from muntin_engine.backends.spark.column_types import input_column, spark_schema_of, spark_type_of
from muntin_engine.backends.spark.private_parts import connect_relation, set_known_facts
from muntin_engine.backends.spark.session.kinds import is_connect
from muntin_engine.backends.spark.session.sent_plans import reads_of
from muntin_engine.plan.request import SqlExpression, backquoted

if TYPE_CHECKING:
    from muntin_engine.backends.planning.input_column import InputColumn
    from muntin_engine.plan.request import ColumnLike, InputRequest

_EMPTY_TWINS: Final[WeakKeyDictionary[DataFrame, Any]] = WeakKeyDictionary()
"""By DataFrame with declared columns, its empty twin: a table in this process with the same columns and no rows."""

_DECLARED: Final[WeakKeyDictionary[DataFrame, dict[pa.Schema, DataFrame]]] = WeakKeyDictionary()
"""By DataFrame of a query writer, the DataFrames that `declared` has made of it, by their columns.

Queries of one pass must read the same DataFrame, so that `declared` must return the same one again.
"""

_PLAIN_COLLATION: Final = " collate UTF8_BINARY"
"""The end of the name of a type of text if it names the collation that text has by default."""


def is_known(df: DataFrame) -> bool:
    """True if the columns of a DataFrame are known without asking Spark."""
    return df in _EMPTY_TWINS


def declared(df: DataFrame, schema: pa.Schema) -> DataFrame:
    """Return a DataFrame with the declared columns, and no others.

    Args:
        df: The DataFrame. In a classic session its columns are compared with the declared ones at once.
        schema: The declared columns.

    Raises:
        QueryError: The DataFrame does not have a column, or has it with another type.
    """
    if not is_connect(df.sparkSession):
        declared_columns = [input_column(part) for part in spark_schema_of(schema)]
        actual_columns = check_declared(declared_columns, [input_column(part) for part in df.schema])
        return df.select(*(F.col(backquoted(column.name)) for column in actual_columns))

    # Queries of one pass have to read the same DataFrame. So the one with the declared columns is made once.
    frames = _DECLARED.setdefault(df, {})
    if schema not in frames:
        columns: list[Column] = []
        for part in schema:
            column = _of_type(F.col(backquoted(part.name)), part.name, part.type)
            columns.append(column.alias(part.name))
        selected = df.select(*columns)
        frames[schema] = with_known_columns(selected, spark_schema_of(schema), is_stream=_is_stream(df))
    return frames[schema]


def with_known_columns(df: DataFrame, schema: spark_types.StructType, *, is_stream: bool) -> DataFrame:
    """Set the columns of a DataFrame of Spark Connect, so that neither PySpark nor a query asks Spark for them.

    From now on `is_known` is true of the DataFrame, and it has an empty twin, over which expressions are planned.

    Args:
        df: The DataFrame.
        schema: The columns that it has.
        is_stream: True if the DataFrame is a stream.
    """
    set_known_facts(df, schema, is_stream=is_stream)
    fields = [pa.field(part.name, input_column(part).type) for part in schema]
    _EMPTY_TWINS[df] = _local_inputs().opened(pa.schema(fields).empty_table())
    return df


def with_columns_if_declared(source: DataFrame, df: DataFrame, schema: spark_types.StructType) -> DataFrame:
    """Set the columns of a DataFrame that was made from a source, if the columns of the source were declared.

    Args:
        source: The DataFrame from which the other one was made.
        df: The DataFrame that was made from the source, which is returned.
        schema: The columns that it has.
    """
    return with_known_columns(df, schema, is_stream=source.isStreaming) if is_known(source) else df


def look_up_known(
    df: DataFrame, columns: Mapping[str, ColumnLike | None], readers: Mapping[str, str]
) -> dict[str, InputColumn]:
    """Look up columns of a DataFrame with declared columns, without asking Spark.

    The columns are looked up in the empty twin of the DataFrame, a table in this process with the same columns.

    Args:
        df: The DataFrame.
        columns: The columns, by the name of the argument that has them; those that are None are left out.
        readers: By the same name, what errors say of the argument, such as `select()`; see `column_lookup.look_up`.

    Raises:
        QueryError: There is no such column, or the type of an expression is not known without Spark.
    """
    texts: dict[str, str] = {}
    for name, column in columns.items():
        if column is not None:
            texts[name] = text_of_known(df, column, readers.get(name, name))
    looked_up: dict[str, InputColumn] = {}
    try:
        twin_columns = _local_inputs().look_up(_EMPTY_TWINS[df], texts, readers)
    except NeedsSparkError as error:
        raise QueryError(
            "{used} is something whose type only Spark knows; with schema= Spark is not asked\n"
            "  compute the column before events(), for example with df.withColumn(...), and declare it in schema=",
            used=error.used,
        ) from error
    for name, column in twin_columns.items():
        _ = column.travelling_type  # read for its error: a column that is always null has no type
        looked_up[name] = input_column(spark_types.StructField(column.name, spark_type_of(column.type)))
    return looked_up


def known_schema_with_payload(
    df: DataFrame,
    change: ColumnLike | None,
    event_columns: Sequence[str],
    call: str,
    names: Sequence[str],
    columns: Mapping[str, str],
    *,
    keeps_others: bool,
) -> spark_types.StructType:
    """Return the columns that a DataFrame with declared columns has after `payload_columns.with_payload`.

    They are computed over its empty twin in this process. The arguments are those of `with_payload`.

    Raises:
        QueryError: A column cannot be computed, or the DataFrame has no column of one of the names.
    """
    twin = _local_inputs().with_payload(
        _EMPTY_TWINS[df], change, event_columns, call, names, columns, keeps_others=keeps_others
    )
    return spark_schema_of(twin.schema)


def known_schema_of_union(streams: Mapping[str, InputRequest]) -> spark_types.StructType:
    """Return the columns of a union of streams whose columns are declared, as the union of their empty twins has them.

    Raises:
        QueryError: A column is missing, or has different types in two streams.
    """
    twins = {name: replace(stream, df=_EMPTY_TWINS[stream.df]) for name, stream in streams.items()}
    return spark_schema_of(_local_inputs().unite(twins).rows.df.schema)


def text_of_known(df: DataFrame, column: ColumnLike, reader: str) -> str:
    """Return a column as text: its name, or its expression in SQL.

    Args:
        df: The DataFrame, whose columns are declared.
        column: The column.
        reader: The spelling in errors of what reads the column.

    Raises:
        QueryError: The column is an expression of PySpark's, whose type is not known without Spark.
    """
    if isinstance(column, str):
        return column
    # PySpark prints a column as Column<'km'>. If that is the name of a column, the column is known.
    text = str(column).removeprefix("Column<'").removesuffix("'>").replace("`", "")
    if text in df.columns:
        return text if text.isidentifier() else SqlExpression(backquoted(text))
    raise QueryError(
        "{reader} reads {written}, whose type only Spark knows; with schema= Spark is not asked\n"
        "  write it as text in SQL, for example 'km / 1.6'",
        value=text,
        reader=reader,
        written=str(column),
    )


def text_cast(df: DataFrame, column: ColumnLike) -> SqlExpression:
    """Return a column of a DataFrame with declared columns, cast to text, as an expression in SQL."""
    text = text_of_known(df, column, "a cast to text")
    is_expression = isinstance(text, SqlExpression) or text not in df.columns
    return SqlExpression(f"CAST({text if is_expression else backquoted(text)} AS STRING)")


def checked_expression(column: Column, planned: InputColumn) -> Column:
    """Return an expression that fails on the first row if Spark gives it another type than the planned one."""
    return _of_type(column, planned.name, planned.type)


def _of_type(column: Column, name: str, data_type: pa.DataType) -> Column:
    """Return a column with a check: if the column is not of a type, the query fails on its first row.

    Args:
        column: The column.
        name: The name of the column, for the error.
        data_type: The type.
    """
    expected = spark_type_of(data_type).simpleString()
    actual = F.replace(F.typeof(column), F.lit(_PLAIN_COLLATION), F.lit(""))
    message = F.concat(
        F.lit(f"schema= makes {name!r} {expected}, and in the input it is "),
        actual,
        F.lit("; declare it as it is, or cast it before events()"),
    )
    # Spark evaluates the condition once, when it plans the query, so that it costs nothing for a column of the type.
    return F.when(actual == expected, column).otherwise(F.raise_error(message))


def _is_stream(df: DataFrame) -> bool:
    """Return True if a DataFrame of Spark Connect is a stream: if it reads any stream."""
    return any(read.is_streaming for read in reads_of(connect_relation(df)))


def _local_inputs() -> Any:
    """Return the part of the backend `local` that looks up columns; it gives expressions the types that Spark does."""
    return imported_backend(LOCAL).BACKEND.inputs
