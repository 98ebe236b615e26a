"""`python -m benchmarks.large_query`: parts of a query with a hundred million keys, of a size that one machine can run.

The query averages a number per key in tumbling windows of ten minutes, over a million rows a second, in 128 buckets and
as many map tasks. Measured are one of its buckets and one of its map tasks, in this process and without Spark; and in
Spark the same query of a hundredth of the keys, with a tenth of the rows. The page *Size a query* reckons the whole
from these parts. Seconds are of processor time, which other work on the machine changes less.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from os import utime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final

import numpy as np
import psutil  # type: ignore[import-untyped, unused-ignore]  # types come apart from it
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from benchmarks.bucket import START, Bucket, BucketQuery, forget_decoded_state
from benchmarks.data import SECOND
from muntin import tumbling
from muntin.progress import bounded_delay
from muntin_engine import batch_metrics, events, local_session, module
from muntin_engine.state.store_cache import STORE_CACHE
from muntin_stats import Average

CONSOLE: Final = Console(soft_wrap=True, markup=False)

BUCKETS: Final = 128
KEYS: Final = 100_000_000
ROWS_PER_SECOND: Final = 1_000_000
CORES: Final = 2
"""The cores of the local session."""

EVERY: Final = 10
"""The seconds of a micro-batch."""

WARM_UP: Final = 6
MEASURED: Final = 6
"""The micro-batches in Spark that are not measured, as its processes start in them, and those that are."""

WINDOW: Final = 600
"""The seconds of a window."""

DELAY: Final = 30
"""The seconds by which the watermark is behind the newest row."""

QUERY: Final = BucketQuery(tumbling(WINDOW * SECOND), Average, progress=bounded_delay(DELAY * SECOND))


class RandomRows:
    """Rows of random keys that come evenly over time.

    Args:
        query: Query that reads the rows.
        keys: Number of keys.
        rows: Number of rows of a micro-batch.
    """

    def __init__(self, query: BucketQuery, keys: int, rows: int) -> None:
        self._query = query
        self._keys = keys
        self._rows = rows
        self._random = np.random.default_rng(1)

    def micro_batch(self, number: int) -> pa.RecordBatch:
        """Return the rows of a micro-batch."""
        first = START + number * EVERY * SECOND
        starts = self._random.integers(first, first + EVERY * SECOND, self._rows)
        # Keys as they are in practice: large numbers with gaps between them, and not 0, 1, 2, ...
        keys = 10**12 + 7919 * self._random.integers(0, self._keys, self._rows)
        values = self._random.normal(100, 15, self._rows)
        return self._query.rows(pa.array(keys), pa.array(starts), pa.array(values))


def measure_bucket() -> None:
    """Fill a bucket until a window closes, and print the cost of its micro-batches."""
    keys = KEYS // BUCKETS
    rows = ROWS_PER_SECOND * EVERY // BUCKETS
    stream = RandomRows(QUERY, keys, rows)
    bucket = Bucket(QUERY)
    resident = psutil.Process().memory_info().rss
    CONSOLE.print(f"a bucket: {keys:,} keys, {rows:,} rows in each micro-batch of {EVERY} seconds")

    seconds = []
    bytes_written = []
    number = 0
    while (number + 1) * EVERY < WINDOW + DELAY:
        duration, totals = _process(bucket, stream.micro_batch(number))
        seconds.append(duration)
        bytes_written.append(totals["bytes_written"])
        number += 1
    CONSOLE.print(f"  micro-batches of an open window: {median(seconds):.2f} s, {max(seconds):.2f} s at most")
    CONSOLE.print(f"  written by each: {median(bytes_written) / 1e6:.1f} MB, {max(bytes_written) / 1e6:.1f} MB at most")
    CONSOLE.print(f"  state: {bucket.state_bytes / 1e6:.0f} MB")
    CONSOLE.print(f"  decoded state, as the worker counts it: {STORE_CACHE.held_bytes / 1e6:.0f} MB")
    CONSOLE.print(
        f"  the process grew by {(psutil.Process().memory_info().rss - resident) / 1e6:.0f} MB, the state included"
    )

    forget_decoded_state()
    duration, _ = _process(bucket, stream.micro_batch(number))
    CONSOLE.print(f"  a micro-batch that reads the state anew: {duration:.2f} s")
    duration, totals = _process(bucket, stream.micro_batch(number + 1))
    CONSOLE.print(f"  the micro-batch that closes the window: {duration:.2f} s, {totals['results']:,} results")
    CONSOLE.print(f"  state after it: {bucket.state_bytes / 1e6:.0f} MB")


def measure_map_task() -> None:
    """Print the cost of a map task, which reads its part of the rows and merges those of a key and slice."""
    query = replace(QUERY, buckets=BUCKETS)
    rows = ROWS_PER_SECOND * EVERY // BUCKETS
    bucket = Bucket(query)
    stream = RandomRows(query, KEYS, rows)
    seconds = []
    for number in range(5):
        batch = stream.micro_batch(number)
        before = process_time()
        map_output = bucket.send(batch)
        seconds.append(process_time() - before)
    size = sum(len(row["evaluator_blobs"]) for row in map_output if row["evaluator_blobs"] is not None)
    CONSOLE.print(f"a map task: {rows:,} rows for {BUCKETS} buckets")
    CONSOLE.print(f"  {median(seconds):.2f} s, and sends {size / 1e6:.1f} MB")


def measure_in_spark() -> None:
    """Print the cost of micro-batches of a million rows of a million keys in Spark, on two cores."""
    rows = ROWS_PER_SECOND
    stream = RandomRows(QUERY, KEYS // 100, rows)
    CONSOLE.print(f"in Spark: {KEYS // 100:,} keys, {rows:,} rows in each micro-batch of {EVERY} seconds")
    with TemporaryDirectory() as room:
        folder = Path(room)
        (folder / "rows").mkdir()
        for number in range(WARM_UP):
            _write_file(folder / "rows", stream, number)
        _run_in_spark(folder)  # workers start, and the JVM compiles its code

        for number in range(WARM_UP, WARM_UP + MEASURED):
            _write_file(folder / "rows", stream, number)
        size_before = _size_of(folder / "checkpoint")
        seconds, batches = _run_in_spark(folder)
        state_written = sum(batch.bytes_written or 0 for batch in batches) / MEASURED / 1e6
        growth = (_size_of(folder / "checkpoint") - size_before) / MEASURED / 1e6
        CONSOLE.print(f"  a micro-batch of an open window: {seconds / MEASURED:.1f} s of all processes")
        CONSOLE.print(f"  state written by it: {state_written:.1f} MB; the checkpoint grows by {growth:.1f} MB")

        _write_file(folder / "rows", stream, (WINDOW + DELAY) // EVERY + 1)
        seconds, batches = _run_in_spark(folder)
        CONSOLE.print(f"  the micro-batch that closes the window: {seconds:.1f} s, {batches[-1].results:,} results")
    local_session().stop()


def _write_file(folder: Path, stream: RandomRows, number: int) -> None:
    """Write the rows of a micro-batch as a file for each core."""
    rows = pa.table(stream.micro_batch(number))
    # A map task reads keys as the columns k0, k1, ... and the inputs of modules as i0, i1, ...
    table = rows.rename_columns({"start": "at", "k0": "key", "i0": "value"})
    half = len(table) // CORES
    for core in range(CORES):
        file = folder / f"{number}-{core}.parquet"
        pq.write_table(table.slice(core * half, half), file)
        utime(file, (number, number))  # Spark reads files in the order of these times


def _run_in_spark(folder: Path) -> tuple[float, list[Any]]:
    """Run the query over new files, and return its seconds of processor time and the metrics of its micro-batches."""
    read = local_session().readStream.schema("at long, key long, value double").option("maxFilesPerTrigger", CORES)
    rows = read.parquet(str(folder / "rows")).selectExpr("timestamp_micros(at) AS at", "key", "value")
    keyed = events(rows, key="key", at="at", watermark=f"{DELAY} seconds").window(tumbling(f"{WINDOW} seconds"))
    query = keyed.aggregate(average=module(Average, "value"))
    before = _processor_seconds()
    running = query.write(
        checkpoint=folder / "checkpoint", results=lambda results, _: results.count(), available_now=True
    )
    running.awaitTermination()
    seconds = _processor_seconds() - before
    batches: list[Any] = []
    for progress in running.recentProgress:
        batches += batch_metrics(progress).values()
    return seconds, batches


def _processor_seconds() -> float:
    """Return the processor time of this process and of its children: the JVM and Python's workers."""
    this = psutil.Process()
    seconds = 0.0
    for process in (this, *this.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            seconds += times.user + times.system
    return seconds


def _size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _process(bucket: Bucket, rows: pa.RecordBatch) -> tuple[float, Counter[str]]:
    """Evaluate a micro-batch, whose rows come from all map tasks in equal parts.

    Returns:
        The seconds of the bucket, and its metrics with the number of its results.
    """
    rows_per_task = len(rows) // BUCKETS
    map_output = []
    for first in range(0, len(rows), rows_per_task):
        map_output += bucket.send(rows.slice(first, rows_per_task))
    before = process_time()
    blobs = bucket.process(map_output)
    seconds = process_time() - before
    totals: Counter[str] = Counter()
    for blob in blobs:
        totals[blob.stream] += blob.rows
    return seconds, totals


if __name__ == "__main__":
    measure_bucket()
    measure_map_task()
    measure_in_spark()
