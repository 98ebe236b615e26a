"""The micro-batches that sinks are tried with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

KEYS: Final = ("station",)

_WINDOW: Final = pa.struct([("start", pa.int64()), ("end", pa.int64())])
_COLUMNS: Final = [("station", pa.string()), ("rides", pa.int64()), ("km", pa.float64()), ("window", _WINDOW)]
_CHANGES: Final = [("change", pa.string()), ("event_id", pa.int64())]
_WIDER: Final = [("bikes", pa.int64())]
_STATIONS: Final = ("north", None, "south 'n \" `x`;")


def micro_batch(number: int, *, changes: bool = False, of: int = 0, wider: bool = False) -> pa.Table:
    """Return the rows of a micro-batch; of four one has none.

    Args:
        number: Its number.
        changes: True for a changelog: each micro-batch also takes back a row of the one before.
        of: The number of the query.
        wider: True for one more column.
    """
    schema = pa.schema([*_COLUMNS, *(_CHANGES if changes else ()), *(_WIDER if wider else ())])
    rows = [] if number % 4 == 3 else [_row(number, place, of, wider) for place in range(3)]
    if changes:
        rows = [row | {"change": "insert"} for row in rows]
        if rows and number % 4:
            rows.append(_row(number - 1, 0, of, wider) | {"change": "retract"})
            passing = _row(number, 3, of, wider)  # comes and goes
            rows += [passing | {"change": "insert"}, passing | {"change": "retract"}]
    return pa.Table.from_pylist(rows, schema)


def changed_columns(*, changes: bool, wider: bool) -> list[str]:
    """Return the columns by which rows are compared."""
    return [name for name, _ in (*_COLUMNS, *(_CHANGES[1:] if changes else ()), *(_WIDER if wider else ()))]


def expected(
    numbers: Iterable[int], *, changes: bool = False, of: int = 0, wider: Iterable[int] = ()
) -> list[dict[str, Any]]:
    """Return the rows that micro-batches come to.

    Args:
        numbers: Their numbers.
        changes: As in `micro_batch`.
        of: The number of the query.
        wider: The numbers of those with one more column.
    """
    widened = set(wider)
    names = changed_columns(changes=changes, wider=bool(widened))
    live: dict[object, dict[str, Any]] = {}
    for number in numbers:
        for place, row in enumerate(micro_batch(number, changes=changes, of=of, wider=number in widened).to_pylist()):
            name = (row["station"], row["event_id"]) if changes else (number, place)
            if row.get("change") == "retract":
                live.pop(name, None)
            else:
                live[name] = {column: row.get(column) for column in names}
    return list(live.values())


def _row(number: int, place: int, of: int, wider: bool) -> dict[str, Any]:
    start = 10 * number
    row: dict[str, Any] = {"station": _STATIONS[place % 3], "rides": number + place, "km": number / 4 + of}
    row |= {"window": {"start": start, "end": start + 10}, "event_id": 1000 * of + 10 * number + place}
    return row | ({"bikes": number} if wider else {})
