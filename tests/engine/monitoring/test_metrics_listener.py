"""What streaming queries report of themselves through Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from muntin import tumbling
from muntin_engine import BatchMetrics, MetricsListener, batch_metrics, events, module
from tests.journeys.running import stream_of
from tests.modules.members import Members

SECOND = 1_000_000


def seconds(spark: SparkSession, folder: Path, batches: list[list[int]]) -> DataFrame:
    """Return a stream of points at these seconds, in these micro-batches; the second is also the value `x`."""
    tables: list[pa.Table] = []
    for batch in batches:
        times = [second * SECOND for second in batch]
        tables.append(pa.table({"at": pa.array(times, pa.timestamp("us", tz="UTC")), "x": batch}))
    return stream_of(spark, folder, tables)


def run_to_the_end(df: DataFrame, checkpoint: Path) -> list[dict[str, BatchMetrics]]:
    """Run a query over all of its stream, and return for each micro-batch the metrics of its queries by name."""
    writer = df.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return list(map(batch_metrics, query.recentProgress))


@contextmanager
def received_metrics(spark: SparkSession) -> Iterator[Queue[BatchMetrics]]:
    """Listen to the queries of a session during the block; the queue has what the listener receives, in order."""
    received: Queue[BatchMetrics] = Queue()
    listener = MetricsListener(received.put)
    spark.streams.addListener(listener)
    try:
        yield received
    finally:
        spark.streams.removeListener(listener)


def test_a_batch_reports_what_it_did_and_one_without_rows_reports_no_state_and_no_watermark(
    spark: SparkSession, tmp_path: Path
) -> None:
    # Windows of 10 s. The input is complete up to 5 s before the newest start, and the watermark moves from one end of
    # windows to the next.
    #            0         10        20
    # batch 0     1 ----------- 14
    # batch 1                    15       closes [0, 10)
    # batch 2   without rows, because Spark's own watermark moved
    stream = seconds(spark, tmp_path / "stream", [[1, 14], [15]]).withWatermark("at", "0 seconds")
    windows = events(stream, at="at", watermark="5 seconds", buckets=2).window(
        tumbling("10 seconds"), evaluator="general"
    )
    results = windows.aggregate(m=module(Members, "x")).named("seconds").results()

    with received_metrics(spark) as received:
        reports = [metrics["seconds"] for metrics in run_to_the_end(results, tmp_path / "checkpoint")]
        metrics_of_listener = [received.get(timeout=60) for _ in reports]

    assert metrics_of_listener == reports
    first, second, *without_rows = reports

    assert (first.accepted, first.keys, first.windows_closed, first.results) == (2, 1, 0, 0)
    assert (first.newest, first.watermark, first.lag) == (14 * SECOND, 0, 14 * SECOND)
    assert (first.windows_open, first.keys_held) == (2, 1)
    assert first.state_bytes is not None
    assert 0 < first.state_bytes <= first.bytes_written
    assert first.clock_lag is not None
    for stage in ("distribute", "intake", "evaluate"):
        assert first.stages[stage] > 0

    assert (second.accepted, second.keys, second.windows_closed, second.results) == (1, 1, 1, 1)
    assert (second.watermark, second.output_watermark) == (10 * SECOND, 10 * SECOND)
    assert (second.windows_open, second.keys_held, second.events_held) == (1, 1, 2)
    assert 0 < second.modules["m"] < second.stages["evaluate"]

    assert without_rows
    for batch in without_rows:
        assert (batch.accepted, batch.state_bytes, batch.watermark) == (0, None, None)


def test_two_queries_in_one_report_each_under_its_name_and_one_that_is_untimed_measures_no_time(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Windows of 10 s. The input is complete up to 5 s before the newest start, and the watermark moves from one end of
    # windows to the next.
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

    # This listener is added after the one that warns of late rows: what it has received, the other has warned of.
    with received_metrics(spark) as received:
        first, second, third = run_to_the_end(united, tmp_path / "checkpoint")
        metrics_of_listener = [received.get(timeout=60) for _ in range(3 * len(first))]

    # each under its name, to the caller and to the listener
    assert first.keys() == second.keys() == {"columnar", "general"}
    assert metrics_of_listener[-2:] == [*third.values()]
    assert {metrics.query_id for metrics in metrics_of_listener} == {third["general"].query_id}
    assert third["general"].run_id

    # both read the same rows
    for name in ("columnar", "general"):
        metrics = second[name]
        assert (metrics.accepted, metrics.late, metrics.windows_closed, metrics.results) == (2, 0, 1, 1)
        assert metrics.watermark == 10 * SECOND
        assert metrics.state_bytes

        assert third[name].late == 1
        assert third[name].late_by == 6 * SECOND
        assert third[name].unread == {"late", "rejected"}
        (warning,) = [message for message in caplog.messages if message.startswith(f"{name} ")]
        assert "1 of 5 rows were late, by up to 6.00 s, up to micro-batch 2" in warning

    # only the one that is timed has times
    assert second["columnar"].stages["lift"] > 0
    assert second["columnar"].modules["m"] > 0
    assert (second["general"].stages, second["general"].modules) == ({}, {})
    assert second["columnar"].keys_held is None, "an evaluator on arrays does not know how many keys have state"
