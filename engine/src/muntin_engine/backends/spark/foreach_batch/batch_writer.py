"""A micro-batch, handed to every sink of a query."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import EARLIEST
from muntin_engine.backends.planned_query import PlannedQuery, Selection
from muntin_engine.backends.planning.result_schemas import check_evicts_rows
from muntin_engine.backends.spark.checkpoints.checkpoint import FOLDER, CheckpointNote
from muntin_engine.backends.spark.checkpoints.sink_checks import AT_THE_END, check_not_ahead, check_not_behind, read_of
from muntin_engine.backends.spark.dataframes.pipeline import typed_rows
from muntin_engine.backends.spark.dataframes.result_schemas import evicted_schema, refused_schema, result_schema
from muntin_engine.backends.spark.dataframes.selected_results import selected
from muntin_engine.backends.spark.failures.root_cause import is_from_spark, root_cause
from muntin_engine.backends.spark.foreach_batch.batch_progress import progress_of, progress_schema
from muntin_engine.backends.spark.foreach_batch.query_ids import QueryId
from muntin_engine.backends.spark.session.classic import Py4JError
from muntin_engine.backends.spark.session.ended import has_ended
from muntin_engine.backends.spark.session.settings import LOG
from muntin_engine.errors import SinkError
from muntin_engine.plan import Plan
from muntin_engine.sinks.addresses import unpatterned
from muntin_engine.sinks.sink import Sink
from muntin_engine.sinks.sink_arguments import choose_sinks, spelled_output
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE_ROWS, OUTPUT_WATERMARK, REJECTED_ROWS, RESULTS, STREAMS

if TYPE_CHECKING:
    from muntin_engine.sinks.recordings.recording_writer import RecordingWriter

METRICS: Final = "metrics"

_BLOBS: Final = "blobs"
"""The name of the folder, in the checkpoint, of a micro-batch that the session does not keep for its sinks."""

_FEW: Final = 10_000
"""Up to how many rows of a micro-batch one task reads."""


def schemas_of(query: PlannedQuery) -> dict[str, spark_types.StructType]:
    """Return the schemas of the outputs of a query."""
    refused_rows = refused_schema(query)
    schemas = {RESULTS: result_schema(query), LATE_ROWS: refused_rows, REJECTED_ROWS: refused_rows}
    if query.plan.evicted:
        schemas[EVICTED_ROWS] = evicted_schema(query)
    schemas[METRICS] = progress_schema(query)
    return schemas


class QuerySinks(NamedTuple):
    """The sinks of a query; plain, as on Spark Connect they travel to the server.

    Attributes:
        name: The name of the query among those of one pass; empty if it is the only one.
        sinks: The sinks, by output.
        schemas: The schemas of all outputs.
        selection: The columns and the condition by which the query selects its results.
    """

    name: str
    sinks: Mapping[str, Sink]
    schemas: Mapping[str, spark_types.StructType]
    selection: Selection = Selection()

    def spelled(self, output: str) -> str:
        """Return the argument of `write` that names a sink."""
        return spelled_output(output, self.name)


class Written(NamedTuple):
    """Queries of one Spark query, with the sinks that they write to.

    Attributes:
        queries: The queries, planned so that they have those outputs.
        sinks: The sinks of each.
    """

    queries: tuple[PlannedQuery, ...]
    sinks: tuple[QuerySinks, ...]

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans: those of the queries whose results are read, then those of the queries themselves."""
        return (*self.queries[0].plans[:-1], *(query.plan for query in self.queries))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries; none where there is one query without a name."""
        return tuple(query_sinks.name for query_sinks in self.sinks if query_sinks.name)

    @property
    def by_name(self) -> dict[str, Sink]:
        """The sinks, by the names that a query writer has for them."""
        sinks: dict[str, Sink] = {}
        for query_sinks in self.sinks:
            for output, sink in query_sinks.sinks.items():
                sinks[f"{query_sinks.spelled(output)}={sink}"] = sink
        return sinks

    @property
    def places(self) -> list[str]:
        """The places that are written to."""
        return [sink.place for sink in self.by_name.values() if sink.place is not None]


def written_to(
    queries: Mapping[str, PlannedQuery],
    requested_sinks: Mapping[str, Mapping[str, object]],
    checkpoint: str | PathLike[str],
) -> Written:
    """Return queries with the sinks that were asked for.

    Args:
        queries: The queries by name; the name of a query that is written alone is empty.
        requested_sinks: The sinks by output, by the name of their query.
        checkpoint: The checkpoint.

    Raises:
        QueryError: A query has no such output, or no sink; a sink cannot take its output, or is of two queries.
    """
    chosen_sinks = choose_sinks(requested_sinks, checkpoint)
    planned_queries: list[PlannedQuery] = []
    sinks_by_query: list[QuerySinks] = []
    for name, query in queries.items():
        planned_query, query_sinks = _with_outputs(query, QuerySinks(name, chosen_sinks[name], {}))
        planned_queries.append(planned_query)
        sinks_by_query.append(query_sinks)
    return Written(tuple(planned_queries), tuple(sinks_by_query))


def _with_outputs(query: PlannedQuery, query_sinks: QuerySinks) -> tuple[PlannedQuery, QuerySinks]:
    """Plan a query so that it has the outputs of its sinks, and check that the sinks can take these.

    Raises:
        QueryError: The query has no such output, or a sink cannot take its output.
    """
    planned_query = query.with_late_rows() if LATE_ROWS in query_sinks.sinks else query
    if EVICTED_ROWS in query_sinks.sinks:
        check_evicts_rows(planned_query.plan)

    # A sink that updates rows needs the keys of results. Other outputs have none: their rows are only added.
    schemas = schemas_of(planned_query)
    for output, sink in query_sinks.sinks.items():
        columns = schemas[output].names
        if output == RESULTS:
            sink.keyed_by([key.name for key in planned_query.plan.keys])
            sink.check(planned_query.selection.names(columns))
        else:
            sink.keyed_by([])
            sink.check(columns)
    return planned_query, query_sinks._replace(schemas=schemas, selection=planned_query.selection)


class BatchWriter:
    """Hands a micro-batch to every sink.

    The buckets are evaluated once, and all of them before any sink gets a row: one that looks at a few rows only must
    not leave the state of the others unwritten. On Spark Connect it travels to the server and does its work there.
    """

    def __init__(
        self,
        queries: Sequence[QuerySinks],
        query_id: QueryId,
        checkpoint: str,
        record: CheckpointNote | None = None,
        read: str = "",
        recordings: Sequence[RecordingWriter | None] = (),
        places: Collection[str] | None = None,
    ) -> None:
        """Write to the sinks of queries.

        Args:
            queries: The sinks of each query, in the order of the pass.
            query_id: Spark's id of the query.
            checkpoint: The path of the checkpoint.
            record: A record that the first micro-batch with a row keeps in the checkpoint.
            read: The name of the input of the only micro-batch; empty where Spark's checkpoint has that of each.
            recordings: The recording of each query, if it has one.
            places: The places that the checkpoint has written to; None if the last micro-batch was written to none.
        """
        self._places = places
        self._checkpoint = checkpoint
        self._read = read
        self._record = record
        self._query_id = query_id
        self._queries = queries
        self._recordings = recordings
        self._is_open = False  # the sinks are opened with the first micro-batch, when Spark's id of the query is known
        self._can_persist = True

    def __call__(self, blobs: DataFrame, batch_id: int) -> None:
        """Write a micro-batch."""
        with self._evaluated_once(blobs) as evaluated:
            self._write(evaluated, batch_id)

    @contextmanager
    def _evaluated_once(self, blobs: DataFrame) -> Iterator[DataFrame]:
        """Lend the blobs of a micro-batch in a form that several sinks may read.

        Each time that a sink read the blobs themselves, all buckets would be evaluated and their state written again.
        Where the session refuses to keep them, as serverless platforms do, they are stored beside the checkpoint.
        """
        persisted: DataFrame | None = None
        if self._can_persist:
            try:
                persisted = blobs.persist()
            except (PySparkException, Py4JError) as error:
                if has_ended(error):
                    raise
                self._can_persist = False
                reason = str(error).partition("\n")[0]
                LOG.warning("the session refuses persist(): micro-batches are stored in %s; %s", self._storage, reason)
        if persisted is None:
            yield self._stored(blobs)
            return
        try:
            yield persisted
        finally:
            persisted.unpersist()

    @property
    def _storage(self) -> str:
        """The folder of a micro-batch that the session does not keep; the next one takes its place."""
        return f"{self._checkpoint}/{FOLDER}/{_BLOBS}"

    def _stored(self, blobs: DataFrame) -> DataFrame:
        """Store the blobs of a micro-batch in place of the previous ones, and return them as they are read there."""
        blobs.write.mode("overwrite").parquet(self._storage)
        return blobs.sparkSession.read.schema(blobs.schema).parquet(unpatterned(self._storage))

    def _write(self, blobs: DataFrame, batch_id: int) -> None:
        """Write the evaluated blobs of a micro-batch."""
        # This action evaluates all buckets. Only sizes and metrics come to the driver; the data stays with Spark.
        summaries: list[list[Row]] = [[] for _ in self._queries]
        is_blob = F.col("data").isNotNull().alias("is_blob")
        for row in blobs.select("place", "stream", "rows", is_blob, "totals").collect():
            summaries[row.place].append(row)
        if self._record is not None and any(summaries):  # else no bucket has state yet
            self._record.keep(blobs.sparkSession, batch_id)
            self._record = None

        read = self._read or read_of(self._checkpoint, batch_id)
        for place, summary in enumerate(summaries):
            self._write_query(place, blobs, summary, batch_id, read)
        self._is_open = True

        # Committed last: a recording says of a micro-batch that all sinks have it. There may be no recordings at all.
        for summary, recording in zip(summaries, self._recordings, strict=False):
            if recording is not None:
                query_id = self._query_id.of(blobs.sparkSession)
                recording.commit(batch_id, query_id, _metrics(summary), is_end=read == AT_THE_END)

    def _write_query(self, place: int, blobs: DataFrame, summary: Sequence[Row], batch_id: int, read: str) -> None:
        """Hand the outputs of one query to its sinks.

        Args:
            place: The place of the query among those of one pass.
            blobs: The blobs of all queries.
            summary: The blobs of the query without their data.
            batch_id: The number of the micro-batch.
            read: The name of its input, see `read_of`.

        Raises:
            SinkError: A sink failed.
        """
        query = self._queries[place]
        metrics = _metrics(summary)
        # Results are complete as far as those of the slowest bucket are.
        watermark = min((value for name, value in metrics if name == OUTPUT_WATERMARK), default=EARLIEST)
        for output, sink in query.sinks.items():
            if output == METRICS:
                schema = query.schemas[output]
                rows = blobs.sparkSession.createDataFrame([progress_of(batch_id, metrics, schema)], schema)
                count = 1
            else:
                rows, count = self._rows_of(query, output, place, blobs, summary)

            # A sink is told all that it may keep beside the rows before it gets them, as `write` may commit.
            try:
                if not self._is_open:
                    sink.open(self._query_id.of(rows.sparkSession))
                    self._check_of_one_time(f"{query.spelled(output)}={sink}", sink, batch_id, read)
                if output == RESULTS:
                    sink.take_watermark(watermark)
                sink.take_count(count)
                sink.take_read(read)
                sink.write(rows, batch_id)
            except Exception as error:  # a sink of a user's may raise anything
                reason = root_cause(error) if is_from_spark(error) else f"{type(error).__name__}: {error}"
                raise SinkError(query.spelled(output), str(sink), batch_id, reason) from error

    def _rows_of(
        self, query: QuerySinks, output: str, place: int, blobs: DataFrame, summary: Sequence[Row]
    ) -> tuple[DataFrame, int]:
        """Return the rows of an output in a micro-batch, as the query selects them, and their number.

        Args:
            query: The query, with its sinks.
            output: The output.
            place: The place of the query among those of one pass.
            blobs: The blobs of all queries.
            summary: The blobs of the query without their data.
        """
        schema = query.schemas[output]
        count = sum(row.rows for row in summary if row.is_blob and row.stream in STREAMS[output])
        if count:
            # Each task of a few rows costs more than its rows, and makes a file.
            parts = blobs.coalesce(1) if count <= _FEW else blobs
            rows = typed_rows(parts, output, schema, place)
        else:
            rows = blobs.sparkSession.createDataFrame([], schema)
        if output == RESULTS:
            rows = selected(rows, query.selection)
            if count and query.selection.condition is not None:
                count = rows.count()  # a job of its own: nothing else knows how many rows meet the condition
        return rows, count

    def _check_of_one_time(self, name: str, sink: Sink, batch_id: int, read: str) -> None:
        """Raise unless an open sink has what the checkpoint has done; some know that only now."""
        check_not_ahead(name, sink, batch_id, read)
        if self._places is not None:
            last_read = read_of(self._checkpoint, batch_id - 1)
            check_not_behind(name, sink, batch_id - 1, last_read, is_new=sink.place not in self._places)


def _metrics(summary: Sequence[Row]) -> list[tuple[str, int]]:
    """Return the metrics of all buckets of a query, by name; each bucket has one row with its totals."""
    metrics: list[tuple[str, int]] = []
    for row in summary:
        if row.totals is not None:
            metrics += row.totals.items()
    return metrics
