"""DuckDB over a table in memory, in SQL: aggregates of its own, and Python functions of lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.data import SECOND
from benchmarks.questions.hopping import Hopping
from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.question import Question
from benchmarks.questions.sessions import Session
from benchmarks.systems.programs.python_aggregates import average_by_state, spread_of
from benchmarks.systems.programs.table_task import TableLibrary, run_library

_FUNCTIONS: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "function": lambda values: float(np.mean(values)),
    "class": spread_of,
    "combine": average_by_state,
}
"""The functions of the values of a window, by the way that they stand for."""

_TUMBLING: Final = """
SELECT key, epoch_us("at") // {size} * {size} AS start, {aggregate} AS value
FROM rows GROUP BY ALL
"""

_HOPPING: Final = """
WITH timed AS (SELECT key, value, epoch_us("at") // {hop} * {hop} AS last_start FROM rows),
members AS (
    SELECT key, value, unnest(range(last_start - {size} + {hop}, last_start + {hop}, {hop})) AS start FROM timed
)
SELECT key, start, {aggregate} AS value FROM members GROUP BY ALL
"""

_LAST_ROWS: Final = """
SELECT key, epoch_us("at") AS start, avg(value) OVER (
    PARTITION BY key ORDER BY "at" ROWS BETWEEN {before} PRECEDING AND CURRENT ROW
) AS value
FROM rows
"""

_SESSIONS: Final = """
WITH timed AS (SELECT key, value, epoch_us("at") AS tick FROM rows),
firsts AS (
    SELECT *, tick - lag(tick, 1, tick) OVER (PARTITION BY key ORDER BY tick) > {gap} AS is_first FROM timed
),
numbered AS (
    SELECT *, sum(is_first::INTEGER) OVER (PARTITION BY key ORDER BY tick) AS session FROM firsts
)
SELECT key, min(tick) AS start, avg(value) AS value FROM numbered GROUP BY key, session
"""


class Duckdb(TableLibrary):
    """DuckDB, in memory."""

    distribution = "duckdb"

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        for way, function in _FUNCTIONS.items():
            self._connection.create_function(f"by_{way}", function, ["DOUBLE[]"], "DOUBLE")

    def frame(self, rows: pa.Table, question: Question) -> pa.Table:
        """Copy rows into a table of DuckDB's own."""
        del question
        self._connection.register("arrived", rows)
        self._connection.execute("CREATE OR REPLACE TABLE rows AS FROM arrived")
        return rows

    def answers(self, frame: pa.Table, question: Question, way: str) -> pa.Table:
        """Answer in SQL."""
        del frame  # it is the table `rows`
        return self._connection.sql(_query(question, way)).to_arrow_table()

    def arrow(self, answers: pa.Table) -> pa.Table:
        """Return starts as times."""
        return answers.set_column(1, "start", answers["start"].cast(pa.int64()).cast(pa.timestamp("us", "UTC")))


def _query(question: Question, way: str) -> str:
    """Return a question in SQL; times are microseconds."""
    if isinstance(question, Session):
        return _SESSIONS.format(gap=question.gap * SECOND)
    if isinstance(question, LastRows):
        return _LAST_ROWS.format(before=question.size - 1)
    assert isinstance(question, Hopping)
    aggregate = "avg(value)" if way == "average" else f"by_{way}(list(value))"
    if question.size == question.hop:
        return _TUMBLING.format(size=question.size * SECOND, aggregate=aggregate)
    return _HOPPING.format(size=question.size * SECOND, hop=question.hop * SECOND, aggregate=aggregate)


if __name__ == "__main__":
    run_library(Duckdb())
