"""The metrics of Muntin queries, read from the progress that Spark reports of a streaming query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from muntin import EARLIEST
from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics, SourceMetrics
from muntin_engine.plan.metrics import (
    METRICS,
    STAGES,
    TIME_AXIS,
    UNREAD,
    WAITS_FOR_ENDS,
    Unit,
    module_of,
    of_sources,
    overflowing_column,
    shown_names,
    skipped_by,
    stage_metric,
)

_TICKS: Final = {"watermark", "output_watermark", "newest", "clock"}
"""The metrics of which `EARLIEST` stands for an unknown value."""

_ATTRIBUTES: Final = [metric.name for metric in METRICS if metric.unit is not Unit.MICROSECONDS or metric.is_level]
"""The metrics that are attributes of `BatchMetrics` with the same name; durations of stages and modules are not."""


def batch_metrics(progress: Mapping[str, Any] | str | None) -> dict[str, BatchMetrics]:
    """Return the metrics of the Muntin queries in a Spark query for a micro-batch, by the names of the queries.

    A query with a `metrics_name` has that name. Another query is called "muntin" if it is the only one. Several such
    queries have more of the names under which they report, so that these differ.

    Args:
        progress: The progress from `StreamingQuery.lastProgress` or a `StreamingQueryListener`, as it is or as JSON.
            Metrics in it that are not Muntin's are ignored. None, which `lastProgress` is before the first micro-batch,
            has no metrics.

    Example:
        >>> observed = {"muntin": {"time_axis": 0, "accepted": 5, "late": 1, "newest": 42}, "mine": {"rows": 1}}
        >>> by_name = batch_metrics({"batchId": 7, "observedMetrics": observed})
        >>> [(name, metrics.batch, metrics.accepted, metrics.late, metrics.newest) for name, metrics in by_name.items()]
        [('muntin', 7, 5, 1, 42)]
    """
    if progress is None:
        return {}
    report: Mapping[str, Any] = json.loads(progress) if isinstance(progress, str) else progress

    # Only Muntin's queries report their axis; other metrics may be observed in the same query of Spark's.
    metrics_by_reported_name: dict[str, Mapping[str, Any]] = {}
    for name, observed in (report.get("observedMetrics") or {}).items():
        metrics = _as_dict(observed)
        if TIME_AXIS in metrics:
            metrics_by_reported_name[name] = metrics

    names = shown_names(metrics_by_reported_name)
    batch_metrics_by_name: dict[str, BatchMetrics] = {}
    for reported_name, metrics in metrics_by_reported_name.items():
        name = names[reported_name]
        batch_metrics_by_name[name] = _read_metrics(name, report, metrics)
    return batch_metrics_by_name


def _as_dict(metrics: Any) -> Mapping[str, object]:
    """Return the observed metrics of a query by name.

    Args:
        metrics: The metrics: a dict from JSON, or a row of Spark's. On Spark Connect the row has two columns, the
            values and a schema with their names.
    """
    row: Mapping[str, Any] = metrics if isinstance(metrics, Mapping) else metrics.asDict()
    if row.keys() != {"values", "schema"}:
        return row
    names = [part["name"] for part in row["schema"]["fields"]]
    return dict(zip(names, row["values"], strict=True))


def _read_metrics(name: str, progress: Mapping[str, Any], metrics: Mapping[str, Any]) -> BatchMetrics:
    """Return the metrics of a Muntin query in a micro-batch.

    Args:
        name: The name of the query, as people are shown it.
        progress: The progress of the Spark query that contains it.
        metrics: The observed metrics of the query.
    """
    return BatchMetrics(
        query=name,
        query_id=_text(progress.get("id")),
        run_id=_text(progress.get("runId")),
        spark_name=_text(progress.get("name")),
        batch=int(progress.get("batchId", -1)),
        started=_started(progress),
        seconds=_seconds(progress),
        is_time=metrics[TIME_AXIS] == 1,
        stages=_stages(metrics),
        modules=_modules(metrics),
        skipped=_skipped(metrics),
        overflows=_overflows(metrics),
        sources=_sources(metrics),
        waits_for_ends=bool(metrics.get(WAITS_FOR_ENDS)),
        unread=frozenset(kind for kind, metric in UNREAD.items() if metrics.get(metric)),  # late, or rejected rows
        **_attributes(metrics),
    )


def _attributes(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known values of those metrics that are attributes of `BatchMetrics`, by name."""
    attributes: dict[str, Any] = {}
    for name in _ATTRIBUTES:
        value = metrics.get(name)
        is_unknown = value is None or (name in _TICKS and value == EARLIEST)
        if not is_unknown:
            attributes[name] = value
    return attributes


def _stages(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds of each stage that is measured."""
    seconds: dict[str, float] = {}
    for stage in STAGES:
        microseconds = metrics.get(stage_metric(stage))
        if microseconds is not None:
            seconds[stage] = microseconds / 1_000_000
    return seconds


def _modules(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds of each module that is measured."""
    seconds: dict[str, float] = {}
    for metric, microseconds in metrics.items():
        module = module_of(metric)
        if module and microseconds is not None:
            seconds[module] = microseconds / 1_000_000
    return seconds


def _skipped(metrics: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of events that each module skipped, by its label."""
    skipped: dict[str, int] = {}
    for metric, count in metrics.items():
        module = skipped_by(metric)
        if module:
            skipped[module] = count or 0
    return skipped


def _overflows(metrics: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of values that each result column could not hold, by its name."""
    overflows: dict[str, int] = {}
    for metric, count in metrics.items():
        column = overflowing_column(metric)
        if column and count:
            overflows[column] = count
    return overflows


def _sources(metrics: Mapping[str, Any]) -> dict[str, SourceMetrics]:
    """Return the metrics by source or, if the query has several inputs, by input."""
    rows = of_sources(metrics, "rows")
    late = of_sources(metrics, "late")
    watermarks = of_sources(metrics, "watermark")
    sources: dict[str, SourceMetrics] = {}
    for name in {**rows, **watermarks}:
        watermark = watermarks.get(name)
        if watermark == EARLIEST:
            watermark = None
        sources[name] = SourceMetrics(rows=rows.get(name), late=int(late.get(name) or 0), watermark=watermark)
    return sources


def _text(value: object) -> str | None:
    """Return a value as text; None for None."""
    return None if value is None else str(value)


def _started(progress: Mapping[str, Any]) -> datetime | None:
    """Return the time at which Spark started the micro-batch; None if the progress does not have it."""
    timestamp = progress.get("timestamp")
    return datetime.fromisoformat(timestamp) if timestamp else None


def _seconds(progress: Mapping[str, Any]) -> float:
    """Return the duration of a micro-batch in seconds; versions of Spark report it in one of two places."""
    durations: Mapping[str, Any] = progress.get("durationMs") or {}
    batch_duration = progress.get("batchDuration") or 0
    milliseconds = durations.get("triggerExecution", batch_duration)
    return float(milliseconds) / 1000
