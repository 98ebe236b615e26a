"""The metrics as monitoring systems name them: what is counted, what is measured, units and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics

LABELS: Final = ("query", "query_id")
"""The labels of every metric: the name under which a query reports, and Spark's id of it."""

MICROSECOND: Final = 1e-6

Read = Callable[[BatchMetrics], Mapping[str, float | None]]


@dataclass(frozen=True, slots=True)
class ExportedMetric:
    """A metric of monitoring systems.

    Attributes:
        name: Its name, with the unit at the end.
        unit: The unit: `seconds`, `bytes`, `ticks`, or what is counted.
        text: Its meaning, in words.
        is_counter: True if it is the sum over micro-batches; otherwise it is the last known value.
        label: The label by which it is told apart besides those of every metric; empty for none.
        read: Returns its values in a micro-batch, by that label.
    """

    name: str
    unit: str
    text: str
    is_counter: bool
    label: str
    read: Read


def _plain(attribute: str) -> Read:
    return lambda metrics: {"": getattr(metrics, attribute)}


def _axis(attribute: str, *, is_time: bool) -> Read:
    """Return what reads a tick or a length, in seconds where ticks are time; None on the other axis."""
    scale = MICROSECOND if is_time else 1

    def read(metrics: BatchMetrics) -> Mapping[str, float | None]:
        value = getattr(metrics, attribute)
        is_known = (
            value is not None and metrics.is_time is is_time and not (attribute == "watermark" and metrics.is_closed)
        )
        return {"": value * scale if is_known else None}

    return read


def _by(attribute: str) -> Read:
    return lambda metrics: getattr(metrics, attribute)


def _accepted(metrics: BatchMetrics) -> Mapping[str, float]:
    """Return the accepted rows; a counter cannot go down.

    They are below zero where samples that a filter leaves out replace those that were accepted in earlier batches.
    """
    return {"": max(metrics.accepted, 0)}


def _source(attribute: str) -> Read:
    return lambda metrics: {name: getattr(source, attribute) for name, source in metrics.sources.items()}


def _source_watermark(metrics: BatchMetrics) -> Mapping[str, float | None]:
    known = {name: source.watermark for name, source in metrics.sources.items() if metrics.is_time}
    return {name: None if at is None or metrics.is_closed else at * MICROSECOND for name, at in known.items()}


def _counter(name: str, text: str, read: Read | None = None, label: str = "", unit: str = "rows") -> ExportedMetric:
    return ExportedMetric(f"muntin_{name}", unit, text, True, label, read or _plain(name.removesuffix("_rows")))


def _gauge(name: str, text: str, read: Read | None = None, label: str = "", unit: str = "") -> ExportedMetric:
    return ExportedMetric(f"muntin_{name}", unit, text, False, label, read or _plain(name))


def _lengths() -> list[ExportedMetric]:
    told = {
        "lag": ("watermark_lag", "Distance of the watermark behind the newest start"),
        "output_lag": ("output_lag", "Distance of the output's watermark behind the input's"),
        "late_by": ("late_by", "Largest distance of a late row behind the watermark, in the last micro-batch with one"),
    }
    return [
        _gauge(f"{name}_{unit}", text, _axis(attribute, is_time=unit == "seconds"), unit=unit)
        for attribute, (name, text) in told.items()
        for unit in ("seconds", "ticks")
    ]


EXPORTED: Final = (
    _counter("micro_batches", "Micro-batches that ended", lambda metrics: {"": 1}, unit="micro-batches"),
    _counter("micro_batch_seconds", "Duration of micro-batches", _plain("seconds"), unit="seconds"),
    _counter("accepted_rows", "Rows that took effect", _accepted),
    _counter("late_rows", "Rows behind the watermark"),
    _counter("rejected_rows", "Invalid rows"),
    _counter("filtered_rows", "Events that a filter left out"),
    _counter("shed_rows", "Events for which their key had no room"),
    _counter("result_rows", "Rows emitted, retractions included", _plain("results")),
    _counter("retraction_rows", "Rows that retract an earlier result, or end it earlier", _plain("retractions")),
    _counter("early_rows", "Rows whose windows are not final"),
    _counter("evicted_rows", "Rows of the second output"),
    _counter("windows_closed", "Windows of keys, with members, that became final", unit="windows"),
    _counter("keys_forgotten", "Keys of which nothing is kept any more", unit="keys"),
    _counter("state_written_bytes", "State written", _plain("bytes_written"), unit="bytes"),
    _counter("source_rows", "Rows of a source", _source("rows"), "source"),
    _counter("source_late_rows", "Late rows of a source", _source("late"), "source"),
    _counter("stage_seconds", "Time in a stage, over all tasks", _by("stages"), "stage", "seconds"),
    _counter("module_seconds", "Time inside a module, over all tasks", _by("modules"), "module", "seconds"),
    _counter("module_skipped_rows", "Events that a module does not accept", _by("skipped"), "module"),
    _counter("overflow_values", "Values that a result column could not hold", _by("overflows"), "column", "values"),
    _gauge("state_bytes", "Size of the state", unit="bytes"),
    _gauge("keys_held", "Keys with state", unit="keys"),
    _gauge("events_held", "Events in the state", unit="events"),
    _gauge("windows_open", "Windows that have begun and are not complete", unit="windows"),
    _gauge("windows_revisable", "Emitted windows that may still change", unit="windows"),
    _gauge("partitions_held", "Partitions of row windows", unit="windows"),
    *_lengths(),
    _gauge("watermark_clock_lag_seconds", "Distance of the watermark behind the driver's clock",
           lambda metrics: {"": None if (lag := metrics.clock_lag) is None else lag * MICROSECOND}, unit="seconds"),
    _gauge("watermark_timestamp_seconds", "Watermark, since the epoch", _axis("watermark", is_time=True),
           unit="seconds"),
    _gauge("source_watermark_timestamp_seconds", "Watermark of a source, since the epoch", _source_watermark, "source",
           "seconds"),
    _gauge("last_micro_batch_timestamp_seconds", "Start of the last micro-batch, since the epoch",
           lambda metrics: {"": None if metrics.started is None else metrics.started.timestamp()}, unit="seconds"),
)  # fmt: skip
"""All of them."""
