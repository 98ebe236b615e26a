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


def micro_batch(number: int, *, changes: bool = False, query: int = 0, wider: bool = False) -> pa.Table:
    """Return the rows of a micro-batch; every fourth one is empty.

    Args:
        number: The number of the micro-batch.
        changes: True for a changelog: each micro-batch also retracts a row of the previous one.
        query: The number of the query.
        wider: True for one more column.
    """
    schema = pa.schema([*_COLUMNS, *(_CHANGES if changes else ()), *(_WIDER if wider else ())])
    if number % 4 == 3:
        return pa.Table.from_pylist([], schema)
    rows = [_row(number, place, query, wider) for place in range(3)]
    if changes:
        rows = [row | {"change": "insert"} for row in rows]
        if number % 4:
            # A row of the previous micro-batch, and one that comes and goes within this one.
            rows.append(_row(number - 1, 0, query, wider) | {"change": "retract"})
            short_lived = _row(number, 3, query, wider)
            rows += [short_lived | {"change": "insert"}, short_lived | {"change": "retract"}]
    return pa.Table.from_pylist(rows, schema)


def changed_columns(*, changes: bool, wider: bool) -> list[str]:
    """Return the columns by which rows are compared."""
    columns = [*_COLUMNS, *(_CHANGES[1:] if changes else ()), *(_WIDER if wider else ())]
    return [name for name, _ in columns]


def expected_rows(
    numbers: Iterable[int], *, changes: bool = False, query: int = 0, wider: Iterable[int] = ()
) -> list[dict[str, Any]]:
    """Return the rows that micro-batches come to.

    Args:
        numbers: The numbers of the micro-batches.
        changes: True for a changelog, as in `micro_batch`.
        query: The number of the query.
        wider: The numbers of those with one more column.
    """
    wider_numbers = set(wider)
    names = changed_columns(changes=changes, wider=bool(wider_numbers))
    live: dict[object, dict[str, Any]] = {}
    for number in numbers:
        table = micro_batch(number, changes=changes, query=query, wider=number in wider_numbers)
        for place, row in enumerate(table.to_pylist()):
            name = (row["station"], row["event_id"]) if changes else (number, place)
            if row.get("change") == "retract":
                live.pop(name, None)
            else:
                live[name] = {column: row.get(column) for column in names}
    return list(live.values())


def _row(number: int, place: int, query: int, wider: bool) -> dict[str, Any]:
    """Return a row of results of a micro-batch, which differs from every other row."""
    start = 10 * number
    row: dict[str, Any] = {
        "station": _STATIONS[place % 3],
        "rides": number + place,
        "km": number / 4 + query,
        "window": {"start": start, "end": start + 10},
        "event_id": 1000 * query + 10 * number + place,
    }
    if wider:
        row["bikes"] = number
    return row
