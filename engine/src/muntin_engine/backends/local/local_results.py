"""The output of a query over tables in this process, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from muntin_engine.backends.local.batch_output import BatchOutput
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions.translation import translated
from muntin_engine.backends.local.expressions.translator import FAILURE
from muntin_engine.backends.local.local_frame import opened
from muntin_engine.backends.local.local_query import BucketOutput, LocalQuery, exchanged_rows
from muntin_engine.backends.local.refusals import FailedRowError
from muntin_engine.backends.planning.query_task import task_of
from muntin_engine.backends.planning.result_schemas import evicted_schema, refused_schema, result_schema
from muntin_engine.backends.static_counts import BucketCounts, StaticCounts
from muntin_engine.plan.metrics import skipped_metric
from muntin_engine.plan.skipped_nulls import skipped_nulls
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, RESULTS
from muntin_engine.wire.shuffle import SIDE, RowCounts, shared_name

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery, Selection
    from muntin_engine.wire.task_payload import TaskPayload


def output_table(query: PlannedQuery, output: str, *, warns: bool = True) -> pa.Table:
    """Run a query, and return one of its outputs.

    Args:
        query: The query.
        output: The name of the output.
        warns: True if warnings are to say how many rows were rejected or skipped.

    Raises:
        QueryError: The query has no such output, or a row of its input cannot be read.
        ModuleFailedError: A module raised an exception, with its key and window.
    """
    if output == RESULTS:
        schema = result_schema(query)
    elif output == EVICTED_ROWS:
        schema = evicted_schema(query)
    else:
        schema = refused_schema(query)

    task = task_of(query, WorkerSettings(), is_static=True)
    blobs = evaluated_blobs(query, task, warns=warns)
    tables = BatchOutput.of_blobs(task, blobs).tables[output]
    return pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in tables)])


def evaluated_blobs(query: PlannedQuery, task: TaskPayload, *, warns: bool) -> list[BucketOutput]:
    """Run the tasks of a query over static input.

    Args:
        query: The query.
        task: The query as it travels.
        warns: True if warnings are to say how many rows were rejected or skipped.

    Raises:
        QueryError: A row of its input cannot be read.
        ModuleFailedError: A module raised an exception, with its key and window.
    """
    map_tasks = [input_batches(query, side) for side, _ in enumerate(query.sources)]
    row_counts = RowCounts()
    local_query = LocalQuery(task)
    if task.plan.choice.keeps_state:
        exchanged = [row for batches in map_tasks for row in exchanged_rows(task, batches)]
        for row in exchanged:
            if row["row_counts"] is not None:
                row_counts += RowCounts.from_list(row["row_counts"])
        evaluated = local_query.process_exchanged(exchanged)
    else:
        evaluated = local_query.process(map_tasks)

    blobs: list[BucketOutput] = []
    counts: dict[int, BucketCounts] = {}
    skipped = row_counts.unaccepted_by(task.choosy_labels)
    label_of = {skipped_metric(label): label for label in task.choosy_labels}
    for place, bucket_blob in enumerate(evaluated, 1):
        blobs.append(bucket_blob)
        overflows = task.overflows.take()  # a bucket forgets those of the one before
        if overflows:
            counts[place] = BucketCounts(0, {}, overflows=overflows)
        blob = bucket_blob.blob
        if blob.stream in label_of:  # of a query without buckets
            skipped[label_of[blob.stream]] = blob.rows
    if warns:
        counts[0] = BucketCounts.of_output((blob for _, blob in blobs), skipped)
        StaticCounts(query.metrics_name, len(counts), skipped_nulls(query.plan), counts).warn()
    return blobs


def input_batches(query: PlannedQuery, side: int) -> Iterator[pa.RecordBatch]:
    """Read the projected rows of an input; with several inputs, under the names that rows of all have."""
    rows: Any = query.sources[side].df
    if len(query.sources) == 1:
        yield from rows.batches()
        return
    for batch in rows.batches():
        sides = pa.repeat(pa.scalar(side, pa.int32()), len(batch))
        names = [shared_name(side, name) for name in batch.schema.names]
        yield pa.RecordBatch.from_arrays([sides, *batch.columns], names=[SIDE, *names])


def selected(results: pa.Table, selection: Selection) -> pa.Table:
    """Return the rows and columns of results that a query has.

    Raises:
        QueryError: An expression fails on a row.
    """
    if selection.condition is None and not selection.columns:
        return results
    (relation,) = opened(results).relations(results.schema.names)
    if selection.condition is not None:
        relation = relation.filter(translated(selection.condition, results.schema).sql)
    fields: list[pa.Field] = []
    columns: list[str] = []
    for name in selection.names(results.schema.names):
        expression = translated(selection.columns.get(name, f"`{name}`"), results.schema)
        fields.append(pa.field(name, expression.type))
        columns.append(f"{expression.sql} AS {quoted(name)}")
    try:
        return relation.project(", ".join(columns)).to_arrow_table().cast(pa.schema(fields))
    except duckdb.Error as error:
        raise FailedRowError("select() or where() cannot be computed", error, FAILURE) from error
