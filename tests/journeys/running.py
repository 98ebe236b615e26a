"""Streams for tests: a file per micro-batch, read in order, and what a query makes of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from muntin_engine import Query, Sink
from muntin_engine.plan.metrics import shown_names

_TIME_OF_FIRST_FILE = 1_700_000_000
"""Seconds since 1970; any time will do."""


def write_batches(folder: Path, batches: Sequence[pa.Table]) -> Path:
    """Write each batch as a file; Spark reads files in the order of their time of change, which is set here."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, batch in enumerate(batches):
        file = folder / f"{number:04}.parquet"
        pq.write_table(batch, file)
        changed = _TIME_OF_FIRST_FILE + number
        os.utime(file, (changed, changed))
    return folder


def read_stream(spark: SparkSession, folder: Path) -> DataFrame:
    """Return the files as a stream, one per micro-batch."""
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def table_of(schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> pa.Table:
    """Return rows, whose values are in the order of the schema's columns, as an Arrow table."""
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


def stream_of(spark: SparkSession, folder: Path, batches: Sequence[pa.Table]) -> DataFrame:
    """Write batches and return them as a stream."""
    return read_stream(spark, write_batches(folder, batches))


@dataclass
class Outcome:
    """The output of a streaming query.

    Attributes:
        batches: The rows of each micro-batch, by its number.
        counts: The observed metrics of each micro-batch that had any, in order.
    """

    batches: dict[int, pa.Table] = field(default_factory=dict)
    counts: list[dict[str, int]] = field(default_factory=list)

    @property
    def table(self) -> pa.Table:
        """All rows, in order of their batches."""
        return pa.concat_tables([self.batches[number] for number in sorted(self.batches)])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows as dicts, with ticks for timestamps."""
        return plain(self.table)

    def total(self, name: str) -> int:
        """Return a count over all batches."""
        return sum(counts[name] for counts in self.counts)


@dataclass
class MemorySink(Sink):
    """A sink that keeps what it is given.

    Attributes:
        batches: The rows of each micro-batch, by its number.
        writes: The number of the micro-batch of each write.
        runs: The id of the query in each run.
        counts: The number of rows of each write.
    """

    batches: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    writes: list[int] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def take_count(self, rows: int) -> None:
        """Keep the number of rows that the next write has."""
        self.counts.append(rows)

    def open(self, query_id: str) -> None:
        self.runs.append(query_id)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        self.writes.append(batch_id)
        self.batches[batch_id] = collect(batch)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All rows, in order of their batches."""
        rows: list[dict[str, Any]] = []
        for number in sorted(self.batches):
            rows += self.batches[number]
        return rows


def run(df: DataFrame, checkpoint: Path, metrics_name: str = "muntin") -> Outcome:
    """Run a streaming query until its input is used up."""
    outcome = Outcome()
    query = start(df, checkpoint, outcome)
    query.awaitTermination()
    outcome.counts = list(counts_of(query, metrics_name))
    return outcome


def run_together(
    queries: Mapping[str, Query], checkpoint: Path, input_rows: int | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Run several queries over integer ticks as one of Spark's, and return the rows of each in order of their batches.

    A start of Spark's machinery and a commit per micro-batch then serve all of them.

    Args:
        queries: The queries, by their names.
        checkpoint: The folder of the checkpoint.
        input_rows: The number of rows of events in a stream that ends; the first query has to count each of them once.
    """
    outcome = run(_together(queries), checkpoint, next(iter(queries)))
    accounted_rows = sum(outcome.total(name) for name in ("accepted", "late", "rejected"))
    if input_rows is not None:
        assert input_rows == accounted_rows, f"{input_rows} rows came, {accounted_rows} are accepted, late or rejected"
    return _rows_by_query(queries, outcome.rows)


def collect_together(queries: Mapping[str, Query]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of several static queries over integer ticks, computed as one."""
    return _rows_by_query(queries, collect(_together(queries)))


def _together(queries: Mapping[str, Query]) -> DataFrame:
    """Return the results of all queries as one DataFrame, each row as JSON beside the name of its query."""

    def labelled(name: str, query: Query[DataFrame]) -> DataFrame:
        row = F.to_json(F.struct("*"), {"ignoreNullFields": "false"})
        return query.named(name).results().select(F.lit(name).alias("name"), row.alias("row"))

    return reduce(DataFrame.union, [labelled(name, query) for name, query in queries.items()])


def _rows_by_query(queries: Mapping[str, Query], rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each query, from those of `_together`."""
    rows_by_query: dict[str, list[dict[str, Any]]] = {name: [] for name in queries}
    for row in rows:
        rows_by_query[row["name"]].append(json.loads(row["row"]))
    return rows_by_query


def start(
    df: DataFrame, checkpoint: Path, outcome: Outcome, trigger: Mapping[str, Any] | None = None
) -> StreamingQuery:
    """Start a streaming query that fills an outcome; without a trigger it ends when its input is used up."""

    def add_batch(batch: DataFrame, number: int) -> None:
        outcome.batches[number] = batch.toArrow()

    writer = df.writeStream.option("checkpointLocation", str(checkpoint)).trigger(**(trigger or {"availableNow": True}))
    return writer.foreachBatch(add_batch).start()


def collect(df: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a static DataFrame as dicts, with ticks for timestamps."""
    return plain(df.toArrow())


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as dicts, with ticks for timestamps at any depth."""
    columns = [column.cast(_without_timestamps(column.type)) for column in table.columns]
    rows: list[dict[str, Any]] = pa.table(columns, names=table.column_names).to_pylist()
    return rows


def _without_timestamps(column_type: pa.DataType) -> pa.DataType:
    """Return a type with integers in the place of timestamps, at any depth."""
    if pa.types.is_timestamp(column_type):
        return pa.int64()
    if pa.types.is_struct(column_type):
        return pa.struct([(part.name, _without_timestamps(part.type)) for part in column_type])
    if pa.types.is_list(column_type):
        return pa.list_(_without_timestamps(column_type.value_type))
    return column_type


def counts_of(query: Any, metrics_name: str = "muntin") -> Iterator[dict[str, int]]:
    """Yield the observed metrics of each micro-batch of a query that had any."""
    for progress in query.recentProgress:
        metrics = progress["observedMetrics"]
        for name, shown_name in shown_names(metrics).items():
            if shown_name == metrics_name:
                observed = metrics[name]
                yield dict(observed.asDict() if hasattr(observed, "asDict") else observed)
