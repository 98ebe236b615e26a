"""The DataFrames of a query: project, distribute, evaluate in buckets, type.

    input -> mapInArrow (rows to buckets, no shuffle) -> groupBy(bucket).transformWithState -> mapInArrow (typed rows)

A static input takes the same way with a grouped map instead of the stateful operator, and is closed after its rows.
Several queries of one input take it together: the rows have the columns of all, and the buckets are those of all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from muntin import Axis, LatePolicy
from muntin.errors import QueryError
from muntin.messages import Argument, Call
from muntin.schemas import Field
from muntin_engine.backends.planned_query import Selection
from muntin_engine.backends.spark.column_types import (
    arrow_schema_of,
    arrow_type_of,
    spark_schema_of,
    spark_type_of,
    time_type_of,
)
from muntin_engine.backends.spark.dataframes.changelogs import saying_keys
from muntin_engine.backends.spark.dataframes.combined_inputs import shared, united
from muntin_engine.backends.spark.dataframes.result_watermark import with_watermark
from muntin_engine.backends.spark.dataframes.results_as_events import event_rows
from muntin_engine.backends.spark.dataframes.selected_results import reselected, selected
from muntin_engine.backends.spark.dataframes.static_warnings import teller_of
from muntin_engine.backends.spark.delivery.packed_task import pack_task, pack_tasks
from muntin_engine.backends.spark.delivery.preflight import check_workers
from muntin_engine.backends.spark.failures.result_errors import with_clear_errors
from muntin_engine.backends.spark.inputs.input_columns import fields_of, orders_by_name
from muntin_engine.backends.spark.operators.arrow_functions import (
    Distributor,
    SharedDistributor,
    StatelessTask,
    closing_bucket,
    static_bucket,
)
from muntin_engine.backends.spark.operators.bucket_processor import OUTPUT, BucketProcessor
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.backends.spark.session.preconditions import check_session
from muntin_engine.backends.spark.session.session_listener import observe_session
from muntin_engine.backends.spark.session.worker_settings import settings_of
from muntin_engine.plan import Plan, check_trigger
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.metrics import (
    TIME_AXIS,
    UNREAD,
    WAITS_FOR_ENDS,
    Metric,
    Total,
    Unit,
    metrics_of,
    reported_name,
    waits_for_open_ends,
)
from muntin_engine.plan.skipped_nulls import skipped_nulls
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, LATE, LATE_ROWS, RESULTS, STREAMS
from muntin_engine.tasks.task_metrics import names_of_counts, names_of_watermarks
from muntin_engine.wire.blob_readers import BlobReader
from muntin_engine.wire.shuffle import exchange_schema
from muntin_engine.wire.side_output import side_output_schema
from muntin_engine.wire.task_payload import InputColumns, TaskPayload

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.plan.request import ColumnLike
    from muntin_engine.tasks.recorded_rows import RowRecording


_TOTALS: Final[Mapping[Total, Callable[[Column], Column]]] = {
    Total.SUM: F.sum,
    Total.LEAST: F.min,
    Total.LARGEST: F.max,
}


@in_session()
def results(query: PlannedQuery, watermark: str | None = None) -> DataFrame:
    """Return the results of a query, and the column of a watermark if one is wanted."""
    schema = result_schema(query)
    blobs = evaluated(query)
    if watermark is None:
        rows = selected(rows_of(blobs, RESULTS, schema), query.selection)
    else:
        _check_output_watermark(query)
        rows = selected(with_watermark(query, watermark, blobs, schema), query.selection, (watermark,))
    return with_clear_errors(rows, is_stream=query.source.df.isStreaming)


@in_session()
def select_results(query: PlannedQuery, columns: Mapping[str, str] | None, condition: str | None) -> Selection:
    """Return the selection of a query with other columns, or with one more condition; see `reselected`."""
    return reselected(query.source.df.sparkSession, result_schema(query), query.selection, columns, condition)


@in_session()
def output_as_events(query: PlannedQuery, output: str, order: ColumnLike | tuple[ColumnLike, ...] | None) -> DataFrame:
    """Return an output of a query as rows that say what they do, with the watermarks of its buckets.

    Raises:
        QueryError: It has no such output, or not the column that orders its rows.
    """
    _check_output_watermark(query)
    if query.selection != Selection():
        raise QueryError(
            "select() and where() are the last steps of a query, and as_events() reads all its results\n"
            "  leave them out: query.as_events().where('n > 10').with_columns(share='late / n')"
        )
    schema = result_schema(query) if output == RESULTS else evicted_schema(query)
    rows = event_rows(query, evaluated(query), schema, output)
    fields_of(rows, orders_by_name(order), {})
    return rows


@in_session()
def side_output(query: PlannedQuery, output: Literal["late_rows", "rejected_rows"]) -> DataFrame:
    """Return the late or the rejected rows of a query."""
    running = keeping_late_rows(query) if output == LATE_ROWS else query
    rows = rows_of(evaluated(running, is_told=False), output, refused_schema(query))
    return with_clear_errors(rows, is_stream=query.source.df.isStreaming)


@in_session()
def evicted(query: PlannedQuery) -> DataFrame:
    """Return the rows of the second output, which rows that leave give."""
    rows = rows_of(evaluated(query, is_told=False), EVICTED_ROWS, evicted_schema(query))
    return with_clear_errors(rows, is_stream=query.source.df.isStreaming)


def keeping_late_rows(query: PlannedQuery) -> PlannedQuery:
    """Return a query that has its late rows to return: they travel beside what is made of them before the shuffle.

    Raises:
        QueryError: It drops them.
    """
    if all(given.late.policy is LatePolicy.DROP for given in query.plan.inputs):
        raise QueryError(
            "late rows are dropped, so there are none to return: give events() late_policy='side' to have them"
        )
    return replace(query, plan=replace(query.plan, keeps_late_rows=True))


def evaluated(query: PlannedQuery, *, is_told: bool = True) -> DataFrame:
    """Return the whole output of a query, as blobs; `rows_of` makes rows of them.

    Args:
        query: The query.
        is_told: True if warnings are to say how many rows were rejected, late or, of a static input, skipped.
    """
    source = query.source.df
    if source.isStreaming:
        return evaluated_in_one_pass([query], [() if is_told else STREAMS], [query.place_name])
    described = task_of(query)
    task = pack_task(described)
    check_workers(source.sparkSession, [task], is_streaming=False)
    teller, keeps_state = None, query.plan.choice.keeps_state
    if is_told:
        name, skipping = query.metrics_name, skipped_nulls(query.plan)
        teller = teller_of(source.sparkSession, name, len(described.buckets) if keeps_state else None, skipping)
    if not keeps_state:
        return united(query.sources).mapInArrow(StatelessTask(task, teller), OUTPUT)
    schema = spark_schema_of(exchange_schema(len(query.sources)))
    grouped = united(query.sources).mapInArrow(Distributor(task), schema).groupBy("bucket")
    return grouped.applyInArrow(static_bucket(task, teller), OUTPUT)


def evaluated_in_one_pass(
    queries: Sequence[PlannedQuery],
    taken: Sequence[Collection[str]],
    recordings: Sequence[RowRecording | str | None] = (),
    *,
    has_begun: bool = False,
) -> DataFrame:
    """Return the whole output of streaming queries that read one input, as blobs.

    Args:
        queries: One query, or several with one input each, which are of the same DataFrame.
        taken: The outputs of each that something takes; warnings say how many rows there are of other side outputs.
        recordings: Where the rows of each are recorded, if they are, or the name by which tasks find it.
        has_begun: True if their checkpoint is known to have states of their buckets.
    """
    session = queries[0].source.df.sparkSession
    recordings = recordings or [None] * len(queries)
    check_session(session)
    observe_session(session)
    for query in queries:
        check_progress(query.plan)
        check_trigger(query.plan)
    described = [task_of(query, place) for place, query in enumerate(queries)]
    tasks = pack_tasks(described)
    check_workers(session, tasks, is_streaming=True)
    schema = spark_schema_of(exchange_schema(len(queries[0].sources)))
    if not queries[0].plan.choice.keeps_state:
        blobs = united(queries[0].sources).mapInArrow(StatelessTask(tasks[0], None, recordings[0]), OUTPUT)
    else:
        if len(queries) == 1:
            exchanged = united(queries[0].sources).mapInArrow(Distributor(tasks[0], recordings[0]), schema)
        else:
            rows = shared([query.source for query in queries])
            exchanged = rows.df.mapInArrow(SharedDistributor(tasks, rows.owned, recordings), schema)
        processor = BucketProcessor(_by_bucket(described, tasks), has_begun=has_begun)
        blobs = exchanged.groupBy("bucket").transformWithState(processor, OUTPUT, "Append", "None")
    for query, of_query, outputs in zip(queries, described, taken, strict=True):
        totals = F.col("totals")
        if len(queries) > 1:
            totals = F.when(F.col("place") == of_query.place, totals)
        blobs = _counted(query, blobs, of_query, totals, outputs)
    return blobs


def closed(queries: Sequence[PlannedQuery], cells: DataFrame) -> DataFrame:
    """Return the whole output of the queries of one pass when their stream is closed, as blobs, from their state.

    Args:
        queries: The queries.
        cells: Their state: the columns `bucket`, `name` and `data`.
    """
    session = cells.sparkSession
    described = [replace(task_of(query, place), is_static=True) for place, query in enumerate(queries)]
    tasks = _by_bucket(described, pack_tasks(described))
    check_workers(session, set(tasks.values()), is_streaming=False)
    every = session.createDataFrame([(bucket,) for bucket in tasks], "bucket int")
    with_state = every.join(cells, "bucket", "left")
    return with_state.groupBy("bucket").applyInArrow(closing_bucket(tasks), OUTPUT)


def _by_bucket(described: Sequence[TaskPayload], tasks: Sequence[bytes]) -> dict[int, bytes]:
    return {bucket: task for of_query, task in zip(described, tasks, strict=True) for bucket in of_query.buckets}


def rows_of(blobs: DataFrame, output: str, schema: spark_types.StructType, place: int = 0) -> DataFrame:
    """Return the typed rows of one output of a query, out of the blobs of all."""
    is_wanted = (F.col("place") == place) & F.col("stream").isin(*STREAMS[output]) & F.col("data").isNotNull()
    wanted = blobs.where(is_wanted).select("bucket", "rows", "data")
    return wanted.mapInArrow(BlobReader(arrow_schema_of(schema)), schema)


def result_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the schema of a query's results."""
    return _schema(query, query.plan.added, query.plan.outputs)


