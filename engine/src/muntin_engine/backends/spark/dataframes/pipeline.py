"""The pipeline of a query as one DataFrame: from the rows of its input to the output of its buckets.

    input                       any DataFrame
      -> projection             in Spark SQL: times, keys and what modules read            (inputs.column_reader)
      -> mapInArrow             the map task: bad rows aside, the others to their buckets   (operators.arrow_functions)
      -> groupBy(bucket)        the only shuffle
      -> transformWithState     the bucket task: state in cells, blobs of each output       (operators.bucket_processor)
      -> observe                metrics of the micro-batch                                  (observed_metrics)
      -> mapInArrow             typed rows of one output                                    (typed_rows)

What comes out of the buckets is a DataFrame of *blobs*, Arrow tables as bytes. Blobs of all outputs are in one, so that
buckets are evaluated once for all of them; `typed_rows` makes rows of those of one output.

A static input takes the same way with a grouped map instead of the stateful operator, and is closed after its rows. A
query that keeps no state has one stage, which is a map task and a bucket in one. Several queries of one input take the
way together: the rows have the columns of all, and the buckets are those of all.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin_engine.backends.planning import query_task
from muntin_engine.backends.spark.column_types import arrow_schema_of, spark_schema_of
from muntin_engine.backends.spark.dataframes.combined_inputs import shared, united
from muntin_engine.backends.spark.dataframes.observed_metrics import with_observed_metrics
from muntin_engine.backends.spark.dataframes.static_warnings import begin_reports
from muntin_engine.backends.spark.delivery.packed_task import pack_task, pack_tasks
from muntin_engine.backends.spark.delivery.preflight import check_workers
from muntin_engine.backends.spark.inputs.declared_frames import with_columns_if_declared
from muntin_engine.backends.spark.operators.arrow_functions import (
    Distributor,
    SharedDistributor,
    StatelessTask,
    closing_bucket,
    static_bucket,
)
from muntin_engine.backends.spark.operators.bucket_processor import BucketProcessor
from muntin_engine.backends.spark.operators.output_columns import OUTPUT
from muntin_engine.backends.spark.session.preconditions import check_session
from muntin_engine.backends.spark.session.session_listener import observe_session
from muntin_engine.backends.spark.session.worker_settings import settings_of
from muntin_engine.plan import check_trigger
from muntin_engine.plan.query_checks import check_progress
from muntin_engine.plan.skipped_nulls import skipped_nulls
from muntin_engine.tasks.output_blobs import STREAMS
from muntin_engine.wire.blob_readers import BlobReader
from muntin_engine.wire.shuffle import exchange_schema

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.tasks.recorded_rows import RowRecording
    from muntin_engine.wire.task_payload import TaskPayload


def output_blobs(query: PlannedQuery, *, warns: bool = True) -> DataFrame:
    """Return the whole output of a query, as blobs.

    Args:
        query: The query.
        warns: True to warn of rejected and late rows that nothing reads, and of rows of a static input that a module
            skips.
    """
    if query.source.df.isStreaming:
        # Monitoring warns of rows of an output that is not taken. If nobody is to be warned, all count as taken.
        taken_outputs = () if warns else STREAMS
        return streaming_blobs([query], taken_outputs=[taken_outputs], recordings=[query.inner_id])
    return _static_blobs(query, warns=warns)


def _static_blobs(query: PlannedQuery, *, warns: bool) -> DataFrame:
    """Return the whole output of a query over a static input, as blobs; the arguments are those of `output_blobs`."""
    session = query.source.df.sparkSession
    keeps_state = query.plan.choice.keeps_state
    task = task_of(query)
    packed_task = pack_task(task)
    check_workers(session, [packed_task], is_streaming=False)
    # A stream counts bad rows in the progress of its micro-batches. Of a static input, workers report them to the
    # driver.
    reporter = None
    if warns:
        buckets = len(task.buckets) if keeps_state else None
        reporter = begin_reports(session, query.metrics_name, buckets=buckets, skipping=skipped_nulls(query.plan))

    rows = united(query.sources)
    if keeps_state:
        exchanged = rows.mapInArrow(Distributor(packed_task), _exchange_schema(query))
        blobs = exchanged.groupBy("bucket").applyInArrow(static_bucket(packed_task, reporter), OUTPUT)
    else:
        blobs = rows.mapInArrow(StatelessTask(packed_task, reporter=reporter), OUTPUT)
    return with_columns_if_declared(query.source.df, blobs, OUTPUT)


def streaming_blobs(
    queries: Sequence[PlannedQuery],
    taken_outputs: Sequence[Collection[str]],
    recordings: Sequence[RowRecording | str | None] = (),
    *,
    has_begun: bool = False,
) -> DataFrame:
    """Return the whole output of streaming queries that read one input, as blobs.

    Args:
        queries: A single query; or several with one input each, all of one DataFrame.
        taken_outputs: The outputs of each query that are read; monitoring warns of rows of the other outputs.
        recordings: The recording of the rows of each query; or the id of an inner query, by which its tasks find the
            recording; None for a query that is not recorded. Empty if no query is.
        has_begun: True if the checkpoint is known to have the states of all buckets.
    """
    first_query = queries[0]
    session = first_query.source.df.sparkSession
    recordings = recordings or [None] * len(queries)

    # Refuse what can be refused before a task is packed, and before a job of Spark's asks the workers.
    check_session(session)
    for query in queries:
        check_progress(query.plan)
        check_trigger(query.plan)
    observe_session(session)  # monitoring gets the reports of the Spark query that is about to start

    tasks = [task_of(query, place) for place, query in enumerate(queries)]
    packed_tasks = pack_tasks(tasks)
    check_workers(session, packed_tasks, is_streaming=True)

    # Queries without state are never in a pass with others: `one_pass` refuses them.
    if not first_query.plan.choice.keeps_state:
        # No reporter: the driver gets reports of a stream with the progress of each micro-batch.
        stateless_task = StatelessTask(packed_tasks[0], reporter=None, recording=recordings[0])
        blobs = united(first_query.sources).mapInArrow(stateless_task, OUTPUT)
    else:
        exchanged = _exchanged(queries, packed_tasks, recordings)
        processor = BucketProcessor(_packed_task_by_bucket(tasks, packed_tasks), has_begun=has_begun)
        blobs = exchanged.groupBy("bucket").transformWithState(processor, OUTPUT, outputMode="Append", timeMode="None")
    blobs = with_columns_if_declared(first_query.source.df, blobs, OUTPUT)

    # The metrics of all queries are in one stream of blobs. Each query observes the stream under its own name.
    for query, task, outputs in zip(queries, tasks, taken_outputs, strict=True):
        totals = F.col("totals")
        if len(queries) > 1:
            totals = F.when(F.col("place") == task.place, totals)
        blobs = with_observed_metrics(blobs, query, task, totals, outputs)
    return blobs


def _exchanged(
    queries: Sequence[PlannedQuery], packed_tasks: Sequence[bytes], recordings: Sequence[RowRecording | str | None]
) -> DataFrame:
    """Return the output of the map tasks of streaming queries, which are rows as blobs for each bucket."""
    schema = _exchange_schema(queries[0])
    if len(queries) == 1:
        return united(queries[0].sources).mapInArrow(Distributor(packed_tasks[0], recordings[0]), schema)
    rows = shared([query.source for query in queries])
    return rows.df.mapInArrow(SharedDistributor(packed_tasks, rows.columns_by_query, recordings), schema)


def closing_blobs(queries: Sequence[PlannedQuery], cells: DataFrame) -> DataFrame:
    """Return the last output of the queries of one pass, as blobs: what they emit from their state at the end of input.

    Args:
        queries: The queries.
        cells: Their state: the columns `bucket`, `name` and `data`.
    """
    session = cells.sparkSession
    # The task of a static input closes the stream after its rows, of which there are none here.
    tasks = [replace(task_of(query, place), is_static=True) for place, query in enumerate(queries)]
    tasks_by_bucket = _packed_task_by_bucket(tasks, pack_tasks(tasks))
    check_workers(session, set(tasks_by_bucket.values()), is_streaming=False)
    # Buckets without any cell are closed too, so that each has its metrics and its watermark.
    buckets = session.createDataFrame([(bucket,) for bucket in tasks_by_bucket], "bucket int")
    cells_of_buckets = buckets.join(cells, "bucket", "left")
    return cells_of_buckets.groupBy("bucket").applyInArrow(closing_bucket(tasks_by_bucket), OUTPUT)


def typed_rows(blobs: DataFrame, output: str, schema: spark_types.StructType, place: int = 0) -> DataFrame:
    """Return the rows of one output of a query, which are in the blobs of all outputs of all queries.

    Args:
        blobs: The blobs.
        output: The output, such as `results`.
        schema: The schema of the rows.
        place: The place of the query among those of one pass.
    """
    has_rows = F.col("data").isNotNull()  # metrics and watermarks are rows without data
    is_of_output = (F.col("place") == place) & F.col("stream").isin(*STREAMS[output]) & has_rows
    blobs_of_output = data_of(blobs, is_of_output)
    return blobs_of_output.mapInArrow(BlobReader(arrow_schema_of(schema)), schema)


def data_of(blobs: DataFrame, condition: Column) -> DataFrame:
    """Return the blobs that meet a condition, with the columns that their readers need: `bucket`, `rows` and `data`."""
    names = ["bucket", "rows", "data"]
    schema = spark_types.StructType([OUTPUT[name] for name in names])
    return with_columns_if_declared(blobs, blobs.where(condition).select(*names), schema)


def task_of(query: PlannedQuery, place: int = 0) -> TaskPayload:
    """Return the task that a query sends to the workers, given its place among those of one pass."""
    worker = settings_of(query.source.df.sparkSession)
    return query_task.task_of(query, worker, is_static=not query.source.df.isStreaming, place=place)


def _exchange_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the columns of the output of the map tasks, which goes through the shuffle."""
    return spark_schema_of(exchange_schema(len(query.sources)))


def _packed_task_by_bucket(tasks: Sequence[TaskPayload], packed_tasks: Sequence[bytes]) -> dict[int, bytes]:
    """Return the packed task of each bucket; no two queries of a pass have buckets of the same number."""
    packed_task_by_bucket: dict[int, bytes] = {}
    for task, packed_task in zip(tasks, packed_tasks, strict=True):
        packed_task_by_bucket |= dict.fromkeys(task.buckets, packed_task)
    return packed_task_by_bucket
