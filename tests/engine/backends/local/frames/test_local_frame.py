"""An opened table: described once, read as far as a query needs it, and a reader only once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from muntin import tumbling
from muntin.errors import QueryError
from muntin_engine import Query, events, module
from muntin_engine.backends.local.frames.files import Files
from muntin_engine.backends.local.frames.local_frame import opened
from muntin_engine.backends.local.frames.pandas_frame import PandasFrame
from tests.modules.members import Total

ROWS = pa.table({"k": ["a", "b", "a"], "at": [1, 2, 12], "x": [1.0, 2.0, 4.0]})
# key, start of the window, total
TOTALS = [("a", 0, 1.0), ("a", 10, 4.0), ("b", 0, 2.0)]


def totals(frame: Any) -> Query:
    """Return a query that adds up `x` by key, in windows of ten ticks."""
    return events(frame, key="k", at="at").where("x > 0").window(tumbling(10)).aggregate(x=module(Total, "x"))


def totals_of(query: Query) -> list[tuple[str, int, float]]:
    """Run a query, and return the key, the start and the total of each window, in order."""
    rows = pa.table(query.results()).to_pylist()
    return sorted((row["k"], row["window"]["start"], row["x"]) for row in rows)


@pytest.mark.parametrize("kind", [PandasFrame, Files])
def test_a_table_is_described_once_for_all_that_a_query_asks(tmp_path: Path, kind: type) -> None:
    frame: Any = ROWS.to_pandas()
    if kind is Files:
        frame = tmp_path / "rows.parquet"
        pq.write_table(ROWS, frame)
    # The method is called as ever, and its calls are counted.
    columns = kind.columns  # type: ignore[attr-defined]
    with patch.object(kind, "columns", autospec=True, side_effect=columns) as counted_columns:
        assert totals_of(totals(frame)) == TOTALS
    assert counted_columns.call_count == 1


def test_a_reader_is_read_once_and_a_second_run_says_so() -> None:
    reader = pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches(max_chunksize=1))
    query = totals(reader)
    assert totals_of(query) == TOTALS
    query_of_same_reader = totals(reader)  # without an error it would have no rows
    for second_run in (query, query_of_same_reader):
        with pytest.raises(QueryError, match=r"the reader has been read(.|\n)*reader.read_all\(\)"):
            second_run.results()


class StreamToReadOnce:
    """A library's stream of Arrow data, which it gives out once."""

    def __init__(self) -> None:
        self._reader = pa.RecordBatchReader.from_batches(ROWS.schema, ROWS.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._reader.__arrow_c_stream__(requested_schema)


def test_a_stream_that_is_given_out_once_is_read_once_and_a_second_run_says_so() -> None:
    query = totals(StreamToReadOnce())
    assert totals_of(query) == TOTALS
    with pytest.raises(QueryError, match=r"the StreamToReadOnce has been read(.|\n)*pyarrow.table\(stream\)"):
        query.results()


def test_a_stream_that_is_given_out_each_time_is_read_each_time() -> None:
    class StreamToReadAgain:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return ROWS.__arrow_c_stream__(requested_schema)

    query = totals(StreamToReadAgain())
    assert totals_of(query) == totals_of(query) == TOTALS


def test_a_frame_that_changes_after_the_query_was_written_is_refused() -> None:
    frame = ROWS.to_pandas()
    query = totals(frame)

    frame["x"] = ["1", "2", "3"]
    with pytest.raises(QueryError, match="'x' is of type VARCHAR instead of DOUBLE: the table has changed"):
        query.results()

    del frame["x"]
    with pytest.raises(QueryError, match="the frame has no column 'x' any more: the table has changed since"):
        query.results()


def test_a_lazy_frame_that_fails_when_its_rows_are_computed_says_why() -> None:
    def fail(values: pl.Series) -> pl.Series:
        raise ZeroDivisionError("division by zero")

    frame: Any = pl.DataFrame(ROWS).lazy().with_columns(pl.col("x").map_batches(fail, return_dtype=pl.Float64))
    with pytest.raises(QueryError) as raised:
        totals(frame).results()
    assert "the rows of the input cannot be read" in str(raised.value)
    assert "division by zero" in str(raised.value)
    assert "Traceback" not in str(raised.value)


def test_a_lazy_frame_that_cannot_be_computed_is_refused_when_the_query_is_written() -> None:
    with pytest.raises(QueryError, match='the lazy frame cannot be computed: unable to find column "nothing"'):
        totals(pl.DataFrame(ROWS).lazy().select("nothing"))


def test_a_reader_that_fails_in_the_middle_says_why() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches()
        raise ValueError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(ROWS.schema, batches())
    with pytest.raises(QueryError, match=r"the rows of the input cannot be read: Invalid: the disk is gone$"):
        totals(reader).results()


def test_only_columns_that_a_query_reads_are_read() -> None:
    # Neither of the other columns could be read.
    frame = ROWS.to_pandas().assign(mixed=[1, "a", None], day=pd.period_range("2024", periods=3, freq="D"))
    assert totals_of(totals(frame)) == TOTALS


def test_rows_are_counted_where_no_column_is_read() -> None:
    frame = ROWS.to_pandas()
    frame.insert(0, "day", pd.period_range("2024", periods=3, freq="D"))  # cannot be read
    query = events(frame, at="CAST(5 AS BIGINT)").window(tumbling(10)).aggregate(n=module("stats.count"))
    assert query.results()["n"].tolist() == [3]


def test_queries_of_one_table_share_the_opened_table() -> None:
    assert totals(ROWS).source.rows.df is totals(ROWS).source.rows.df


def test_an_opened_table_offers_the_columns_that_can_be_read_to_any_library() -> None:
    table = ROWS.append_column("time", pa.array([1, 2, 3], pa.time64("us")))  # of a type without a meaning
    assert pa.table(opened(table)).equals(ROWS)
    assert opened(opened(table)).schema.names == table.schema.names
