"""A micro-batch of blobs is handed to sinks: which sinks are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types

from muntin_engine import Sink
from muntin_engine.backends.spark.foreach_batch.batch_writer import BatchWriter, QuerySinks
from muntin_engine.backends.spark.foreach_batch.query_ids import StartedQuery
from muntin_engine.backends.spark.operators.bucket_processor import OUTPUT
from muntin_engine.errors import StateError
from muntin_engine.sinks.written_batch import WrittenBatch

SCHEMA = spark_types.StructType([spark_types.StructField("n", spark_types.LongType())])


@dataclass
class SharedTable(Sink):
    """A table that several queries may share, so that it can tell only after `open` what it has of a query.

    Attributes:
        last_number: The number of the last micro-batch that it has of the query.
        loses_rows: True if rows of it are gone, as it notices when it is written to.
    """

    last_number: int = -1
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

    def write(self, batch: DataFrame, batch_id: int) -> None:
        if self.loses_rows:
            raise StateError("rows are gone")
        self.last_number = batch_id


def writer_to(destinations: Any = (), **sinks: Sink) -> BatchWriter:
    """Return a writer of a single query to sinks, by output, which has written to some destinations before."""
    query_id = StartedQuery()
    query_id.set_id("the query")
    schemas = dict.fromkeys(("results", "late_rows"), SCHEMA)
    query = QuerySinks(name="", sinks=sinks, schemas=schemas)
    return BatchWriter([query], query_id, checkpoint="no checkpoint", destinations=destinations)


def no_blobs(spark: SparkSession) -> DataFrame:
    """Return the blobs of a micro-batch in which no bucket was evaluated."""
    return spark.createDataFrame([], OUTPUT)


def test_a_table_that_is_behind_its_checkpoint_once_it_is_open_is_refused_as_state(spark: SparkSession) -> None:
    """An error of the sink would say that nothing is lost."""
    writer = writer_to(destinations=["a table"], results=SharedTable(last_number=3))
    refusal = r"results=SharedTable\(\) is behind the checkpoint: it has micro-batches up to 3\n"
    with pytest.raises(StateError, match=refusal):
        writer(no_blobs(spark), 5)


def test_a_table_that_is_ahead_of_its_checkpoint_once_it_is_open_is_refused_as_state(spark: SparkSession) -> None:
    with pytest.raises(StateError, match=r"results=SharedTable\(\) is ahead of the checkpoint: it has micro-batch 7"):
        writer_to(results=SharedTable(last_number=7))(no_blobs(spark), 5)


def test_a_sink_may_be_behind_a_micro_batch_that_was_written_to_none(spark: SparkSession) -> None:
    table = SharedTable(last_number=3)
    writer_to(destinations=None, results=table)(no_blobs(spark), 5)
    assert table.last_number == 5


def test_a_sink_that_notices_lost_rows_as_it_writes_says_so_itself(spark: SparkSession) -> None:
    writer = writer_to(results=SharedTable(loses_rows=True))
    with pytest.raises(StateError, match=r"^rows are gone$"):
        writer(no_blobs(spark), 0)
