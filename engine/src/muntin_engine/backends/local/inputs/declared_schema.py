"""The columns that a query writer declares, so that a query is planned without asking its input for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import sqlglot
import typing_extensions
from sqlglot import exp
from sqlglot.errors import SqlglotError

from muntin.errors import ModuleDefinitionError, QueryError
from muntin.schemas import Field, ListOf, MapOf, Scalar, ScalarKind, Struct, describe, spell
from muntin_engine.backends.local.duckdb_types import INSTANT, LENGTH, LOCAL_TIME
from muntin_engine.backends.local.expressions.named_types import (
    COLUMN_TYPES,
    DECIMAL_DIGITS,
    decimal_named,
    has_collation,
)
from muntin_engine.plan.request import backquoted

_EXAMPLE: Final = "schema='station string, at timestamp, km double'"

_NAMED_TYPES: Final[Mapping[exp.DType, pa.DataType]] = {
    **COLUMN_TYPES,
    exp.DType.VARCHAR: pa.string(),
    exp.DType.CHAR: pa.string(),
}
"""The types that text may name, apart from decimals, intervals and nested ones."""

_TYPES_OF_KINDS: Final[Mapping[ScalarKind, pa.DataType]] = {
    ScalarKind.BOOLEAN: pa.bool_(),
    ScalarKind.INTEGER: pa.int64(),
    ScalarKind.FLOAT: pa.float64(),
    ScalarKind.STRING: pa.string(),
    ScalarKind.BINARY: pa.binary(),
    ScalarKind.DATE: pa.date32(),
    ScalarKind.TIMESTAMP: INSTANT,
    ScalarKind.INTERVAL: LENGTH,
}
"""The types of columns for the types that a module declares; a decimal has digits, which Python does not say."""

_PLAIN_ARROW_TYPES: Final = frozenset(_NAMED_TYPES.values())
"""Arrow types that are those of Spark's columns."""

_LARGE_ARROW_TYPES: Final[Mapping[pa.DataType, pa.DataType]] = {
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.duration("s"): LENGTH,
    pa.duration("ms"): LENGTH,
    pa.duration("us"): LENGTH,
    pa.duration("ns"): LENGTH,
}
"""Arrow types with the same values as those of Spark's columns."""


def declared_schema(schema: object) -> pa.Schema:
    """Read the columns that a query writer declares, all of them nullable.

    Args:
        schema: Text in Spark's DDL, a `StructType` of Spark's, an Arrow schema, or a dataclass, named tuple or typed
            dict.

    Raises:
        QueryError: The schema is something else, a type has no meaning in a query, or two columns have one name.
    """
    if isinstance(schema, str):
        columns = _columns_of_text(schema)
    elif isinstance(schema, pa.Schema):
        columns = {}
        for part in schema:
            columns[part.name] = _type_of_arrow(part.name, part.type)
        if len(columns) < len(schema):  # two columns of one name became one in the dict
            raise QueryError("schema= names a column twice\n  expected: columns of different names")
    elif type(schema).__module__.startswith("pyspark.") and hasattr(schema, "fields"):
        columns = {}
        for part in schema.fields:
            if part.name in columns:
                raise QueryError(f"schema= names the column {part.name!r} twice")
            columns[part.name] = _type_of_text(part.name, _spark_text(part.dataType))
    elif _is_record(schema):
        columns = _columns_of_record(schema)
    else:
        raise QueryError(
            f"schema={schema!r:.80} declares no columns\n"
            f"  expected: text such as {_EXAMPLE}, a StructType, a pyarrow.Schema,\n"
            "  or a dataclass, NamedTuple or TypedDict"
        )
    _check_names(columns)
    return pa.schema(list(columns.items()))


def _columns_of_text(text: str) -> dict[str, pa.DataType]:
    """Read columns in Spark's DDL, such as `station string, km double`.

    Raises:
        QueryError: The text cannot be read, or names a column twice.
    """
    # sqlglot reads the same text as the fields of a struct.
    try:
        cast = sqlglot.parse_one(f"CAST(NULL AS STRUCT<{text}>)", read="spark")
    except SqlglotError as error:
        raise _unreadable(text) from error
    if not isinstance(cast, exp.Cast):  # the text closes the struct, and goes on behind it
        raise _unreadable(text)
    columns: dict[str, pa.DataType] = {}
    for part in cast.to.expressions:
        if not isinstance(part, exp.ColumnDef) or part.kind is None:
            raise _unreadable(text)
        if part.name in columns:
            raise QueryError(f"schema= names the column {part.name!r} twice")
        columns[part.name] = _type_of_part(part.name, part)
    return columns


