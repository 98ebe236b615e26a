"""Rows that a test feeds to a stream: Python values, as an Arrow table of the types of the stream.

A value is what Spark reads of it as JSON: a timestamp is a datetime or its text, a decimal a `Decimal`, a number or its
text. What would lose something, such as a float for a column of integers, is refused.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any, Final, NamedTuple

import pyarrow as pa

from muntin.errors import QueryError
from muntin.errors.safe_text import safe_repr
from muntin_engine.backends.local.duckdb_types import spelled
from muntin_engine.wire.arrow_arrays import arrow_array


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return rows of Python values as an Arrow table.

    Args:
        rows: The rows, each as its values by column; a value that is missing is null.
        schema: The columns.

    Raises:
        QueryError: A value does not fit its column.
    """
    listed_rows = list(rows)
    columns: list[pa.Array] = []
    for column in schema:
        values = [column_value(row.get(column.name), column.name, column.type) for row in listed_rows]
        columns.append(arrow_array(values, column.type))
    return pa.table(columns, schema=schema)


def column_value(value: object, name: str, data_type: pa.DataType) -> Any:
    """Return a value as Arrow takes it for a column.

    Args:
        value: The value.
        name: The name of the column, for errors.
        data_type: The type of the column.

    Raises:
        QueryError: The value does not fit.
    """
    try:
        return _converted(value, data_type)
    except _UnfitValueError as unfit:
        raise QueryError(
            f"the column {name} is of type {spelled(data_type)}, and {safe_repr(unfit.value)} does not fit\n"
            f"  expected: {unfit.expected}"
        ) from None


class _UnfitValueError(Exception):
    """A value that does not fit.

    Attributes:
        value: The value.
        expected: The values that fit, in words.
    """

    def __init__(self, value: object, expected: str) -> None:
        self.value = value
        self.expected = expected
        super().__init__(expected)


def _converted(value: object, data_type: pa.DataType) -> Any:
    """Return a value, or each part of a nested one, as Arrow takes it.

    Raises:
        _UnfitValueError: The value, or a part of it, does not fit.
    """
    if value is None:
        return None
    for kind in _KINDS:
        if kind.has(data_type):
            return kind.convert(value, data_type)
    raise AssertionError(f"schemas have no columns of type {data_type}")


def _boolean(value: object, _: pa.DataType) -> bool:
    """Return True or False; a number is refused."""
    if not isinstance(value, bool):
        raise _UnfitValueError(value, "True or False")
    return value


def _integer(value: object, data_type: pa.DataType) -> int:
    """Return a whole number that fits the bits of its column."""
    limit = 2 ** (data_type.bit_width - 1)
    # A boolean is an integer to Python, and none to Spark.
    if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
        raise _UnfitValueError(value, f"a whole number from {-limit} to {limit - 1}")
    return value


def _float(value: object, _: pa.DataType) -> float:
    """Return a number as a float."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _UnfitValueError(value, "a number")
    try:
        return float(value)
    except OverflowError:
        raise _UnfitValueError(value, "a number of at most 1.8e308") from None


def _decimal(value: object, data_type: pa.DataType) -> Decimal:
    """Return a number as a decimal with the places of its column.

    A float is read as its text: 0.1 is one tenth, and not the nearest fraction of powers of two.
    """
    expected = f"a number of at most {data_type.precision - data_type.scale} digits before the point"
    if not isinstance(value, int | float | str | Decimal) or isinstance(value, bool):
        raise _UnfitValueError(value, expected)
    try:
        # A number with more places than the column is rounded, as Spark does.
        context = Context(prec=data_type.precision, rounding=ROUND_HALF_UP)
        number = Decimal(str(value)).quantize(Decimal(1).scaleb(-data_type.scale), context=context)
    except InvalidOperation:
        raise _UnfitValueError(value, expected) from None
    if not number.is_finite():
        raise _UnfitValueError(value, expected)
    return number


def _text(value: object, _: pa.DataType) -> str:
    """Return text as it is, and any other value as its JSON, as Spark reads JSON for a column of text."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError):
        raise _UnfitValueError(value, "text") from None


