"""The output of a query over tables in this process, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import closing
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin_engine.backends.local.cores import call_with_workers, worker_count
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.expressions.translation import translated
from muntin_engine.backends.local.frames.local_frame import opened
from muntin_engine.backends.local.frames.micro_batch import BucketOutput
from muntin_engine.backends.local.refusals import failures_of_rows
from muntin_engine.backends.local.runs.batch_output import BatchOutput
from muntin_engine.backends.local.runs.static_run import StaticRun
from muntin_engine.backends.planning.query_task import task_of
from muntin_engine.backends.planning.result_schemas import evicted_schema, refused_schema, result_schema
from muntin_engine.backends.static_counts import BucketCounts, StaticCounts
from muntin_engine.plan.metrics import skipped_metric
from muntin_engine.plan.request import backquoted
from muntin_engine.plan.skipped_nulls import skipped_nulls
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.tasks.output_blobs import EVICTED_ROWS, RESULTS
from muntin_engine.wire.arrow_arrays import empty_table

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery, Selection
    from muntin_engine.wire.task_payload import TaskPayload


def output_table(query: PlannedQuery, output: str, *, warns: bool = True) -> pa.Table:
    """Run a query, and return one of its outputs.

    Args:
        query: The query.
        output: The name of the output.
        warns: True to log how many rows were rejected or skipped.

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
    tables = [empty_table(schema)]
    with call_with_workers(query.workers), closing(evaluated_blobs(query, task, warns=warns)) as blobs:
        for table in BatchOutput.of_blobs(task, blobs, [output]).tables[output]:
            tables.append(table if table.schema == schema else table.cast(schema))
    return pa.concat_tables(tables)


def evaluated_blobs(query: PlannedQuery, task: TaskPayload, *, warns: bool) -> Generator[BucketOutput]:
    """Run the tasks of a query over tables, and yield its output blob by blob.

    Args:
        query: The query.
        task: The query as it travels.
        warns: True to log, after the last blob, how many rows were rejected or skipped.

    Raises:
        QueryError: A row of its input cannot be read.
        ModuleFailedError: A module raised an exception, with its key and window.
    """
    run = StaticRun(query, task, worker_count())
    # The numbers of rows that modules skipped, by the label of the module. A query without buckets reports them in its
    # output, as metrics; in other queries the map tasks count them.
    skipped_rows = Counter[str]()
    label_of_metric = {skipped_metric(label): label for label in task.labels_of_skipping_modules}
    # The counts of each part of the output, by its number from 1 on; under 0, those of skipped rows.
    counts: dict[int, BucketCounts] = {}
    for place, output in enumerate(run.outputs(), 1):
        if warns:
            # Skipped rows are added up apart, in `skipped_rows`.
            counts[place] = BucketCounts.of_output(output.blobs, skipped={}, overflows=output.overflows)
        for blob in output.blobs:
            if blob.stream in label_of_metric:
                skipped_rows[label_of_metric[blob.stream]] += blob.rows
            yield BucketOutput(output.bucket, blob)

    if warns:
        skipped_rows.update(run.row_counts.unaccepted_by(task.labels_of_skipping_modules))
        counts[0] = BucketCounts(accepted=0, rejected={}, skipped=skipped_rows)
        StaticCounts(query.metrics_name, buckets=len(counts), skipping=skipped_nulls(query.plan), counts=counts).warn()


def selected(results: pa.Table, selection: Selection) -> pa.Table:
    """Return the rows and columns of results that a query selects.

    Args:
        results: All results.
        selection: The condition on rows, and the columns.

    Raises:
        QueryError: An expression fails on a row.
    """
    if selection.condition is None and not selection.columns:
        return results
    (relation,) = opened(results).relations(results.schema.names)  # an Arrow table is always one relation
    if selection.condition is not None:
        relation = relation.filter(translated(selection.condition, results.schema).sql)
    fields: list[pa.Field] = []
    columns: list[str] = []
    for name in selection.names(results.schema.names):
        text = selection.columns.get(name, backquoted(name))  # a column that is not computed stays as it is
        expression = translated(text, results.schema)
        fields.append(pa.field(name, expression.type))
        columns.append(f"{expression.sql} AS {quoted(name)}")
    with failures_of_rows("select() or where() cannot be computed"):
        return relation.project(", ".join(columns)).to_arrow_table().cast(pa.schema(fields))
