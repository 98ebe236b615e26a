"""Mistakes in SQL, the words of the messages that say what to write instead, and queries with those words followed.

Queries read three tables: `rides`, `stations` and `numbers`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from muntin import function
from muntin.errors import QueryError
from muntin_engine import sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Cases: TypeAlias = dict[str, tuple[str, str, str]]
"""By its name, a mistake: the wrong query, a part of the message, and the query that it advises."""

_RIDES: Final = """
    SELECT id, station, city, timestamp(leaves) AS leaves, timestamp(returns) AS returns, km FROM VALUES
        (1, 'north', 'x', '2024-05-01 08:05', '2024-05-01 08:20', 3.0D),
        (2, 'north', 'x', '2024-05-01 08:40', '2024-05-01 09:10', 7.5D),
        (3, 'south', 'y', '2024-05-01 09:10', '2024-05-01 09:15', 2.0D)
    AS rides (id, station, city, leaves, returns, km)
"""
_STATIONS: Final = """
    SELECT station, timestamp(since) AS since, op, docks FROM VALUES
        ('north', '2024-05-01 08:00', 'set', 10), ('south', '2024-05-01 09:00', 'delete', 20)
    AS stations (station, since, op, docks)
"""
_NUMBERS: Final = "SELECT * FROM VALUES (1L, 1.5BD, 2), (4L, 2.5BD, 3) AS numbers (t, d, id)"

TUMBLE: Final = "TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)"
REACHING: Final = "TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR, REACH => INTERVAL '2' MINUTES)"
SESSION: Final = "SESSION(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)"
EVENTS: Final = "EVENTS(TABLE rides, DESCRIPTOR(leaves))"
ENDS: Final = "GROUP BY window_start, window_end"
COUNTS: Final = f"SELECT station, COUNT(*) AS n FROM {TUMBLE} GROUP BY station, window_start, window_end"
HOURS_OF_COUNTS: Final = f"TUMBLE(TABLE ({COUNTS}), DESCRIPTOR(window_start, window_end), INTERVAL '1' HOUR)"
R: Final = f"{EVENTS} AS r"
S: Final = "EVENTS(TABLE stations, DESCRIPTOR(since)) AS s"
VERSIONS: Final = "EVENTS(TABLE stations, DESCRIPTOR(since)) FOR SYSTEM_TIME AS OF r.leaves AS s"
SAME: Final = "r.station = s.station"
NEAR: Final = "s.since BETWEEN r.leaves - INTERVAL '1' HOUR AND r.leaves + INTERVAL '1' HOUR"
MATCH: Final = (
    "SELECT * FROM rides MATCH_RECOGNIZE (PARTITION BY station ORDER BY leaves, id"
    " MEASURES A.id AS first, B.id AS second"
    " ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN INTERVAL '1' HOUR"
    " DEFINE A AS A.km > 1) AS m"
)


NO_SQL: Final = "no SQL"
"""Stands for the right query where the message says that SQL has none."""


def counted(windows: str) -> str:
    """Return a query that counts the rows of windows."""
    return f"SELECT COUNT(*) AS n FROM {windows} {ENDS}"


def within(old: str, new: str, text: str) -> str:
    """Return a text with some words in the place of others, which it must have."""
    assert old in text
    return text.replace(old, new, 1)


def of_rides(old: str, new: str, windows: str = TUMBLE) -> str:
    """Return a query that counts the rows of windows, with some words in the place of others."""
    return within(old, new, counted(windows))


def joined(on: str, kind: str = "JOIN", right: str = S, columns: str = "r.id", left: str = R) -> str:
    """Return a query that joins the rides `r` with the stations `s`, or with other streams."""
    return f"SELECT {columns} FROM {left} {kind} {right} ON {on}"


def near(left: float, right: float, within: int = 100) -> bool:
    """Return True for numbers that are near; what messages call a plugin's function."""
    return abs(left - right) <= within


_PYTHON: Final = re.compile(r"F\.\w+\(|\bevents\(|\b[a-z_]+=['\w\[]|\bquery\[")
"""Words that only Python has: PySpark's functions, arguments by name, and places in data."""

MODULES: Final = (function("my.near", version="1.0.0")(near),)
"""The modules that queries call besides those of plugins."""


def tables_of(spark: SparkSession) -> dict[str, Any]:
    """Return the tables that queries read, by name."""
    return {
        "rides": spark.sql(_RIDES).localCheckpoint(),
        "stations": spark.sql(_STATIONS).localCheckpoint(),
        "numbers": spark.sql(_NUMBERS).localCheckpoint(),
    }


def assert_advice_is_a_query(spark: SparkSession, tables: dict[str, Any], case: tuple[str, str, str]) -> None:
    """Assert that a wrong query is refused with advice in words of SQL, and that Spark plans what it advises."""
    wrong, advice, right = case
    with pytest.raises(QueryError) as refused:
        sql(spark, wrong, modules=MODULES, **tables)

    message = str(refused.value)
    assert advice in message, message

    # A message shows lines of the query itself, and modules are given in Python: these are no words of advice.
    lines_of_advice = [line for line in message.splitlines() if line.strip() not in wrong]
    words_of_advice = "".join(lines_of_advice).replace("modules=[...]", "")
    assert _PYTHON.search(words_of_advice) is None, message

    if right != NO_SQL:
        sql(spark, right, modules=MODULES, **tables).results()
