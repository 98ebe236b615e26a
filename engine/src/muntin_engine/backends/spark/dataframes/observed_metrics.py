"""The metrics of a streaming query, as metrics that Spark observes and reports with each micro-batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from muntin import Axis, LatePolicy
from muntin.errors import QueryError
from muntin_engine.backends.spark.dataframes.combined_inputs import united
from muntin_engine.backends.spark.inputs.declared_frames import is_known, with_columns_if_declared
from muntin_engine.backends.spark.private_parts import connect_relation
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
from muntin_engine.tasks.output_blobs import LATE
from muntin_engine.tasks.task_metrics import names_of_counts, names_of_watermarks
from muntin_engine.wire.task_payload import TaskPayload

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery

_TOTALS: Final[Mapping[Total, Callable[[Column], Column]]] = {
    Total.SUM: F.sum,
    Total.LEAST: F.min,
    Total.LARGEST: F.max,
}


def with_observed_metrics(
    blobs: DataFrame, query: PlannedQuery, task: TaskPayload, totals: Column, taken_outputs: Collection[str]
) -> DataFrame:
    """Return blobs of which Spark reports the metrics of a query with each micro-batch.

    Args:
        blobs: The output of the buckets, of all queries of a pass.
        query: The query.
        task: The task of the query.
        totals: The column with the metrics of the query's buckets; null in blobs of other queries.
        taken_outputs: The outputs of the query that are read. Monitoring warns if other outputs have rows.

    Raises:
        QueryError: The input contains a query that reports metrics under the same name.
    """
    metrics = list(metrics_of(query.plan, is_timed=query.is_timed))
    metrics += [Metric(name, Unit.ROWS) for name in names_of_counts(task)]
    metrics += [Metric(name, Unit.TICKS, total=Total.LEAST, is_level=True) for name in names_of_watermarks(task)]
    columns = [_total(metric, totals) for metric in metrics]
    for name, flag in _flags(query, taken_outputs).items():
        columns.append(F.lit(int(flag)).alias(name))
    if is_known(blobs):  # Spark must not be asked for the schema here: it checks the names when the query starts
        return with_columns_if_declared(blobs, blobs.observe(_reported_name(query), *columns), blobs.schema)
    try:
        observed = blobs.observe(_reported_name(query), *columns)
        observed.schema  # noqa: B018  # makes Spark check the names now, and not only when the query starts
    except AnalysisException as error:
        if error.getCondition() != "DUPLICATED_METRICS_NAME":
            raise
        raise QueryError(
            f"the input contains a query that reports metrics under the name {query.metrics_name!r} already\n"
            "  give one of them another name: .named('...')"
        ) from error
    return observed


def _flags(query: PlannedQuery, taken_outputs: Collection[str]) -> dict[str, bool]:
    """Return facts of a query that monitoring needs, by the names that they have among the metrics.

    Monitoring sees nothing of a query but its metrics. So these facts travel as constants among the metrics.

    Args:
        query: The query.
        taken_outputs: The outputs of the query that are read.
    """
    flags = {
        TIME_AXIS: query.plan.axis is Axis.TIME,
        WAITS_FOR_ENDS: waits_for_open_ends(query.plan),
    }
    for kind, name in UNREAD.items():
        flags[name] = f"{kind}_rows" not in taken_outputs  # such as `late_rows`
    # If the policy drops all late rows, no output has any, and nobody need be warned that it is not read.
    has_late_rows = any(source.late.policy is not LatePolicy.DROP for source in query.plan.inputs)
    flags[UNREAD[LATE]] = flags[UNREAD[LATE]] and has_late_rows
    return flags


def _reported_name(query: PlannedQuery) -> str:
    """Return the name of a query's metrics: the name that the query writer gave it, or one that no other query has.

    The latter has a hash of what the query reads, which is the same in all runs.
    """
    if query.is_named:
        return query.metrics_name
    rows = united(query.sources)
    if is_known(rows):
        meaning = hashlib.sha256(connect_relation(rows).SerializeToString(deterministic=True)).hexdigest()
    else:
        meaning = str(rows.semanticHash())
    return reported_name(query.metrics_name, query.plan, meaning)


def _total(metric: Metric, totals: Column) -> Column:
    """Return the column that adds up a metric over all buckets of a query.

    Args:
        metric: The metric, which says how it is added up.
        totals: The column with the metrics of each bucket, as a map from their names.
    """
    total = _TOTALS[metric.total](totals[metric.name])
    if not metric.is_level:
        # Without any row, Spark's sum is null: a count is 0 then. A level such as a watermark is unknown and stays
        # null.
        total = F.coalesce(total, F.lit(0))
    return total.alias(metric.name)
