"""Rows that a thread reads: in order, with its errors, and interrupted as soon as nobody wants them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing

import duckdb
import pyarrow as pa
import pytest

from muntin_engine.backends.local.database import interrupt_thread, new_connection
from muntin_engine.backends.local.runs.row_reader import RowReader

BATCH = pa.record_batch({"x": [1]})


def reading_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "muntin-reader"]


def test_batches_come_in_their_order_and_the_thread_ends_with_them() -> None:
    batches = [pa.record_batch({"x": [number]}) for number in range(5)]
    assert list(RowReader(iter(batches), interrupt_thread).batches()) == batches
    assert reading_threads() == []


def test_an_error_comes_after_the_batches_before_it() -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield BATCH
        raise OSError("no disk")

    batches = RowReader(failing(), interrupt_thread).batches()
    assert next(batches) == BATCH
    with pytest.raises(OSError, match="no disk"):
        next(batches)


ENDLESS_QUERY = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
"""A query that DuckDB computes for hours."""


def test_a_computation_of_duckdb_is_interrupted_when_nobody_wants_it() -> None:
    interruptions: list[Exception] = []

    def read_batches() -> Iterator[pa.RecordBatch]:
        yield BATCH
        try:
            yield from new_connection().sql(ENDLESS_QUERY).to_arrow_reader()
        except duckdb.InterruptException as error:
            interruptions.append(error)
            raise

    start = time.monotonic()
    with closing(RowReader(read_batches(), interrupt_thread).batches()) as batches:
        next(batches)
        time.sleep(0.5)  # meanwhile the thread computes the second batch
    assert time.monotonic() - start < 5
    assert len(interruptions) == 1
    assert reading_threads() == []