def _binary(value: object, _: pa.DataType) -> bytes:
    """Return bytes as they are; text is read as base64, as Spark reads JSON for a column of bytes."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    try:
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
    except ValueError:  # `binascii.Error` is one, too; for letters that are not ASCII, it is a plain `ValueError`
        pass  # refused below, as other values are
    raise _UnfitValueError(value, "bytes, or their text in base64")


def _date(value: object, _: pa.DataType) -> date:
    """Return a date, which may be given as text; a datetime is refused, though it is a `date` to Python."""
    try:
        if isinstance(value, str):
            return date.fromisoformat(value)
    except ValueError:
        pass  # refused below: text is no date
    if not isinstance(value, date) or isinstance(value, datetime):
        raise _UnfitValueError(value, "a date, or a text such as '2024-05-01'")
    return value


def _timestamp(value: object, data_type: pa.DataType) -> datetime:
    """Return a datetime, which may be given as text: in UTC, or without a zone if the column has none.

    For a column with a zone, a datetime without one is taken as UTC, which is the zone of the session on Spark.

    Raises:
        _UnfitValueError: The value is no time, or has a zone and the column has none.
    """
    try:
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        time = None
    if not isinstance(time, datetime):
        raise _UnfitValueError(value, "a datetime, or a text such as '2024-05-01T08:00:00Z'")
    if data_type.tz is None:
        if time.tzinfo is not None:
            raise _UnfitValueError(value, "a time without a zone, such as '2024-05-01T08:00:00'")
        return time
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise _UnfitValueError(value, "a time of the years 1 to 9999 in UTC") from None


def _length(value: object, _: pa.DataType) -> timedelta:
    """Return a length of time whose microseconds fit into 64 bits."""
    if not isinstance(value, timedelta):
        raise _UnfitValueError(value, "a timedelta")
    if not -(2**63) <= value // timedelta(microseconds=1) < 2**63:
        raise _UnfitValueError(value, "a timedelta of at most 292,000 years")
    return value


def _list(value: object, data_type: pa.DataType) -> list[Any]:
    """Return a list whose elements are as Arrow takes them."""
    if not isinstance(value, list | tuple):
        raise _UnfitValueError(value, "a list")
    return [_converted(part, data_type.value_type) for part in value]


def _map(value: object, data_type: pa.DataType) -> list[tuple[Any, Any]]:
    """Return the entries of a dict as pairs of a key and a value, as Arrow takes a map."""
    if not isinstance(value, Mapping):
        raise _UnfitValueError(value, "a dict")
    entries: list[tuple[Any, Any]] = []
    for key, part in value.items():
        if key is None:
            raise _UnfitValueError(value, "a dict whose keys are not None")
        entries.append((_converted(key, data_type.key_type), _converted(part, data_type.item_type)))
    return entries


def _struct(value: object, data_type: pa.DataType) -> dict[str, Any]:
    """Return a dict with all fields of a struct; fields that are missing are null, and others are refused."""
    types: Mapping[str, pa.DataType] = {part.name: part.type for part in data_type}
    if not isinstance(value, Mapping) or not value.keys() <= types.keys():
        raise _UnfitValueError(value, f"a dict with the keys {', '.join(types)}, of which any may be missing")
    return {name: _converted(value.get(name), part_type) for name, part_type in types.items()}


class _FedKind(NamedTuple):
    """A kind of types, and how values that are fed for them are read.

    Attributes:
        has: Says whether a type is of the kind.
        convert: Returns a value as Arrow takes it for a type of the kind; raises `_UnfitValueError` if it does not fit.
    """

    has: Callable[[pa.DataType], bool]
    convert: Callable[[object, pa.DataType], Any]


_KINDS: Final[Sequence[_FedKind]] = (
    _FedKind(pa.types.is_boolean, _boolean),
    _FedKind(pa.types.is_integer, _integer),
    _FedKind(pa.types.is_floating, _float),
    _FedKind(pa.types.is_decimal, _decimal),
    _FedKind(pa.types.is_string, _text),
    _FedKind(pa.types.is_binary, _binary),
    _FedKind(pa.types.is_date, _date),
    _FedKind(pa.types.is_timestamp, _timestamp),
    _FedKind(pa.types.is_duration, _length),
    _FedKind(pa.types.is_list, _list),
    _FedKind(pa.types.is_map, _map),
    _FedKind(pa.types.is_struct, _struct),
)
"""The kinds of the types that schemas have."""
