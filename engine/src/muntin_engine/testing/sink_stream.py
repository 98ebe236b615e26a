"""The micro-batches that sinks are tried with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa

KEYS: Final = ("station",)

_WINDOW: Final = pa.struct([("start", pa.int64()), ("end", pa.int64())])
_COLUMNS: Final = [("station", pa.string()), ("rides", pa.int64()), ("km", pa.float64()), ("window", _WINDOW)]
_CHANGES: Final = [("change", pa.string()), ("event_id", pa.int64())]
_NEW_COLUMN: Final = [("bikes", pa.int64())]
_STATIONS: Final = ("north", None, "south 'n \" `x`;")


def micro_batch(number: int, *, changes: bool = False, query: int = 0, has_new_column: bool = False) -> pa.Table:
    """Return the rows of a micro-batch; every fourth one is empty.

    Args:
        number: The number of the micro-batch.
        changes: True for a changelog: each micro-batch also retracts a row of the previous one.
        query: The number of the query.
        has_new_column: True for one more column.
    """
    columns = list(_COLUMNS)
    if changes:
        columns += _CHANGES
    if has_new_column:
        columns += _NEW_COLUMN
    schema = pa.schema(columns)
    if number % 4 == 3:
        return pa.Table.from_pylist([], schema)

    # A column that the schema lacks is left out of the table, so rows may have more columns.
    rows = [_row(number, place=place, query=query) for place in range(3)]
    if changes:
        rows = [row | {"change": "insert"} for row in rows]
        if number % 4:  # the first micro-batch, and one behind an empty one, has no earlier row to retract
            rows.append(_row(number - 1, place=0, query=query) | {"change": "retract"})
            # One more row comes and goes within this micro-batch.
            short_lived_row = _row(number, place=3, query=query)
            rows += [short_lived_row | {"change": "insert"}, short_lived_row | {"change": "retract"}]
    return pa.Table.from_pylist(rows, schema)


def compared_columns(*, changes: bool, has_new_column: bool) -> list[str]:
    """Return the names of the columns by which rows are compared: all but the kind of change.

    Args:
        changes: True for a changelog.
        has_new_column: True to compare the column that only some micro-batches have.
    """
    columns = list(_COLUMNS)
    if changes:
        columns += [column for column in _CHANGES if column[0] != "change"]
    if has_new_column:
        columns += _NEW_COLUMN
    return [name for name, _type in columns]


def expected_rows(
    numbers: Iterable[int], *, changes: bool = False, query: int = 0, with_new_column: Iterable[int] = ()
) -> list[dict[str, Any]]:
    """Return the rows that a place has after some micro-batches; of a changelog, those that are live.

    Args:
        numbers: The numbers of the micro-batches.
        changes: True for a changelog, as in `micro_batch`.
        query: The number of the query.
        with_new_column: The numbers of the micro-batches with one more column.
    """
    numbers_with_new_column = set(with_new_column)
    names = compared_columns(changes=changes, has_new_column=bool(numbers_with_new_column))
    live: dict[object, dict[str, Any]] = {}
    for number in numbers:
        has_new_column = number in numbers_with_new_column
        table = micro_batch(number, changes=changes, query=query, has_new_column=has_new_column)
        for place, row in enumerate(table.to_pylist()):
            # A changelog names its rows by key and id. Elsewhere no row is retracted, and a row is named by its place.
            name = (row["station"], row["event_id"]) if changes else (number, place)
            if row.get("change") == "retract":
                live.pop(name, None)
            else:
                live[name] = {column: row.get(column) for column in names}
    return list(live.values())


def _row(number: int, *, place: int, query: int) -> dict[str, Any]:
    """Return a row of results with a value for each column that a micro-batch may have; no two rows are equal.

    Args:
        number: The number of its micro-batch.
        place: The place of the row in the micro-batch.
        query: The number of the query.
    """
    start = 10 * number
    return {
        "station": _STATIONS[place % 3],
        "rides": number + place,
        "km": number / 4 + query,
        "window": {"start": start, "end": start + 10},
        "event_id": 1000 * query + 10 * number + place,
        "bikes": number,
    }
