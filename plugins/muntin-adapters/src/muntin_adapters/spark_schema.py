"""Types of PySpark as annotations, by the names of their classes: PySpark is not imported."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from typing_extensions import TypedDict

from muntin.errors import ModuleDefinitionError

_PLAIN: Final[dict[str, Any]] = {
    "BooleanType": bool,
    "ByteType": int,
    "ShortType": int,
    "IntegerType": int,
    "LongType": int,
    "FloatType": float,
    "DoubleType": float,
    "DecimalType": Decimal,
    "StringType": str,
    "CharType": str,
    "VarcharType": str,
    "BinaryType": bytes,
    "DateType": date,
    "TimestampType": datetime,
    "TimestampNTZType": datetime,
    "DayTimeIntervalType": timedelta,
}
"""The Python types of values, by the names of PySpark's classes."""


def annotation_of(data_type: Any) -> Any:
    """Return the annotation for values of a type of PySpark.

    Raises:
        ModuleDefinitionError: The type is none of PySpark's, or one that no column of results has.
    """
    kind = type(data_type).__name__
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _NESTED:
        return _NESTED[kind](data_type)
    raise ModuleDefinitionError(
        f"the type {data_type!r} has no column type here\n"
        f"  expected: one of PySpark's types {', '.join([*_PLAIN, *_NESTED])}"
    )


def tuple_of(struct: Any) -> Any:
    """Return the annotation of tuples whose elements are the fields of a `StructType`, each of which may be null."""
    parts = tuple(annotation_of(part.dataType) | None for part in struct.fields)
    return tuple.__class_getitem__(parts)


def _list(data_type: Any) -> Any:
    """Return the annotation of an `ArrayType`; elements may be null."""
    element = annotation_of(data_type.elementType)
    return list.__class_getitem__(element | None)


def _dict(data_type: Any) -> Any:
    """Return the annotation of a `MapType`; values may be null."""
    key = annotation_of(data_type.keyType)
    value = annotation_of(data_type.valueType)
    return dict.__class_getitem__((key, value | None))


def _record(data_type: Any) -> Any:
    """Return the annotation of a `StructType`: a typed dict whose fields may be null."""
    parts = {part.name: annotation_of(part.dataType) | None for part in data_type.fields}
    return TypedDict("Record", parts)  # type: ignore[operator]  # its fields are known at run time only


_NESTED: Final[dict[str, Callable[[Any], Any]]] = {"ArrayType": _list, "MapType": _dict, "StructType": _record}