def refused_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the schema of the late and the rejected rows of a query."""
    time = time_type_of(query.source.df.schema["start"].dataType, query.plan)
    return spark_schema_of(side_output_schema(arrow_type_of(time), len(query.plan.inputs)))


def evicted_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the schema of what rows that leave give.

    Raises:
        QueryError: The query has no such output.
    """
    plan = query.plan
    if not plan.evicted:
        label = plan.modules[0].label if plan.modules else "this query"
        raise QueryError(
            f"{label} gives nothing when rows leave, so there is no such output\n"
            "  expected: an operator that follows rows, RowOperator[..., Left], whose on_evict returns rows"
        )
    return _schema(query, plan.added_to_evicted, plan.evicted)


def _schema(query: PlannedQuery, names: Iterable[str], outputs: Iterable[Field]) -> spark_types.StructType:
    plan, projected = query.plan, query.source.df.schema
    time = time_type_of(projected["start"].dataType, plan)
    extent = spark_types.StructType([spark_types.StructField("start", time), spark_types.StructField("end", time)])
    added = {
        "window_name": spark_types.StringType(),
        "change": spark_types.StringType(),
        "event_id": spark_types.LongType(),
        "new_end": time,
        "timing": spark_types.StringType(),
        "firing": spark_types.LongType(),
        "ends_window": spark_types.BooleanType(),
    }
    if plan.rows is not None and plan.rows.partition_by is not None:
        added["partition"] = projected[f"i{plan.expressions[plan.rows.partition_by]}"].dataType
    columns = [(key.name, projected[f"k{place}"].dataType) for place, key in enumerate(plan.keys)]
    columns += [(name, added.get(name, extent)) for name in names]
    columns += [(output.name, spark_type_of(output, time)) for output in outputs]
    schema = spark_types.StructType([spark_types.StructField(name, data_type) for name, data_type in columns])
    return saying_keys(schema, [key.name for key in plan.keys])


