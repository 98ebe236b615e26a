"""A micro-batch of blobs is handed to sinks: what they are told of it, and which sinks are refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from muntin import EARLIEST
from muntin_engine import Sink
from muntin_engine.backends.spark.foreach_batch.batch_writer import BatchWriter
from muntin_engine.backends.spark.foreach_batch.query_ids import StartedQuery
from muntin_engine.backends.spark.foreach_batch.query_sinks import QuerySinks
from muntin_engine.backends.spark.operators.output_columns import OUTPUT
from muntin_engine.errors import StateError
from muntin_engine.sinks.written_batch import WrittenBatch

SCHEMA = spark_types.StructType([spark_types.StructField("n", spark_types.LongType())])


@dataclass
class SharedTable(Sink):
    """A table that several queries may share, so that it can tell only after `open` what it has of a query.

    Attributes:
        last_number: The number of the last micro-batch that it has of the query.
        watermarks: The watermarks that it got.
        partition_counts: The number of partitions of each micro-batch that it got.
        loses_rows: True if rows of it are gone, as it notices when it is written to.
    """

    last_number: int = -1
    watermarks: list[int] = field(default_factory=list)
    partition_counts: list[int] = field(default_factory=list)
    loses_rows: bool = False
    is_open: bool = False

    def __str__(self) -> str:
        return "SharedTable()"

    @property
    def destination(self) -> str:
        return "a table"

    @property
    def last_written(self) -> WrittenBatch | None:
        return WrittenBatch(self.last_number) if self.is_open else None

    def open(self, query_id: str) -> None:
        self.is_open = True

    def take_watermark(self, watermark: int) -> None:
        self.watermarks.append(watermark)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        if self.loses_rows:
            raise StateError("rows are gone")
        self.partition_counts.append(batch.rdd.getNumPartitions())
        self.last_number = batch_id


def writer_to(destinations: Any = (), **sinks: Sink) -> BatchWriter:
    """Return a writer of a single query to sinks, by output, which has written to some destinations before."""
    query_id = StartedQuery()
    query_id.set_id("the query")
    schemas = dict.fromkeys(("results", "late_rows"), SCHEMA)
    query = QuerySinks(name="", sinks=sinks, schemas=schemas)
    return BatchWriter([query], query_id, checkpoint="no checkpoint", destinations=destinations)


def metrics(**totals: int) -> dict[str, Any]:
    """Return the blob in which a bucket reports its metrics."""
    return {"bucket": 0, "place": 0, "stream": "totals", "rows": 0, "data": None, "totals": totals}


def blob(stream: str, rows: int) -> dict[str, Any]:
    """Return a blob that counts as one of a number of rows; it cannot be read."""
    return {"bucket": 0, "place": 0, "stream": stream, "rows": rows, "data": b"", "totals": None}


def blobs_of(spark: SparkSession, *blobs: dict[str, Any]) -> DataFrame:
    """Return blobs as the buckets put them out, in two partitions."""
    return spark.createDataFrame(spark.sparkContext.parallelize(blobs, 2), OUTPUT)


def test_a_sink_gets_the_least_watermark_of_all_buckets(spark: SparkSession) -> None:
    table = SharedTable()
    blobs = blobs_of(spark, metrics(output_watermark=7), metrics(output_watermark=5))
    writer_to(results=table)(blobs, 0)
    assert table.watermarks == [5]


def test_a_micro_batch_in_which_no_bucket_was_evaluated_has_no_watermark(spark: SparkSession) -> None:
    table = SharedTable()
    writer = writer_to(results=table)
    writer(blobs_of(spark, metrics(output_watermark=7)), 0)
    writer(blobs_of(spark), 1)
    assert table.watermarks == [7]


def test_a_sink_gets_no_watermark_before_any_progress(spark: SparkSession) -> None:
    table = SharedTable()
    writer_to(results=table)(blobs_of(spark, metrics(output_watermark=EARLIEST)), 0)
    assert table.watermarks == []


def test_one_task_reads_the_blobs_of_a_micro_batch_with_few_rows(spark: SparkSession) -> None:
    table = SharedTable()
    writer_to(results=table)(blobs_of(spark, blob("results", 1), blob("late", 1)), 0)
    assert table.partition_counts == [1]


def test_an_output_with_few_rows_beside_one_with_many_is_not_read_by_one_task(spark: SparkSession) -> None:
    """The one task would read the blobs of both."""
    table = SharedTable()
    writer_to(results=table)(blobs_of(spark, blob("results", 1), blob("late", 20_000)), 0)
    assert table.partition_counts == [2]


def test_a_table_that_is_behind_its_checkpoint_once_it_is_open_is_refused_as_state(spark: SparkSession) -> None:
    """An error of the sink would say that nothing is lost."""
    writer = writer_to(destinations=["a table"], results=SharedTable(last_number=3))
    refusal = r"results=SharedTable\(\) is behind the checkpoint: it has micro-batches up to 3\n"
    with pytest.raises(StateError, match=refusal):
        writer(blobs_of(spark), 5)


def test_a_table_that_is_ahead_of_its_checkpoint_once_it_is_open_is_refused_as_state(spark: SparkSession) -> None:
    with pytest.raises(StateError, match=r"results=SharedTable\(\) is ahead of the checkpoint: it has micro-batch 7"):
        writer_to(results=SharedTable(last_number=7))(blobs_of(spark), 5)


def test_a_sink_may_be_behind_a_micro_batch_that_was_written_to_none(spark: SparkSession) -> None:
    table = SharedTable(last_number=3)
    writer_to(destinations=None, results=table)(blobs_of(spark), 5)
    assert table.last_number == 5


def test_a_sink_that_notices_lost_rows_as_it_writes_says_so_itself(spark: SparkSession) -> None:
    writer = writer_to(results=SharedTable(loses_rows=True))
    with pytest.raises(StateError, match=r"^rows are gone$"):
        writer(blobs_of(spark), 0)
