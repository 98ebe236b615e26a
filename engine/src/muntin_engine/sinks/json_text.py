"""Values of rows as JSON text."""

from __future__ import annotations

import json
from base64 import b64encode
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from math import isfinite, isnan
from typing import Any


def json_of(value: Any) -> str:
    """Return a value of a row as JSON, as Spark's `to_json` writes it with nulls, microseconds and UTC.

    Args:
        value: What `to_pylist(maps_as_pydicts="strict")` of an Arrow column gives.

    Returns:
        Decimals are numbers with all their digits, bytes are Base64, and numbers that are not finite are text.

    Example:
        >>> from decimal import Decimal
        >>> json_of({"station": "north", "km": Decimal("2.50"), "stops": [1, None]})
        '{"station":"north","km":2.50,"stops":[1,null]}'
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(_name(name))}:{json_of(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_of, value)) + "]"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, float) and not isfinite(value):
        value = "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    elif isinstance(value, bytes):
        value = b64encode(value).decode()
    elif isinstance(value, date | timedelta):
        value = text_of(value)
    return json.dumps(value, ensure_ascii=False)


def text_of(value: date | timedelta) -> str:
    """Return a date, a time in UTC or without a zone, or an interval as text; equal lengths sort as times do.

    Example:
        >>> text_of(timedelta(days=1, seconds=90)), text_of(datetime(2024, 5, 1, 8))
        ("INTERVAL '1 00:01:30' DAY TO SECOND", '2024-05-01T08:00:00.000000')
    """
    if isinstance(value, timedelta):
        size, sign = abs(value), "-" if value < timedelta(0) else ""
        seconds = f"{size.seconds // 3600:02}:{size.seconds // 60 % 60:02}:{size.seconds % 60:02}"
        part = f".{size.microseconds:06}".rstrip("0") if size.microseconds else ""
        return f"INTERVAL '{sign}{size.days} {seconds}{part}' DAY TO SECOND"
    if not isinstance(value, datetime):
        return value.isoformat()
    zone = "Z" if value.tzinfo else ""
    local = value.astimezone(UTC) if zone else value
    return local.replace(tzinfo=None).isoformat(timespec="microseconds") + zone


def _name(key: object) -> str:
    """Return the name of a member: a key of a map may be no text."""
    return key if isinstance(key, str) else json_of(key).strip('"')
