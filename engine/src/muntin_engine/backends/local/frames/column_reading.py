"""The way in which a column of DuckDB's is read: in a type that Spark has, with the values that Spark reads of it.

A type is a tree, as a list of structs is, and so is its reading: each part is read in its own way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import pyarrow as pa

from muntin_engine.backends.local.duckdb_types import INSTANT, LENGTH, LOCAL_TIME, duckdb_type, quoted


class ColumnReading(ABC):
    """The way in which values of a type are read."""

    @property
    @abstractmethod
    def type(self) -> pa.DataType:
        """The Arrow type in which the values are read; null in the place of each part that is not."""

    @property
    @abstractmethod
    def unread_part(self) -> str | None:
        """The first part of the type that is not read, as DuckDB spells it; None if all are."""

    @property
    @abstractmethod
    def is_only_cast(self) -> bool:
        """True if a cast to the type reads the values."""

    @abstractmethod
    def sql(self, value: str) -> str:
        """Return the expression, in DuckDB's SQL, that reads a value in the type of the reading.

        Args:
            value: The value, as an expression in DuckDB's SQL.
        """


@dataclass(frozen=True, slots=True)
class ScalarReading(ColumnReading):
    """Values without parts.

    Attributes:
        scalar_type: Their type.
        template: The SQL that reads a value, with a place for the value; None if a cast does.
    """

    scalar_type: pa.DataType
    template: str | None = None

    @property
    def type(self) -> pa.DataType:
        """Their type."""
        return self.scalar_type

    @property
    def unread_part(self) -> str | None:
        """None: they are read."""
        return None

    @property
    def is_only_cast(self) -> bool:
        """True if a cast to the type reads the values."""
        return self.template is None

    def sql(self, value: str) -> str:
        """Return the value in its type: by its template, or else by a cast."""
        if self.template is None:
            return f"CAST({value} AS {duckdb_type(self.type)})"
        return self.template.format(value)


@dataclass(frozen=True, slots=True)
class NoReading(ColumnReading):
    """Values of a type that has no meaning in a query.

    Attributes:
        spelled_type: The type, as DuckDB or the library of the table spells it.
    """

    spelled_type: str

    @property
    def type(self) -> pa.DataType:
        """The null type."""
        return pa.null()

    @property
    def unread_part(self) -> str:
        """The type itself."""
        return self.spelled_type

    @property
    def is_of_nulls(self) -> bool:
        """True if all values are null, so that an expression may well read them."""
        return self.spelled_type == '"NULL"'

    @property
    def is_only_cast(self) -> bool:
        """False: a null stands for the values."""
        return False

    def sql(self, value: str) -> str:
        """Return a null: where the values would be read the query is refused."""
        del value
        return "NULL"


@dataclass(frozen=True, slots=True)
class ListReading(ColumnReading):
    """Lists, or arrays of one size.

    Attributes:
        element: The reading of their elements.
    """

    element: ColumnReading

    @property
    def type(self) -> pa.DataType:
        """The type of the lists."""
        return pa.list_(self.element.type)

    @property
    def unread_part(self) -> str | None:
        """The first part of the elements that is not read."""
        return self.element.unread_part

    @property
    def is_only_cast(self) -> bool:
        """True if a cast reads the elements."""
        return self.element.is_only_cast

    def sql(self, value: str) -> str:
        """Return the list in its type, element by element if a cast would read other values."""
        if self.is_only_cast:
            return f"CAST({value} AS {duckdb_type(self.type)})"
        return f"list_transform({value}, lambda element: {self.element.sql('element')})"


@dataclass(frozen=True, slots=True)
class StructReading(ColumnReading):
    """Structs.

    Attributes:
        fields: The readings of their fields, by name.
    """

    fields: Mapping[str, ColumnReading]

    @property
    def type(self) -> pa.DataType:
        """The type of the structs."""
        return pa.struct([(name, reading.type) for name, reading in self.fields.items()])

    @property
    def unread_part(self) -> str | None:
        """The first part of a field that is not read."""
        return next((field.unread_part for field in self.fields.values() if field.unread_part is not None), None)

    @property
    def is_only_cast(self) -> bool:
        """True if a cast reads all fields."""
        return all(field.is_only_cast for field in self.fields.values())

    def sql(self, value: str) -> str:
        """Return the struct in its type, field by field if a cast would read other values; a null stays null."""
        if self.is_only_cast:
            return f"CAST({value} AS {duckdb_type(self.type)})"
        parts: list[str] = []
        for name, field in self.fields.items():
            part = field.sql(f"({value}).{quoted(name)}")
            parts.append(f"{quoted(name)} := {part}")
        return f"(CASE WHEN {value} IS NOT NULL THEN struct_pack({', '.join(parts)}) END)"


@dataclass(frozen=True, slots=True)
class MapReading(ColumnReading):
    """Maps.

    Attributes:
        key: The reading of their keys.
        value: The reading of their values.
    """

    key: ColumnReading
    value: ColumnReading

    @property
    def type(self) -> pa.DataType:
        """The type of the maps."""
        return pa.map_(self.key.type, self.value.type)

    @property
    def unread_part(self) -> str | None:
        """The first part of the values, or of the keys, that is not read."""
        return self.value.unread_part or self.key.unread_part

    @property
    def is_only_cast(self) -> bool:
        """True if a cast reads keys and values."""
        return self.key.is_only_cast and self.value.is_only_cast

    def sql(self, value: str) -> str:
        """Return the map in its type, entry by entry if a cast would read other values."""
        if self.is_only_cast:
            return f"CAST({value} AS {duckdb_type(self.type)})"
        entry = f"struct_pack(key := {self.key.sql('entry.key')}, value := {self.value.sql('entry.value')})"
        return f"map_from_entries(list_transform(map_entries({value}), lambda entry: {entry}))"


_MICROSECONDS: Final = "((epoch_ns({0}) - (epoch_ns({0}) % 1000 + 1000) % 1000) // 1000)"
"""The microseconds of a time of nanoseconds: the microsecond in which it lies, also before 1970, where `//` rounds up.

