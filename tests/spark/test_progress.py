"""How far a stream is: delays, watermark, several sources, and Spark's own watermark beside it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from muntin import tumbling
from muntin_engine import events, module
from tests.spark.modules import Members
from tests.spark.running import plain, run, stream_of

SECOND = 1_000_000


def test_with_a_delay_windows_close_in_the_batch_whose_rows_close_them(spark: SparkSession, tmp_path: Path) -> None:
    # windows of 10 s; the input is complete up to 5 s before the newest start
    #            0         10        20        30
    # batch 0     1 ----------- 14
    # batch 1                    15                    closes [0, 10)
    # batch 2            9 late, 10
    # batch 3                              25          closes [10, 20)
    batches = [[1, 14], [15], [9, 10], [25]]
    tables = [
        pa.table({"at": pa.array([s * SECOND for s in batch], pa.timestamp("us", tz="UTC")), "x": batch})
        for batch in batches
    ]
    stream = stream_of(spark, tmp_path / "stream", tables).withWatermark("at", "0 seconds")  # of Spark's; drops nothing
    query = events(stream, at="at", delay="5 seconds", buckets=2).window(tumbling("10 seconds"))
    outcome = run(query.aggregate(m=module(Members, "x")).results(), tmp_path / "checkpoint")

    found = {
        number: [(row["window"]["start"], row["m"]) for row in plain(batch)]
        for number, batch in outcome.batches.items()
    }
    assert {number: rows for number, rows in found.items() if rows} == {1: [(0, [1])], 3: [(10 * SECOND, [10, 14, 15])]}
    assert [
        (counts["accepted"], counts["late"], counts["results"]) for counts in outcome.counts if counts["accepted"]
    ] == [
        (2, 0, 0),
        (1, 0, 1),
        (1, 1, 0),
        (1, 0, 1),
    ]
