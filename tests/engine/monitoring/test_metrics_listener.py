"""What streaming queries report of themselves through Spark."""

from __future__ import annotations

from pathlib import Path
from queue import Queue

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import EARLIEST, tumbling
from muntin_engine import BatchMetrics, MetricsListener, batch_metrics, events, module
from tests.journeys.running import stream_of
from tests.modules.members import Members

SECOND = 1_000_000


def seconds(spark: SparkSession, folder: Path, batches: list[list[int]]) -> DataFrame:
    """Return micro-batches of points at these seconds."""
    tables: list[pa.Table] = []
    for batch in batches:
        times = [second * SECOND for second in batch]
        tables.append(pa.table({"at": pa.array(times, pa.timestamp("us", tz="UTC")), "x": batch}))
    return stream_of(spark, folder, tables)


def report(df: DataFrame, checkpoint: Path) -> list[dict[str, BatchMetrics]]:
    """Run a query and return what each of its batches reports."""
    writer = df.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return list(map(batch_metrics, query.recentProgress))


def test_a_batch_reports_what_it_did_and_a_batch_without_rows_what_is_known_of_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    # windows of 10 s; the input is complete up to 5 s before the newest start, which counts at the ends of windows
    #            0         10        20
    # batch 0     1 ----------- 14
    # batch 1                    15       closes [0, 10)
    # batch 2   without rows, because Spark's own watermark moved
    received: Queue[BatchMetrics] = Queue()
    listener = MetricsListener(received.put)
    stream = seconds(spark, tmp_path / "stream", [[1, 14], [15]]).withWatermark("at", "0 seconds")
    query = events(stream, at="at", watermark="5 seconds", buckets=2).window(
        tumbling("10 seconds"), evaluator="general"
    )
    spark.streams.addListener(listener)
    try:
        results = query.aggregate(m=module(Members, "x")).named("seconds").results()
        reports = [times["seconds"] for times in report(results, tmp_path / "checkpoint")]
        metrics = [received.get(timeout=60) for _ in reports]
    finally:
        spark.streams.removeListener(listener)

    first, second, *later_reports = reports
    assert (first.accepted, first.keys, first.windows_closed, first.results) == (2, 1, 0, 0)
    assert (second.accepted, second.keys, second.windows_closed, second.results) == (1, 1, 1, 1)
    assert (first.newest, first.watermark, first.lag) == (14 * SECOND, 0, 14 * SECOND)
    assert (second.watermark, second.output_watermark) == (10 * SECOND, 10 * SECOND)
    assert (first.windows_open, second.windows_open) == (2, 1)
    assert (first.keys_held, second.keys_held, second.events_held) == (1, 1, 2)
    assert first.state_bytes is not None
    assert 0 < first.state_bytes <= first.bytes_written
    assert first.clock_lag is not None
    assert all(first.stages[stage] > 0 for stage in ("distribute", "intake", "evaluate"))
    assert 0 < second.modules["m"] < second.stages["evaluate"]
    assert later_reports
    assert all(
        (reported.accepted, reported.state_bytes, reported.watermark) == (0, None, None) for reported in later_reports
    )
    assert metrics == reports


def test_queries_in_one_report_each_under_their_name_and_time_is_measured_where_it_is_wanted(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # windows of 10 s; the input is complete up to 5 s before the newest start, which counts at the ends of windows
    #            0         10        20
    # batch 0     1 ----------- 14
    # batch 1      3             15       closes [0, 10)
    # batch 2       4 is late, by 6 s
    batches = [[1, 14], [15, 3], [4]]
    stream = events(seconds(spark, tmp_path / "stream", batches), at="at", watermark="5 seconds", buckets=2)
    windowed = stream.window(tumbling("10 seconds"))
    columnar = windowed.aggregate(m=module("stats.max", "x")).named("columnar")
    general = windowed.aggregate(m=module(Members, "x")).named("general").untimed()
    united = columnar.results().select("window").union(general.results().select("window"))
    received: Queue[BatchMetrics] = Queue()
    listener = MetricsListener(received.put)
    spark.streams.addListener(listener)  # after the one that warns, which thus hears of a batch first
    try:
        first, second, third = report(united, tmp_path / "checkpoint")
        metrics = [received.get(timeout=60) for _ in range(3 * len(first))]
    finally:
        spark.streams.removeListener(listener)

    assert metrics[-2:] == [*third.values()]
    assert first.keys() == second.keys() == {"columnar", "general"}
    for name in ("columnar", "general"):
        numbers = second[name]
        assert (numbers.accepted, numbers.late, numbers.windows_closed, numbers.results) == (2, 0, 1, 1)
        assert numbers.watermark == 10 * SECOND
        assert numbers.watermark > EARLIEST
        assert numbers.state_bytes
        assert (third[name].late, third[name].late_by, len(third[name].unread)) == (1, 6 * SECOND, 2)
        (text,) = [reported.getMessage() for reported in caplog.records if reported.getMessage().startswith(f"{name} ")]
        assert "1 of 5 rows were late, by up to 6.00 s, up to micro-batch 2" in text
    assert {reported.query_id for reported in metrics} == {third["general"].query_id}
    assert third["general"].run_id
    assert second["columnar"].keys_held is None
    assert second["columnar"].stages["lift"] > 0
    assert second["columnar"].modules["m"] > 0
    assert (second["general"].stages, second["general"].modules) == ({}, {})