def _spark_text(data_type: Any) -> str:
    """Return a type of PySpark's as text of Spark's DDL; PySpark itself quotes no names of fields."""
    if hasattr(data_type, "fields"):
        fields: list[str] = []
        for field in data_type.fields:
            fields.append(f"{backquoted(field.name)}: {_spark_text(field.dataType)}")
        return f"struct<{', '.join(fields)}>"
    if hasattr(data_type, "elementType"):
        return f"array<{_spark_text(data_type.elementType)}>"
    if hasattr(data_type, "keyType"):
        return f"map<{_spark_text(data_type.keyType)}, {_spark_text(data_type.valueType)}>"
    text: str = data_type.simpleString()
    return text


def _unreadable(text: str) -> QueryError:
    """Return the error for text that declares no columns."""
    return QueryError(
        f"schema={text!r:.200} cannot be read as columns of Spark's DDL\n  expected, for example, {_EXAMPLE}"
    )


def _type_of_text(name: str, text: str) -> pa.DataType:
    """Return the Arrow type of a column from its type as Spark spells it.

    Args:
        name: The name of the column, for errors.
        text: The type, such as `array<int>`.

    Raises:
        QueryError: The type has no meaning in a query.
    """
    try:
        node = exp.DataType.build(text, dialect="spark")
    except (SqlglotError, ValueError) as error:
        raise _refusal(name, text) from error
    if has_collation(node):
        raise _refusal_of_collation(name, text)
    return _type_of_node(name, node)


def _type_of_part(name: str, part: exp.ColumnDef) -> pa.DataType:
    """Return the Arrow type of a column, or of a part of a struct.

    Args:
        name: The name of the column that is declared.
        part: The column, or the part.

    Raises:
        QueryError: Its type has no meaning in a query, or its text has a collation.
    """
    if has_collation(part):
        raise _refusal_of_collation(name, part.sql(dialect="spark"))
    assert part.kind is not None, "a column without a type was refused"
    return _type_of_node(name, part.kind)


def _type_of_node(name: str, node: exp.DataType) -> pa.DataType:
    """Return the Arrow type of a parsed type.

    Args:
        name: The name of the column, for errors.
        node: The type, or a part of it.

    Raises:
        QueryError: The type has no meaning in a query, or Spark has none such.
    """
    kind = node.this
    if kind == exp.DType.DECIMAL:
        decimal = decimal_named(node)
        if decimal is None:
            spelled_type = node.sql(dialect="spark").lower()
            raise QueryError(
                f"schema= declares {name!r} as {spelled_type}, which Spark does not have\n  {DECIMAL_DIGITS}"
            )
        return decimal
    if kind in (exp.DType.ARRAY, exp.DType.LIST) and len(node.expressions) == 1:
        return pa.list_(pa.field("element", _type_of_node(name, node.expressions[0])))
    if kind == exp.DType.MAP and len(node.expressions) == 2:
        key, value = node.expressions
        return pa.map_(_type_of_node(name, key), _type_of_node(name, value))
    if kind == exp.DType.STRUCT and node.expressions:
        parts: list[tuple[str, pa.DataType]] = []
        for part in node.expressions:
            if not isinstance(part, exp.ColumnDef) or part.kind is None:  # `struct<int>`, a field without a name
                raise _refusal(name, node.sql(dialect="spark").lower())
            parts.append((part.name, _type_of_part(name, part)))
        return pa.struct(parts)
    if isinstance(kind, exp.Interval) and kind.sql(dialect="spark").lower() == "interval day to second":
        return LENGTH
    data_type = _NAMED_TYPES.get(kind) if isinstance(kind, exp.DType) else None
    if data_type is None:
        raise _refusal(name, node.sql(dialect="spark").lower())
    return data_type