def check_progress(plan: Plan) -> None:
    """Refuse a query that keeps state of a stream that never says how complete it is."""
    if not plan.says_when_complete and plan.choice.keeps_state:
        raise QueryError(
            "this stream never says how complete it is, so no window would ever be final\n"
            "  give {events} a delay, such as {delay}, another progress policy, or a change column with punctuation "
            "rows\n  a withWatermark() of the input is not read",
            events=Call("events"),
            delay=Argument("watermark", "10 minutes"),
        )


def _check_output_watermark(query: PlannedQuery) -> None:
    if query.source.df.isStreaming and not query.plan.says_when_complete:
        raise QueryError(
            "the results of {grouping} have no watermark, as the input has none\n"
            "  give {events} a delay, such as {delay}, or another progress policy",
            grouping=query.plan.spelled_grouping,
            events=Call("events"),
            delay=Argument("watermark", "10 minutes"),
        )


def _counted(
    query: PlannedQuery, blobs: DataFrame, task: TaskPayload, totals: Column, taken: Collection[str]
) -> DataFrame:
    """Have Spark report the metrics of each micro-batch among the observed metrics of a streaming query."""
    of_sources = [Metric(name, Unit.ROWS) for name in names_of_counts(task)]
    of_sources += [Metric(name, Unit.TICKS, Total.LEAST, is_level=True) for name in names_of_watermarks(task)]
    metrics = [_total(metric, totals) for metric in [*metrics_of(query.plan, is_timed=query.is_timed), *of_sources]]
    constants = {TIME_AXIS: query.plan.axis is Axis.TIME, WAITS_FOR_ENDS: waits_for_open_ends(query.plan)}
    constants |= {name: f"{kind}_rows" not in taken for kind, name in UNREAD.items()}
    constants[UNREAD[LATE]] &= any(given.late.policy is not LatePolicy.DROP for given in query.plan.inputs)
    metrics += [F.lit(int(value)).alias(name) for name, value in constants.items()]
    try:
        observed = blobs.observe(_reported_name(query), *metrics)
        observed.schema  # noqa: B018  # has Spark check the names
    except AnalysisException as error:
        if error.getCondition() != "DUPLICATED_METRICS_NAME":
            raise
        raise QueryError(
            f"the input contains a query that reports metrics under the name {query.metrics_name!r} already\n"
            "  give one of them another name: .named('...')"
        ) from error
    return observed


