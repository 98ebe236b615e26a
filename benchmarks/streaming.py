"""Running a streaming query over files, one file per micro-batch, until it ends or its time is over."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data import Files
from benchmarks.measurement import Batch, Run
from benchmarks.memory import MemoryWatch, processor_time
from benchmarks.windows import ANSWERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_COLUMNS: Final = "key long, at timestamp, value double"
LONGEST_CHECK: Final = 300
"""Seconds after which a check is given up."""

_MILLISECOND: Final = 1e-3


def stream_of(spark: SparkSession, files: Files, per_batch: int = 1) -> DataFrame:
    """Return files as a stream with the columns `key`, `at` and `value`, of which a micro-batch reads some."""
    names = ",".join(path.name for path in files.paths)
    reader = (
        spark.readStream.schema(_COLUMNS)
        .option("maxFilesPerTrigger", per_batch)
        .option("pathGlobFilter", f"{{{names}}}")
    )
    return reader.parquet(str(files.folder))


def run_stream(df: DataFrame, limit: float, reads: int = 1) -> Run:
    """Run a query into nowhere.

    Args:
        df: Its results.
        limit: Seconds after which it is stopped.
        reads: How often it reads each row.
    """
    return run_query(lambda checkpoint: _start(df.writeStream.format("noop"), checkpoint), limit, reads)


def run_query(start: Callable[[Path], StreamingQuery], limit: float, reads: int = 1) -> Run:
    """Run a query to the end of its input.

    Args:
        start: Starts it with a checkpoint.
        limit: Seconds after which it is stopped.
        reads: How often it reads each row.
    """
    with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder, MemoryWatch.over(os.getpid(), False) as watch:
        worked, started = processor_time(os.getpid()), time.monotonic()
        query = start(Path(folder) / "checkpoint")
        has_ended = _wait(query, limit)
        seconds, worked = time.monotonic() - started, processor_time(os.getpid()) - worked
        batches = [_batch(json.loads(progress.json), reads) for progress in query.recentProgress]
    if not has_ended and batches:
        seconds = sum(batch.seconds for batch in batches)
    return Run(seconds, tuple(batches), watch.peak, is_cut=not has_ended, cpu_seconds=worked)


def collect_stream(df: DataFrame) -> pa.Table:
    """Run a query and return the rows that it emitted and did not retract, of the schema `ANSWERS`.

    Raises:
        TimeoutError: It took too long.
    """
    has_changes = "change" in df.columns
    schema = ANSWERS.append(pa.field("change", pa.string())) if has_changes else ANSWERS
    tables: list[pa.Table] = [schema.empty_table()]

    def take(batch: DataFrame, _: int) -> None:
        tables.append(batch.toArrow().cast(schema))

    with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
        query = _start(df.writeStream.foreachBatch(take), Path(folder) / "checkpoint")
        if not _wait(query, LONGEST_CHECK):
            raise TimeoutError(f"it was stopped after {LONGEST_CHECK} s")
    emitted = pa.concat_tables(tables)
    return net(emitted) if has_changes else emitted


def net(changes: pa.Table) -> pa.Table:
    """Return what is left of answers that are inserted and retracted, as the column `change` says."""
    signs = pc.if_else(pc.equal(changes["change"], "retract"), -1, 1)
    counted = changes.drop_columns("change").append_column("n", signs).group_by(ANSWERS.names).aggregate([("n", "sum")])
    return counted.filter(pc.greater(counted["n_sum"], 0)).select(ANSWERS.names).cast(ANSWERS)


def _start(writer: DataStreamWriter, checkpoint: Path) -> StreamingQuery:
    return writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()


def _wait(query: StreamingQuery, limit: float) -> bool:
    """Return True if a query ended by itself; stop it otherwise. A failure of it is raised."""
    try:
        return bool(query.awaitTermination(max(1, round(limit))))
    finally:
        query.stop()


def _batch(progress: Mapping[str, Any], reads: int) -> Batch:
    """Read one of Spark's progress reports."""
    operators = progress["stateOperators"]
    custom = [operator.get("customMetrics", {}) for operator in operators]
    output_rows = progress["sink"].get("numOutputRows", -1)
    held = sum(operator["memoryUsedBytes"] for operator in operators)
    return Batch(
        rows=progress["numInputRows"] // reads,
        seconds=progress["durationMs"]["triggerExecution"] * _MILLISECOND,
        output_rows=None if output_rows < 0 else output_rows,
        state_bytes=held + sum(metrics.get("rocksdbSstFileSize", 0) for metrics in custom),
        written_bytes=sum(metrics.get("rocksdbTotalBytesWritten", 0) for metrics in custom),
    )