def _type_of_arrow(name: str, data_type: pa.DataType) -> pa.DataType:
    """Return the Arrow type in which a column of Spark has the values of an Arrow type.

    Args:
        name: The name of the column, for errors.
        data_type: The declared type.

    Raises:
        QueryError: Spark has no such type.
    """
    if data_type in _PLAIN_ARROW_TYPES or pa.types.is_decimal128(data_type):
        return data_type
    if data_type in _LARGE_ARROW_TYPES:
        return _LARGE_ARROW_TYPES[data_type]
    if pa.types.is_timestamp(data_type):
        return LOCAL_TIME if data_type.tz is None else INSTANT
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        return pa.list_(pa.field("element", _type_of_arrow(name, data_type.value_type)))
    if pa.types.is_map(data_type):
        return pa.map_(_type_of_arrow(name, data_type.key_type), _type_of_arrow(name, data_type.item_type))
    if pa.types.is_struct(data_type):
        return pa.struct([(part.name, _type_of_arrow(name, part.type)) for part in data_type])
    raise _refusal(name, str(data_type))


def _is_record(schema: object) -> bool:
    """True if an object is a dataclass, a typed dict or a named tuple."""
    if not isinstance(schema, type):
        return False
    is_named_tuple = hasattr(schema, "_fields")
    return dataclasses.is_dataclass(schema) or typing_extensions.is_typeddict(schema) or is_named_tuple


def _columns_of_record(cls: Any) -> dict[str, pa.DataType]:
    """Return the columns that a dataclass, typed dict or named tuple declares by its fields.

    Raises:
        QueryError: A field has a type that no column has, or one that leaves open what the column is.
    """
    try:
        record = describe(cls).type
    except ModuleDefinitionError as error:
        raise QueryError(f"schema={cls.__name__} declares no columns: {error}") from error
    assert isinstance(record, Struct), "a class of records is described as a struct"
    return {part.name: _type_of_field(part.name, part) for part in record.fields}


def _type_of_field(name: str, field: Field) -> pa.DataType:
    """Return the Arrow type of a column from a field of a record.

    Args:
        name: The name of the column, for errors.
        field: The field, or a part of its type.

    Raises:
        QueryError: The type leaves open what the column is, as that of a `Decimal`, whose digits are not known.
    """
    data_type = field.type
    if isinstance(data_type, ListOf):
        return pa.list_(pa.field("element", _type_of_field(name, data_type.element)))
    if isinstance(data_type, MapOf):
        return pa.map_(_type_of_field(name, data_type.key), _type_of_field(name, data_type.value))
    if isinstance(data_type, Struct):
        return pa.struct([(part.name, _type_of_field(name, part)) for part in data_type.fields])
    if isinstance(data_type, Scalar) and data_type.kind in _TYPES_OF_KINDS:
        return _TYPES_OF_KINDS[data_type.kind]
    raise QueryError(
        f"schema= declares {name!r} as {spell(field)}, which does not say what the column is\n"
        f"  expected: bool, int, float, str, bytes, date, datetime or timedelta; others as text: {_EXAMPLE}"
    )


def _refusal(name: str, spelled_type: str) -> QueryError:
    """Return the error for a column of a type that has no meaning in a query."""
    return QueryError(
        f"schema= declares {name!r} as {spelled_type}, which has no meaning in a query\n"
        "  expected: numbers, text, bytes, booleans, dates, timestamps, intervals of days to seconds,\n"
        "  or lists, structs and maps of them; leave the column out, or cast it before events()"
    )


def _refusal_of_collation(name: str, spelled_type: str) -> QueryError:
    """Return the error for a column of text with a collation."""
    return QueryError(
        f"schema= declares {name!r} as {spelled_type}, and text with a collation has no meaning in a query\n"
        "  expected: string; before events(), cast it to one whose bytes are compared: collate(name, 'UTF8_BINARY')"
    )


def _check_names(columns: Mapping[str, pa.DataType]) -> None:
    """Refuse a schema without columns, and names that differ only in upper and lower case.

    Raises:
        QueryError: There are such names, or no columns.
    """
    folded_names = [name.casefold() for name in columns]
    for name in columns:
        if folded_names.count(name.casefold()) > 1:
            raise QueryError(f"schema= names the column {name!r} twice, as Spark does not tell upper from lower case")
    if not columns:
        raise QueryError(f"schema= declares no columns\n  expected, for example, {_EXAMPLE}")
