"""A job under test in this process: its function runs anew for each micro-batch, over streams of plain rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from muntin_engine.api.query import Query
from muntin_engine.backends.local.frames.local_stream import LocalStream
from muntin_engine.backends.local.frames.micro_batch import MicroBatch
from muntin_engine.backends.local.results.local_results import selected
from muntin_engine.backends.local.runs.batch_output import BatchOutput
from muntin_engine.backends.local.streams.fed_rows import table_of
from muntin_engine.backends.local.streams.punctuation import punctuated
from muntin_engine.backends.local.streams.stored_stream import StoredStream
from muntin_engine.backends.planned_query import PlannedQuery
from muntin_engine.backends.planning.result_schemas import refused_schema
from muntin_engine.tasks.output_blobs import RESULTS
from muntin_engine.testing.streaming.job import OUTPUTS, JobFunction, StreamingJob, check_advances, has_late_rows
from muntin_engine.testing.streaming.plain_rows import Row, plain_row


@dataclass(frozen=True)
class _FedBatch:
    """The input of a micro-batch.

    Attributes:
        rows: The rows of each stream.
        watermark: The watermark to which a row of punctuation moves the query; None for a micro-batch of rows.
    """

    rows: Mapping[str, pa.Table]
    watermark: Any = None


class JobInProcess(StreamingJob):
    """A job in this process.

    Each micro-batch makes the query anew. Between micro-batches only bytes and plain data are kept.
    """

    def __init__(self, function: JobFunction, schemas: Mapping[str, pa.Schema]) -> None:
        """Prepare a job that has not started.

        Args:
            function: The function of the job; it takes its streams by name.
            schemas: The schema of each stream by its name.
        """
        super().__init__(function, {name: schema.names for name, schema in schemas.items()})
        self._schemas = schemas
        self._stored = StoredStream()
        self._waiting_batches: list[_FedBatch] = []
        self._batch_count = 0

    def make_query(self) -> Query:
        """Return the query of the job, over streams without rows.

        Raises:
            Exception: Any exception that the job's function raises.
        """
        return self._query_over(rows={}, micro_batch=MicroBatch())

    def _process(self, rows: Mapping[str, list[Row]]) -> None:
        """Run a micro-batch over rows of streams, after those that failed before."""
        tables = {name: table_of(stream_rows, self._schemas[name]) for name, stream_rows in rows.items()}
        self._waiting_batches.append(_FedBatch(tables))
        self._run()

    def _advance(self, to: Any) -> None:
        """Run a micro-batch whose only row is punctuation: it moves the watermark to a time."""
        query = self.make_query()
        check_advances(query)
        punctuated(query, to)  # raises if this is no time: a batch that can never run may not wait
        self._waiting_batches.append(_FedBatch(rows={}, watermark=to))
        self._run()

    def _run(self) -> None:
        """Run the waiting batches in order; as on Spark, a batch that failed runs again before the next one."""
        while self._waiting_batches:
            fed_batch = self._waiting_batches[0]
            micro_batch = MicroBatch()
            query: PlannedQuery = self._query_over(fed_batch.rows, micro_batch)
            if fed_batch.watermark is not None:
                query = punctuated(query, fed_batch.watermark)
            if has_late_rows(query):
                query = query.with_late_rows()
            self._add_rows(query, self._stored.process(query, micro_batch))
            del self._waiting_batches[0]  # it has not failed

    def _close(self) -> None:
        """Run the last micro-batch, which closes the stream."""
        query = self.make_query()
        self._add_rows(query, self._stored.close(query))

    def _check(self) -> None:
        """Check that the job can continue from the stored state."""
        self._stored.check(self.make_query())

    def _query_over(self, rows: Mapping[str, pa.Table], micro_batch: MicroBatch) -> Query:
        """Return the query of the job over the rows of a micro-batch; a stream that is not among them has no rows."""
        streams: dict[str, LocalStream] = {}
        for name, schema in self._schemas.items():
            streams[name] = LocalStream(rows.get(name, schema.empty_table()), micro_batch)
        return self._query(streams)

    def _add_rows(self, query: PlannedQuery, output: BatchOutput) -> None:
        """Keep the rows of each output of a micro-batch, as a test compares them."""
        for name in OUTPUTS:
            # `select()` and `where()` of a query apply to its results alone.
            if name == RESULTS:
                tables = [selected(table, query.selection) for table in output.tables[name]]
            else:
                tables = [table.cast(refused_schema(query)) for table in output.tables[name]]
            rows: list[Row] = []
            for table in tables:
                rows += map(plain_row, table.to_pylist())
            self._rows_by_batch[name][self._batch_count] = rows
        self._batch_count += 1
