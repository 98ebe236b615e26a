"""Read metrics from the progress of a streaming query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from muntin import EARLIEST
from muntin_engine.metrics import (
    METRICS,
    STAGES,
    TIME_AXIS,
    UNREAD,
    Unit,
    long_calls_of,
    longest_call_of,
    module_of,
    shown_names,
    skipped_by,
    stage_metric,
)
from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics

_TIMES: Final = {"watermark", "output_watermark", "newest", "clock"}
_PLAIN: Final = [metric.name for metric in METRICS if metric.unit is not Unit.MICROSECONDS or metric.is_level]


def batch_metrics(progress: Mapping[str, Any] | str | None) -> dict[str, BatchMetrics]:
    """Return the metrics of the Muntin queries in a Spark query for a micro-batch, by the names they report under.

    Args:
        progress: The progress from `StreamingQuery.lastProgress` or a `StreamingQueryListener`, as it is or as JSON.
            Metrics in it that are not Muntin's are left alone. None, as `lastProgress` is before the first
            micro-batch, has no metrics.

    Example:
        >>> observed = {"time_axis": 0, "accepted": 5, "late": 1, "newest": 42}
        >>> found = batch_metrics({"batchId": 7, "observedMetrics": {"muntin": observed, "mine": {"rows": 1}}})
        >>> [(numbers.batch, numbers.accepted, numbers.late, numbers.newest) for numbers in found.values()]
        [(7, 5, 1, 42)]
    """
    if progress is None:
        return {}
    given: Mapping[str, Any] = json.loads(progress) if isinstance(progress, str) else progress
    observed = {name: _as_dict(metrics) for name, metrics in (given.get("observedMetrics") or {}).items()}
    ours = {name: metrics for name, metrics in observed.items() if TIME_AXIS in metrics}
    shown = shown_names(ours)
    return {shown[name]: _numbers(shown[name], given, metrics) for name, metrics in ours.items()}


def _as_dict(metrics: Any) -> Mapping[str, object]:
    """Return metrics, which are a row of Spark's or come from JSON, as a dict.

    On Spark Connect the row is one of values, and of the schema that says their names.
    """
    row: Mapping[str, Any] = metrics if isinstance(metrics, Mapping) else metrics.asDict()
    if row.keys() != {"values", "schema"}:
        return row
    return dict(zip((part["name"] for part in row["schema"]["fields"]), row["values"], strict=True))


def _numbers(name: str, progress: Mapping[str, Any], metrics: Mapping[str, Any]) -> BatchMetrics:
    plain = {metric: metrics[metric] for metric in _PLAIN if metrics.get(metric) is not None}
    slow = {label: value for label, value in metrics.items() if value}
    return BatchMetrics(
        query=name,
        query_id=_text(progress.get("id")),
        run_id=_text(progress.get("runId")),
        spark_name=_text(progress.get("name")),
        batch=int(progress.get("batchId", -1)),
        started=_started(progress),
        seconds=_seconds(progress),
        is_time=metrics[TIME_AXIS] == 1,
        stages=_spent({stage: metrics.get(stage_metric(stage)) for stage in STAGES}),
        skipped={module: value or 0 for metric, value in metrics.items() if (module := skipped_by(metric))},
        modules=_spent({module: value for metric, value in metrics.items() if (module := module_of(metric))}),
        long_calls={module: value for label, value in slow.items() if (module := long_calls_of(label))},
        longest_calls=_spent({module: value for label, value in slow.items() if (module := longest_call_of(label))}),
        unread=frozenset(output for output, constant in UNREAD.items() if metrics.get(constant)),
        **{metric: value for metric, value in plain.items() if not (metric in _TIMES and value == EARLIEST)},
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _started(progress: Mapping[str, Any]) -> datetime | None:
    given = progress.get("timestamp")
    return datetime.fromisoformat(given) if given else None


def _seconds(progress: Mapping[str, Any]) -> float:
    durations: Mapping[str, Any] = progress.get("durationMs") or {}
    return float(durations.get("triggerExecution", progress.get("batchDuration") or 0)) / 1000


def _spent(microseconds: Mapping[str, int | None]) -> dict[str, float]:
    return {name: spent / 1_000_000 for name, spent in microseconds.items() if spent is not None}