def _reported_name(query: PlannedQuery) -> str:
    """Return the name of a query's metrics, which differs from all others by itself unless the query was given one."""
    if query.is_named:
        return query.metrics_name
    return reported_name(query.metrics_name, query.plan, str(united(query.sources).semanticHash()))


def _total(metric: Metric, totals: Column) -> Column:
    """Return a metric over all buckets of a query."""
    total = _TOTALS[metric.total](totals[metric.name])
    return (total if metric.is_level else F.coalesce(total, F.lit(0))).alias(metric.name)


def task_of(query: PlannedQuery, place: int = 0) -> TaskPayload:
    """Return the task that a query sends to the workers, given its place among those of one pass."""
    source, plan = query.source, query.plan
    return TaskPayload(
        plan=plan.for_workers(),
        identity=plan_identity(plan),
        keys=source.keys,
        columns=tuple(
            InputColumns((*one.inputs, pa.bool_()) if given.keeps_filtered else one.inputs, one.has_changes, one.id)
            for one, given in zip(query.sources, plan.inputs, strict=True)
        ),
        results=arrow_schema_of(result_schema(query)),
        evicted=arrow_schema_of(evicted_schema(query)) if plan.evicted else None,
        is_static=not source.df.isStreaming,
        is_timed=query.is_timed,
        worker=settings_of(source.df.sparkSession),
        place=place,
    )
