"""Values of rows as JSON text."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any, Final

_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""Floats that are no JSON numbers, as Spark writes them, by their spelling in Python."""


def json_of(value: Any) -> str:
    """Return a value of a row as JSON, as Spark's `to_json` writes it with nulls, microseconds and UTC.

    Args:
        value: A value as `to_pylist(maps_as_pydicts="strict")` of an Arrow column gives it.

    Returns:
        Decimals are numbers with all their digits, bytes are Base64, and numbers that are not finite are text.

    Example:
        >>> from decimal import Decimal
        >>> json_of({"station": "north", "km": Decimal("2.50"), "stops": [1, None]})
        '{"station":"north","km":2.50,"stops":[1,null]}'
    """
    if isinstance(value, dict):
        members = [f"{json.dumps(_member_name(key))}:{json_of(part)}" for key, part in value.items()]
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_of, value)) + "]"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float) and not isfinite(value):
        value = _NOT_FINITE[str(value)]
    elif isinstance(value, bytes):
        value = b64encode(value).decode()
    elif isinstance(value, date | timedelta):
        value = text_of(value)
    return json.dumps(value, ensure_ascii=False)


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
