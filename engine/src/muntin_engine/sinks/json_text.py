"""Values of rows as JSON text."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""Floats that are no JSON numbers, as Spark writes them, by their spelling in Python."""


def json_of(value: Any) -> str:
    """Return a value of a row as JSON, as Spark's `to_json` writes it with nulls, microseconds and UTC.

    Args:
        value: A value as `to_pylist(maps_as_pydicts="strict")` of an Arrow column gives it.

    Returns:
        Decimals are numbers with all their digits, bytes are Base64, and numbers that are not finite are text. Floats
        have the fewest digits that tell them from other floats. Java before version 19 writes more digits for a few
        floats, such as 9.999999999999999E22 for 1.0E23.

    Example:
        >>> from decimal import Decimal
        >>> json_of({"station": "north", "km": Decimal("2.50"), "stops": [1, None], "far": 1e10})
        '{"station":"north","km":2.50,"stops":[1,null],"far":1.0E10}'
    """
    if isinstance(value, dict):
        members = [f"{_json_string(_member_name(key))}:{json_of(part)}" for key, part in value.items()]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_of, value)) + "]"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float):
        return _json_number(value) if isfinite(value) else _json_string(_NOT_FINITE[str(value)])
    if isinstance(value, bytes):
        return _json_string(b64encode(value).decode())
    if isinstance(value, date | timedelta):
        return _json_string(text_of(value))
    return _json_string(value) if isinstance(value, str) else json.dumps(value)


def with_shortest_floats(rows: pa.Table) -> pa.Table:
    """Return rows in which each float of 32 bits is the double with the same digits, which is what `to_json` writes.

    Python has only doubles: it would show the float 0.1 as 0.10000000149011612.
    """
    import pyarrow as pa

    texts: list[pa.Field] = []
    doubles: list[pa.Field] = []
    for field in rows.schema:
        texts.append(field.with_type(_with_floats_as(pa.string(), field.type)))
        doubles.append(field.with_type(_with_floats_as(pa.float64(), field.type)))
    if pa.schema(texts) == rows.schema:
        return rows
    return rows.cast(pa.schema(texts)).cast(pa.schema(doubles))  # Arrow writes a float with the fewest digits


def _with_floats_as(replacement: pa.DataType, data_type: pa.DataType) -> pa.DataType:
    """Return a type with another one in the place of floats of 32 bits, within lists, maps and structs too."""
    import pyarrow as pa

    if pa.types.is_float32(data_type):
        return replacement
    if pa.types.is_list(data_type):
        return pa.list_(_field_with_floats_as(replacement, data_type.value_field))
    if pa.types.is_map(data_type):
        key_field = _field_with_floats_as(replacement, data_type.key_field)
        return pa.map_(key_field, _field_with_floats_as(replacement, data_type.item_field))
    if pa.types.is_struct(data_type):
        return pa.struct([_field_with_floats_as(replacement, field) for field in data_type])
    return data_type


def _field_with_floats_as(replacement: pa.DataType, field: pa.Field) -> pa.Field:
    """Return a part of a nested type with another type in the place of floats of 32 bits."""
    return field.with_type(_with_floats_as(replacement, field.type))


def text_of(value: date | timedelta) -> str:
    """Return a date, a time or an interval as text; a time with a zone is written in UTC.

    All times have six digits for microseconds, so that their texts sort as the times do.

    Example:
        >>> text_of(timedelta(days=1, seconds=90)), text_of(datetime(2024, 5, 1, 8))
        ("INTERVAL '1 00:01:30' DAY TO SECOND", '2024-05-01T08:00:00.000000')
    """
    if isinstance(value, timedelta):
        sign = "-" if value < timedelta(0) else ""
        length = abs(value)
        seconds = f"{length.seconds // 3600:02}:{length.seconds // 60 % 60:02}:{length.seconds % 60:02}"
        fraction = f".{length.microseconds:06}".rstrip("0") if length.microseconds else ""
        return f"INTERVAL '{sign}{length.days} {seconds}{fraction}' DAY TO SECOND"
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        return value.isoformat(timespec="microseconds")
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _member_name(key: object) -> str:
    """Return the name of a JSON member for a key of a map: text as it is, and any other value as its JSON."""
    return key if isinstance(key, str) else json_of(key).strip('"')


def _json_string(text: str) -> str:
    """Return text as a JSON string; letters beyond ASCII are not escaped, as Spark escapes none."""
    return json.dumps(text, ensure_ascii=False)


def _json_number(number: float) -> str:
    """Return a finite float as Java's `Double.toString` writes it, with an exponent from ten millions and below 0.001.

    Example:
        >>> _json_number(1234567.0), _json_number(-1.5e-7), _json_number(1e16)
        ('1234567.0', '-1.5E-7', '1.0E16')
    """
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    sign, digits, exponent = Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int), "only numbers that are not finite have letters there"
    text = "".join(map(str, digits))
    significant_digits = text.rstrip("0")
    exponent_of_first_digit = exponent + len(text) - 1
    return f"{'-' if sign else ''}{text[0]}.{significant_digits[1:] or '0'}E{exponent_of_first_digit}"
