"""Tables in this process and on Spark, and what a query of them has in both places."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from muntin_engine.backends.local.plain_sql.queried_rows import QueriedRows

_START: Final = datetime(2024, 5, 1, 8, tzinfo=UTC)

RIDES: Final = pa.table(
    {
        "station": pa.array(["a", "b", "a", None, "C", "c", "", "b"]),
        "leaves": pa.array([_START + timedelta(minutes=7 * n) for n in range(8)], pa.timestamp("us", "UTC")),
        "km": pa.array([1.5, 0.0, None, -0.0, float("nan"), 2.0, float("inf"), 2.0]),
        "riders": pa.array([1, 2, None, 4, 2147483647, -3, 2, 2], pa.int32()),
        "fare": pa.array([Decimal("1.25"), None, Decimal("-3.00"), *[Decimal("9.99")] * 5], pa.decimal128(8, 2)),
        "is_paid": pa.array([True, None, False, True, True, False, None, True]),
        "bike": pa.array([{"kind": "cargo", "gears": 3}] * 5 + [None] * 3),
    }
)

# The station b is there twice; that of the rides C and c is missing, and no ride is at d.
STATIONS: Final = pa.table(
    {
        "station": pa.array(["a", "b", "b", None, "d"]),
        "city": pa.array(["A", "B", "B2", "none", "D"]),
        "size": pa.array([1, 2, 3, 4, 5], pa.int64()),
    }
)


def translated(text: str) -> QueriedRows:
    """Translate a query over the tables into one of DuckDB, without running it."""
    return QueriedRows.of(text, {"rides": RIDES, "stations": STATIONS})


def computed_here(text: str) -> pa.Table:
    """Return the rows that a query over the tables has in this process."""
    rows: pa.Table = translated(text).table()
    return rows


def rows_as_text(table: pa.Table) -> list[str]:
    """Return each row of a table as text, in which NaN equals itself and 0.0 does not equal -0.0."""
    return [repr(tuple(row.values())) for row in table.to_pylist()]


def contents(table: pa.Table) -> dict[str, Any]:
    """Return what tables are compared by: names and types of columns, and how often each row is there."""
    return {
        "names": table.schema.names,
        "types": list(map(str, table.schema.types)),
        "rows": Counter(rows_as_text(table)),
    }
