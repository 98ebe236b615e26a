"""Grouped maps around a bucket that is evaluated whole: of a static input, and of a stream that is closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from muntin_engine.exchange.bucket_task import OutputBlob, run_bucket, skipped_rows, with_totals
from muntin_engine.exchange.shuffle import collect
from muntin_engine.spark.rejections import Teller
from muntin_engine.spark.shipping.packed_task import open_task
from muntin_engine.spark.stateful import OUTPUT
from muntin_engine.spark.types import arrow_schema_of
from muntin_engine.state.cells import MemoryCells


def static_bucket(task: bytes, teller: Teller | None) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Return a function that evaluates one bucket of a static input, whole. Spark wants it to have annotations."""

    def evaluate(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        bucket, opened = key[0].as_py(), open_task(task)
        arrived = collect(table.to_pylist(), len(opened.inputs))
        output = list(run_bucket(opened, bucket, MemoryCells(), arrived))
        if teller is not None:
            teller.tell(bucket, output, skipped_rows(opened, arrived))
        return _table_of(bucket, opened.place, output)

    return evaluate


def closing_bucket(tasks: Mapping[int, bytes]) -> Callable[[tuple[Any, ...], pa.Table], pa.Table]:
    """Return a function that closes the stream of one bucket, whose cells are a table; given each bucket's task."""

    def evaluate(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        cells = MemoryCells()
        for cell in table.to_pylist():
            if cell["name"] is not None:
                cells.put(cell["name"], cell["data"])
        bucket = key[0].as_py()
        opened = open_task(tasks[bucket])
        return _table_of(bucket, opened.place, list(run_bucket(opened, bucket, cells, collect((), len(opened.inputs)))))

    return evaluate


def _table_of(bucket: int, place: int, found: Sequence[OutputBlob]) -> pa.Table:
    output = [{"bucket": bucket, "place": place, **asdict(blob)} for blob in with_totals(found)]
    return pa.Table.from_pylist(output, arrow_schema_of(OUTPUT))
