"""The rows of a query over tables: read as often as it names them, of the kind of the first, or an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import muntin_engine.testing.streaming
from muntin.errors import QueryError
from muntin_engine import Query, sql
from muntin_engine.backends.local.plain_sql.queried_rows import QueriedRows
from muntin_engine.testing.streaming import StartsJob, assert_rows
from tests.engine.backends.local.plain_sql.beside_spark import STATIONS, computed_here

streaming = muntin_engine.testing.streaming.streaming
"""The fixture that runs a job."""

RIDES_OF_STREAM: Final = "station string, leaves timestamp, km double"

SELF_JOIN: Final = "SELECT a.city FROM s AS a JOIN s AS b ON a.size = b.size + 1"
"""Reads its table twice."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT km / (riders - 1) AS x FROM rides", "division by zero, in 'km / \\(riders - 1\\)'"),
        ("SELECT CAST(station AS INT) AS x FROM rides", '\'a\' of the type "STRING" cannot be cast to "INT"'),
        ("SELECT riders + riders AS x FROM rides", "Overflow in addition of INT32"),
        ("SELECT MIN(km) AS x FROM rides WHERE km < 1", "the group has both 0.0 and -0.0: write MIN\\(x \\+ 0D\\)"),
    ],
)
def test_a_row_that_cannot_be_computed_is_an_error(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        computed_here(text)


def test_tables_of_all_kinds_are_read_twice_and_give_their_like(tmp_path: Path) -> None:
    pq.write_table(STATIONS, tmp_path / "s.parquet")
    frame = STATIONS.to_pandas()
    # a table, the type of the rows of a query over it
    kinds: list[tuple[Any, type]] = [
        (STATIONS, pa.Table),
        (pa.RecordBatchReader.from_batches(STATIONS.schema, STATIONS.to_batches()), pa.Table),
        (str(tmp_path / "s.parquet"), pa.Table),
        (frame, pd.DataFrame),
        (pl.DataFrame(STATIONS), pl.DataFrame),
        (pl.DataFrame(STATIONS).lazy(), pl.LazyFrame),
        (duckdb.connect().from_arrow(STATIONS), duckdb.DuckDBPyRelation),
        (QueriedRows.of("SELECT * FROM s", {"s": frame}), pd.DataFrame),
    ]
    for table, kind in kinds:
        result: Any = QueriedRows.of(SELF_JOIN, {"s": table}).table()
        assert isinstance(result, kind)
        if isinstance(result, pl.LazyFrame):
            result = result.collect()
        assert sorted(pa.table(result)["city"].to_pylist()) == ["B", "B2", "D", "none"]


def hourly_km_of(query: str) -> Callable[[Any], Query[Any]]:
    """Return a job that adds up `twice`, a column of a plain query over the stream `rides`, by station and hour."""
    text = f"""
        SELECT station, window_start, SUM(twice) AS km
        FROM TUMBLE(TABLE ({query}) WATERMARK DELAY OF INTERVAL '0' MINUTES, DESCRIPTOR(leaves), INTERVAL '1' HOUR)
        GROUP BY station, window_start, window_end
    """
    return lambda rides: sql(text, rides=rides)


def test_a_query_of_the_rows_of_a_stream_is_one_of_each_micro_batch(streaming: StartsJob) -> None:
    job = streaming(hourly_km_of("SELECT *, km * 2 AS twice FROM rides WHERE km > 1"), RIDES_OF_STREAM)
    # The second ride is too short for the condition; the third one ends the hour of the first.
    assert job.feed(("a", "2024-05-01T08:05:00Z", 3.0), ("a", "2024-05-01T08:40:00Z", 0.5)) == []
    assert_rows(job.feed(("a", "2024-05-01T09:40:00Z", 2.0)), [{"station": "a", "km": 6.0}])
    assert_rows(job.close(), [{"station": "a", "km": 4.0}])


def test_a_query_over_several_rows_of_a_stream_is_refused(streaming: StartsJob) -> None:
    with pytest.raises(QueryError, match="a query of a stream's rows that joins, groups or orders them"):
        streaming(
            hourly_km_of("SELECT *, km AS twice FROM rides ORDER BY km"), RIDES_OF_STREAM, backend="local"
        ).close()
