"""Systems that are queries of Spark: streaming ones, a file per micro-batch, and ones over all files at once."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.data import Files
from benchmarks.measurement import Batch, Run
from benchmarks.memory import MemoryWatch, processor_time
from benchmarks.questions.question import ANSWERS, Question
from benchmarks.session import spark_session
from benchmarks.systems.system import System

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Results: TypeAlias = "Callable[[DataFrame, Question, int], DataFrame]"
"""Returns the results of a question over rows, given the delay of the watermark in seconds.

The rows have the columns `key` (long), `at` (timestamp) and `value` (double). The results have those of `ANSWERS`, and
`change` if they may be retracted.
"""

LONGEST_CHECK: Final = 300
"""Seconds after which a check is given up."""


class StreamSystem(System):
    """A streaming query of Spark, in append mode.

    Args:
        name: The name of the system.
        results: The query.
    """

    needs_spark = True

    def __init__(self, name: str, results: Results) -> None:
        self.name = name
        self.results = results

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the query into nowhere."""
        return self.measure_parts(question, files, limit, files_per_batch=1)

    def measure_parts(self, question: Question, files: Files, limit: float, files_per_batch: int) -> Run:
        """Run the query into nowhere, with several files to a micro-batch."""
        results = self.results(stream_of(files, files_per_batch), question, files.delay)
        writer = results.writeStream.format("noop")
        return run_query(lambda checkpoint: _start(writer, checkpoint), limit, question.reads)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run the query into a table."""
        return collect_stream(self.results(stream_of(files), question, files.delay))


class TableSystem(System):
    """A query of Spark over all files at once: a backfill.

    Args:
        name: The name of the system.
        results: The query; the delay means nothing to it.
    """

    needs_spark = True
    closes_all = True

    def __init__(self, name: str, results: Results) -> None:
        self.name = name
        self.results = results

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the query to its end, however long it takes."""
        with MemoryWatch.over(os.getpid(), with_root=False) as watch:
            cpu_before = processor_time(os.getpid())
            started = time.monotonic()
            self.results(_table_of(files), question, files.delay).write.format("noop").mode("overwrite").save()
            seconds = time.monotonic() - started
            cpu_seconds = max(0.0, processor_time(os.getpid()) - cpu_before)
        batch = Batch(files.rows * len(files.paths), seconds)
        return Run(seconds, (batch,), watch.peak, cpu_seconds=cpu_seconds)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run the query into a table."""
        return self.results(_table_of(files), question, files.delay).toArrow().cast(ANSWERS)


def stream_of(files: Files, files_per_batch: int = 1) -> DataFrame:
    """Return files as a stream with the columns `key`, `at` and `value`."""
    names = ",".join(path.name for path in files.paths)
    reader = spark_session().readStream.schema("key long, at timestamp, value double")
    reader = reader.option("maxFilesPerTrigger", files_per_batch).option("pathGlobFilter", f"{{{names}}}")
    return reader.parquet(str(files.folder))


def _table_of(files: Files) -> DataFrame:
    """Return all rows of files as a static DataFrame."""
    return spark_session().read.parquet(*map(str, files.paths))


def run_query(start: Callable[[Path], StreamingQuery], limit: float, reads: int = 1) -> Run:
    """Run a query to the end of its input.

    Args:
        start: Starts it with a checkpoint.
        limit: Seconds after which it is stopped.
        reads: How often it reads each row.
    """
    with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder, MemoryWatch.over(os.getpid(), False) as watch:
        cpu_before = processor_time(os.getpid())
        started = time.monotonic()
        query = start(Path(folder) / "checkpoint")
        has_ended = _wait(query, limit)
        seconds = time.monotonic() - started
        cpu_seconds = processor_time(os.getpid()) - cpu_before
        batches = [read_progress(json.loads(progress.json), reads) for progress in query.recentProgress]
    if not has_ended and batches:
        seconds = sum(batch.seconds for batch in batches)
    return Run(seconds, tuple(batches), watch.peak, is_cut=not has_ended, cpu_seconds=cpu_seconds)


def collect_stream(results: DataFrame) -> pa.Table:
    """Run a query and return the rows that it emitted and did not retract, of the schema `ANSWERS`.

    Raises:
        TimeoutError: The query took too long.
    """
    has_changes = "change" in results.columns
    schema = ANSWERS.append(pa.field("change", pa.string())) if has_changes else ANSWERS
    tables: list[pa.Table] = [schema.empty_table()]

    def keep(batch: DataFrame, _: int) -> None:
        """Keep the rows of a micro-batch."""
        tables.append(batch.toArrow().cast(schema))

    with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
        query = _start(results.writeStream.foreachBatch(keep), Path(folder) / "checkpoint")
        if not _wait(query, LONGEST_CHECK):
            raise TimeoutError(f"it was stopped after {LONGEST_CHECK} s")
    emitted = pa.concat_tables(tables)
    return without_retracted(emitted) if has_changes else emitted


def without_retracted(changes: pa.Table) -> pa.Table:
    """Return the answers that are left of those that are inserted and retracted, as the column `change` says."""
    signs = pc.if_else(pc.equal(changes["change"], "retract"), -1, 1)
    signed = changes.select(ANSWERS.names).append_column("sign", signs)
    counted = signed.group_by(ANSWERS.names).aggregate([("sign", "sum")])
    return counted.filter(pc.greater(counted["sign_sum"], 0)).select(ANSWERS.names).cast(ANSWERS)


def read_progress(progress: Mapping[str, Any], reads: int) -> Batch:
    """Return a micro-batch from Spark's report of its progress."""
    state_bytes = 0
    written_bytes = 0
    for operator in progress["stateOperators"]:
        metrics = operator.get("customMetrics", {})
        state_bytes += operator["memoryUsedBytes"] + metrics.get("rocksdbSstFileSize", 0)
        written_bytes += metrics.get("rocksdbTotalBytesWritten", 0)
    output_rows = progress["sink"].get("numOutputRows", -1)
    return Batch(
        rows=progress["numInputRows"] // reads,
        seconds=progress["durationMs"]["triggerExecution"] / 1000,
        output_rows=None if output_rows < 0 else output_rows,  # -1: the sink does not tell
        state_bytes=state_bytes,
        written_bytes=written_bytes,
    )


def _start(writer: DataStreamWriter, checkpoint: Path) -> StreamingQuery:
    """Start a query that ends when it has read all files."""
    return writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()


def _wait(query: StreamingQuery, limit: float) -> bool:
    """Return True if a query ended by itself; stop it otherwise. A failure of it is raised."""
    try:
        return bool(query.awaitTermination(max(1, round(limit))))
    finally:
        query.stop()