A cast rounds to the next microsecond, which may lie in the next window.
"""

_READINGS: Final[Mapping[str, ScalarReading]] = {
    "boolean": ScalarReading(pa.bool_()),
    "tinyint": ScalarReading(pa.int8()),
    "smallint": ScalarReading(pa.int16()),
    "integer": ScalarReading(pa.int32()),
    "bigint": ScalarReading(pa.int64()),
    "hugeint": ScalarReading(pa.decimal128(38, 0)),
    "utinyint": ScalarReading(pa.int16()),
    "usmallint": ScalarReading(pa.int32()),
    "uinteger": ScalarReading(pa.int64()),
    "ubigint": ScalarReading(pa.decimal128(20, 0)),
    "float": ScalarReading(pa.float32()),
    "double": ScalarReading(pa.float64()),
    "varchar": ScalarReading(pa.string()),
    "enum": ScalarReading(pa.string()),
    "blob": ScalarReading(pa.binary()),
    "date": ScalarReading(pa.date32()),
    "timestamp": ScalarReading(LOCAL_TIME),
    "timestamp_s": ScalarReading(LOCAL_TIME),
    "timestamp_ms": ScalarReading(LOCAL_TIME),
    "timestamp_ns": ScalarReading(LOCAL_TIME, f"make_timestamp({_MICROSECONDS})"),
    "timestamp with time zone": ScalarReading(INSTANT),
    "timestamptz_ns": ScalarReading(INSTANT, f"make_timestamptz({_MICROSECONDS})"),
}
"""The readings of types without parts, by DuckDB's ids: unsigned numbers in the types in which Spark reads them."""

_LENGTH: Final = ScalarReading(LENGTH, "epoch_us({})")
"""The reading of an interval that is a length of time."""

_PARTS: Final = frozenset({"decimal", "list", "array", "map", "struct"})
"""The ids of types that have parts, or sizes."""


def is_json(data_type: duckdb.sqltypes.DuckDBPyType) -> bool:
    """True if a type is JSON: DuckDB calls it text, but its values are of several types."""
    return str(data_type) == "JSON"


def reading_of(data_type: duckdb.sqltypes.DuckDBPyType, *, has_lengths: bool = False) -> ColumnReading:
    """Return the way in which a column of DuckDB's is read.

    Args:
        data_type: The type of the column.
        has_lengths: True if intervals are lengths of time, as in Arrow data. DuckDB's own intervals may have months.

    Example:
        >>> reading_of(duckdb.sqltype("UINTEGER[]")).sql("x")
        'CAST(x AS BIGINT[])'
        >>> reading_of(duckdb.sqltype("UUID[]")).unread_part
        'UUID'
    """
    kind = data_type.id
    if kind == "interval" and has_lengths:
        return _LENGTH
    if kind not in _PARTS:
        reading = None if is_json(data_type) else _READINGS.get(kind)
        return NoReading(str(data_type)) if reading is None else reading

    children: Any = data_type.children
    parts = dict(children)  # by name: the types of parts, and the sizes of a decimal or an array
    if kind == "decimal":
        return ScalarReading(pa.decimal128(parts["precision"], parts["scale"]))
    if kind == "array":
        parts.pop("size")  # an array is read as a list of any length
    readings: dict[str, ColumnReading] = {}
    for name, part in parts.items():
        readings[name] = reading_of(part, has_lengths=has_lengths)
    if kind == "struct":
        return StructReading(readings)
    if kind == "map":
        return MapReading(readings["key"], readings["value"])
    return ListReading(readings["child"])
