"""The metrics of one query in one micro-batch, and how they are read from the progress of a streaming query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from muntin import EARLIEST, INFINITY, instant
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


class SourceMetrics(NamedTuple):
    """The metrics of a source, or of one of several inputs, in a micro-batch.

    Attributes:
        rows: The insertions that came of it; None of an input without sources, whose rows are not counted apart.
        late: Those that were late, where that is known by source.
        watermark: Its watermark; None as long as it has said nothing, or in a micro-batch without rows.
    """

    rows: int | None = None
    late: int = 0
    watermark: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMetrics:
    """The metrics of a micro-batch; `batch_metrics` reads them from a query's progress.

    The reference page of metrics says what each means. Those that say how things stand after the batch are None where
    nothing is known: in a batch without any rows, and where a query's evaluator does not know them. Times are in
    seconds, and ticks stay ticks.

    Attributes:
        query: The name under which the query reports (`Query.named`).
        query_id: Spark's id of the streaming query, the same after a restart; None where the progress says none.
        run_id: Spark's id of this run of it.
        spark_name: Spark's name of it, if it has one.
        batch: The number of the batch.
        started: When Spark started it.
        seconds: The duration of all of it, from looking for rows to committing.
        accepted: Rows that took effect.
        late: Rows that came too late.
        late_by: The largest distance in ticks of one of these behind the watermark; None if there are none.
        shed: New events for which their key had no room.
        rejected: Rows that make no sense where they came.
        filtered: New events that a filter left out, or that have no lifetime after its changes.
        results: Emitted rows.
        evicted: Rows of the second output, which rows gave that left their window.
        retractions: The number of these that retract an earlier result, or end it earlier.
        early: The number of them that are of windows that are not final.
        keys: Keys that the batch brought rows of.
        windows_closed: Windows of keys, with members, that are final since this batch.
        keys_forgotten: Keys of which nothing is kept since this batch, as they were silent for long enough.
        windows_open: Windows that have begun and are not complete.
        windows_revisable: Windows of keys that are out and may still be corrected, or whose trigger waits.
        partitions_held: Partitions of row windows, of all keys, that are not removed.
        keys_held: Keys that have state.
        events_held: Events that are kept for them.
        state_bytes: The size of the state.
        bytes_written: The bytes of it written in this batch.
        watermark: No later row may change anything before this tick; `INFINITY` if the input has ended.
        output_watermark: No later result changes anything before it.
        newest: The largest start of an event so far.
        clock: The latest reading of a clock that the input brought, in microseconds since the epoch.
        is_time: True if ticks are microseconds since the epoch.
        stages: Seconds of work by stage, over all tasks; they add up to more than passed where tasks run side by side.
        modules: Seconds of work inside each module, which are part of those of the stages.
        skipped: By module, how many new events it was not given, because it does not read a null in them.
        overflows: By result column, how many values it could not hold, which are null or infinite there.
        sources: The metrics of each source, or of each of several inputs.
        waits_for_ends: True if windows may stay open as long as an event in them has no end.
        unread: The side outputs, `late` and `rejected`, that nothing takes.
    """

    query: str
    batch: int
    started: datetime | None = None
    seconds: float = 0.0
    accepted: int = 0
    late: int = 0
    late_by: int | None = None
    shed: int = 0
    rejected: int = 0
    filtered: int = 0
    results: int = 0
    evicted: int = 0
    retractions: int = 0
    early: int = 0
    keys: int = 0
    windows_closed: int = 0
    keys_forgotten: int = 0
    windows_open: int | None = None
    windows_revisable: int | None = None
    partitions_held: int | None = None
    keys_held: int | None = None
    events_held: int | None = None
    state_bytes: int | None = None
    bytes_written: int = 0
    watermark: int | None = None
    output_watermark: int | None = None
    newest: int | None = None
    clock: int | None = None
    is_time: bool = True
    stages: Mapping[str, float] = field(default_factory=dict)
    modules: Mapping[str, float] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    overflows: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, SourceMetrics] = field(default_factory=dict)
    waits_for_ends: bool = False
    unread: frozenset[str] = frozenset()
    query_id: str | None = None
    run_id: str | None = None
    spark_name: str | None = None

    @property
    def spelled_query(self) -> str:
        """The query by all of its names, for a reader who sees several.

        Example:
            >>> BatchMetrics(query="muntin", batch=0, query_id="d7dbda75-9e29", spark_name="bikes").spelled_query
            "muntin (Spark query 'bikes', d7dbda75)"
        """
        names = [*([repr(self.spark_name)] if self.spark_name else []), (self.query_id or "").partition("-")[0]]
        return f"{self.query} (Spark query {', '.join(names)})" if any(names) else self.query

    @property
    def is_closed(self) -> bool:
        """True if the input has ended."""
        return self.watermark == INFINITY

    @property
    def rows_per_second(self) -> float:
        """Rows that took effect, per second of the batch."""
        return self.accepted / self.seconds if self.seconds else 0.0

    @property
    def lag(self) -> int | None:
        """The lag of the watermark behind the newest start, in ticks; None if either is unknown.

        Example:
            >>> BatchMetrics(query="muntin", batch=0, newest=70, watermark=60).lag
            10
        """
        return None if self.newest is None or self.watermark is None else max(0, self.newest - self.watermark)

    @property
    def output_lag(self) -> int | None:
        """The lag of the output's watermark behind the input's, in ticks; None if either is unknown."""
        if self.watermark is None or self.output_watermark is None:
            return None
        return max(0, self.watermark - self.output_watermark)

    @property
    def clock_lag(self) -> int | None:
        """The lag of the watermark behind the driver's clock when the batch ended, in microseconds.

        None if the axis is not time, the input has ended, or nothing is known.
        """
        if self.started is None or self.watermark is None or not self.is_time or self.is_closed:
            return None
        ended = self.started.astimezone(UTC) + timedelta(seconds=self.seconds)
        return instant(ended) - self.watermark


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
        overflows={
            column: value for metric, value in metrics.items() if value and (column := overflowing_column(metric))
        },
        modules=_spent({module: value for metric, value in metrics.items() if (module := module_of(metric))}),
        sources=_sources(metrics),
        waits_for_ends=bool(metrics.get(WAITS_FOR_ENDS)),
        unread=frozenset(output for output, constant in UNREAD.items() if metrics.get(constant)),
        **{metric: value for metric, value in plain.items() if not (metric in _TIMES and value == EARLIEST)},
    )


def _sources(metrics: Mapping[str, Any]) -> dict[str, SourceMetrics]:
    rows, late, watermarks = (of_sources(metrics, kind) for kind in ("rows", "late", "watermark"))
    return {
        name: SourceMetrics(
            rows.get(name), int(late.get(name) or 0), None if (at := watermarks.get(name)) == EARLIEST else at
        )
        for name in {**rows, **watermarks}
    }


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
