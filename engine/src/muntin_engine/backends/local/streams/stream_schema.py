"""The schema of a stream, written as Spark's DDL text and read without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import LENGTH
from muntin_engine.backends.local.expressions.named_types import COLUMN_TYPES, decimal_named, has_collation
from muntin_engine.backends.planning.needs_spark import NeedsSparkError

_EXAMPLE: Final = "'station string, leaves timestamp, km double'"
"""A schema as it is written, for messages."""

_IGNORED: Final = (exp.NotNullColumnConstraint, exp.CommentColumnConstraint, exp.CollateColumnConstraint)
"""The constraints of columns that change nothing here: any column of a stream may have nulls.

A collation among them is that of plain text: all others are refused before.
"""

_NESTED_KINDS: Final = (exp.DType.STRUCT, exp.DType.ARRAY, exp.DType.MAP)
"""The types that have parts of any type."""

_LENGTHS: Final = frozenset({"DAY", "HOUR", "MINUTE", "SECOND"})
"""The units of intervals that are lengths of time."""


def schema_of(text: str) -> pa.Schema:
    """Read the schema of a stream from text.

    Args:
        text: The columns with their types, as Spark writes them: `"station string, leaves timestamp, km double"`.

    Raises:
        QueryError: The text is no schema, or has two columns of one name.
        NeedsSparkError: A type is one that only Spark has.

    Example:
        >>> schema_of("station string, spans array<struct<start: timestamp, km: decimal(6,2)>>").types
        [DataType(string), ListType(list<item: struct<start: timestamp[us, tz=UTC], km: decimal128(6, 2)>>)]
    """
    columns = _columns_in(text)
    names = [column.name for column in columns]
    folded_names = [name.casefold() for name in names]
    for name in names:
        if folded_names.count(name.casefold()) > 1:
            raise QueryError(f"the schema {text!r} has two columns {name!r}\n  rename one of them")
    return pa.schema([(column.name, _type_of(column)) for column in columns])


def _columns_in(text: str) -> list[exp.ColumnDef]:
    """Parse the columns of a schema.

    Raises:
        QueryError: The text is no schema.
    """
    parts: list[exp.Expr] = []
    # Text that is no schema fails to parse, or parses as another command, whose node lacks these attributes.
    with suppress(SqlglotError, AttributeError):
        # Spark reads `km double` and `km: double`. sqlglot reads the first between the parentheses of CREATE TABLE, and
        # the second only as a field of a struct.
        parts = sqlglot.parse_one(f"CREATE TABLE t ({text})", read="spark").this.expressions
        if len(_with_types(parts)) < len(parts):  # there are colons, for which CREATE TABLE reads no types
            fields = exp.DataType.build(f"struct<{text}>", dialect="spark").expressions
            parts = fields if len(fields) == len(parts) else []
    columns = _with_types(parts)
    if not columns or len(columns) < len(parts):
        raise QueryError(
            f"{text!r} is no schema of a stream\n  expected: columns with their types, as Spark writes them: {_EXAMPLE}"
        )
    return columns


def _with_types(parts: Sequence[exp.Expr]) -> list[exp.ColumnDef]:
    """Return the parts of a schema that are columns with a type."""
    columns: list[exp.ColumnDef] = []
    for part in parts:
        if isinstance(part, exp.ColumnDef) and isinstance(part.kind, exp.DataType):
            columns.append(part)
    return columns


def _type_of(column: exp.ColumnDef) -> pa.DataType:
    """Return the Arrow type of a column.

    Raises:
        NeedsSparkError: Only Spark has the type, such as a variant, or text in the column has a collation.
    """
    if has_collation(column):
        raise _needs_spark(column)
    for constraint in column.args.get("constraints") or ():
        if not isinstance(constraint.kind, _IGNORED):  # such as DEFAULT
            raise _needs_spark(column)
    assert isinstance(column.kind, exp.DataType), "columns without a type were refused"
    arrow_type = _arrow_type(column.kind)
    if arrow_type is None:
        raise _needs_spark(column)
    return arrow_type


def _needs_spark(column: exp.ColumnDef) -> NeedsSparkError:
    """Return the error for a column of a type that only Spark has."""
    column_text = column.sql(dialect="spark")
    return NeedsSparkError(
        f"the column {column_text}",
        f"the column {column_text} is of a type that only Spark has\n"
        "  give it another type; or test the job on Spark: streaming(job, schema, backend='spark')",
    )


def _arrow_type(data_type: exp.DataType) -> pa.DataType | None:
    """Return the Arrow type for a type of Spark; None if it, or a part of it, cannot be read in this process."""
    kind = data_type.this
    parts = data_type.expressions
    if isinstance(kind, exp.Interval):
        return _interval_type(kind)
    if kind == exp.DType.DECIMAL:
        return decimal_named(data_type)
    if kind in _NESTED_KINDS:
        return _nested_type(kind, parts)
    if parts:  # such as the length of `char(5)`, which no Arrow type has
        return None
    return COLUMN_TYPES.get(kind)


def _nested_type(kind: exp.DType, parts: Sequence[exp.Expr]) -> pa.DataType | None:
    """Return the Arrow type of a struct, an array or a map; None if a part cannot be read, or parts are missing.

    Args:
        kind: One of `_NESTED_KINDS`.
        parts: The fields of a struct, the type of an array's elements, or the types of a map's keys and values.
    """
    part_types: list[pa.DataType] = []
    for part in parts:
        data_type = part.kind if isinstance(part, exp.ColumnDef) else part  # a struct has fields, the others types
        assert isinstance(data_type, exp.DataType), "sqlglot reads a type in each of these places"
        part_type = _arrow_type(data_type)
        if part_type is None:
            return None
        part_types.append(part_type)

    if kind == exp.DType.STRUCT and parts and all(part.name for part in parts):
        return pa.struct([(part.name, part_type) for part, part_type in zip(parts, part_types, strict=True)])
    if kind == exp.DType.ARRAY and len(parts) == 1:
        return pa.list_(part_types[0])
    if kind == exp.DType.MAP and len(parts) == 2:
        return pa.map_(part_types[0], part_types[1])
    return None


def _interval_type(interval: exp.Interval) -> pa.DataType | None:
    """Return the type of a length of time; None for an interval of months, which has no length."""
    if interval.unit is None:
        return None
    units = {unit.name.upper() for unit in interval.unit.find_all(exp.Var)}
    return LENGTH if units <= _LENGTHS else None
