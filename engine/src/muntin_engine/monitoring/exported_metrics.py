"""The metrics as monitoring systems name them: counters and gauges, units and labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics

LABELS: Final = ("query", "query_id")
"""The labels of every metric: the name under which a query reports, and the id that Spark gave it."""

MICROSECOND: Final = 1e-6

ReadMetric = Callable[[BatchMetrics], Mapping[str, float | None]]
"""A function from the metrics of a micro-batch to the values of one exported metric.

It returns them by the metric's own label, which is empty if it has none. A value is None where it is unknown.
"""


@dataclass(frozen=True, slots=True)
class ExportedMetric:
    """A metric of monitoring systems.

    Attributes:
        name: The name, with the unit at the end.
        unit: The unit: `seconds`, `bytes`, `ticks`, or the things that are counted.
        text: The meaning, in words for an operator.
        is_counter: True if the metric is a sum over micro-batches; otherwise it is the last known value.
        label: The name of the metric's own label, such as `source`; empty if it has none.
        read: The function that reads its values from the metrics of a micro-batch.
    """

    name: str
    unit: str
    text: str
    is_counter: bool
    label: str
    read: ReadMetric


def _attribute(name: str) -> ReadMetric:
    """Return a function that reads an attribute of `BatchMetrics`."""
    return lambda metrics: {"": getattr(metrics, name)}


def _values_by_label(name: str) -> ReadMetric:
    """Return a function that reads an attribute of `BatchMetrics` with a value for each stage, module or column."""
    return lambda metrics: getattr(metrics, name)


def _source_attribute(name: str) -> ReadMetric:
    """Return a function that reads an attribute of the metrics of each source."""
    return lambda metrics: {source: getattr(values, name) for source, values in metrics.sources.items()}


def _seconds_of(name: str) -> ReadMetric:
    """Return a function that reads a tick or a length in seconds; it is unknown on an axis that is not time."""

    def read(metrics: BatchMetrics) -> Mapping[str, float | None]:
        """Read the attribute, whose unit is a microsecond if the axis is time."""
        value = getattr(metrics, name)
        is_known = value is not None and metrics.is_time
        return {"": value * MICROSECOND if is_known else None}

    return read


def _ticks_of(name: str) -> ReadMetric:
    """Return a function that reads a length in ticks.

    On the axis of time the length is unknown in ticks: `_seconds_of` reads it there.
    """
    return lambda metrics: {"": None if metrics.is_time else getattr(metrics, name)}


def _watermark(metrics: BatchMetrics) -> Mapping[str, float | None]:
    """Read the watermark in seconds; it is unknown after the end of the input, when it is no time."""
    if metrics.is_closed:
        return {"": None}
    return _seconds_of("watermark")(metrics)


def _source_watermark(metrics: BatchMetrics) -> Mapping[str, float | None]:
    """Read the watermark of each source in seconds; there is none on an axis that is not time."""
    if not metrics.is_time:
        return {}
    watermarks: dict[str, float | None] = {}
    for name, source in metrics.sources.items():
        if source.watermark is None or metrics.is_closed:
            watermarks[name] = None
        else:
            watermarks[name] = source.watermark * MICROSECOND
    return watermarks


def _accepted(metrics: BatchMetrics) -> Mapping[str, float]:
    """Read the number of accepted rows, which is at least zero, as a counter cannot go down.

    The metric is below zero if samples that a filter leaves out replace samples that were accepted in earlier batches.
    """
    return {"": max(metrics.accepted, 0)}


def _start_of_batch(metrics: BatchMetrics) -> Mapping[str, float | None]:
    """Read the start of the micro-batch in seconds since the epoch."""
    return {"": None if metrics.started is None else metrics.started.timestamp()}


def _counter(
    name: str, text: str, read: ReadMetric | None = None, label: str = "", unit: str = "rows"
) -> ExportedMetric:
    """Declare a counter.

    Args:
        name: The name, without `muntin_`.
        text: The meaning, in words for an operator.
        read: The function that reads the value; None to read the attribute of the counter's name, without `_rows`.
        label: The name of the label that only this counter has; empty for none.
        unit: The unit.
    """
    read = read or _attribute(name.removesuffix("_rows"))
    return ExportedMetric(f"muntin_{name}", unit, text, is_counter=True, label=label, read=read)


def _gauge(name: str, text: str, read: ReadMetric | None = None, label: str = "", unit: str = "") -> ExportedMetric:
    """Declare a gauge.

    Args:
        name: The name, without `muntin_`.
        text: The meaning, in words for an operator.
        read: The function that reads the value; None to read the attribute of the gauge's name.
        label: The name of the label that only this gauge has; empty for none.
        unit: The unit.
    """
    read = read or _attribute(name)
    return ExportedMetric(f"muntin_{name}", unit, text, is_counter=False, label=label, read=read)


def _length(name: str, text: str, attribute: str) -> tuple[ExportedMetric, ExportedMetric]:
    """Declare two gauges for a length on the axis: in seconds if the axis is time, and in ticks if it is not.

    Args:
        name: The name of both, without the unit.
        text: The meaning, in words for an operator.
        attribute: The attribute of `BatchMetrics` that has the length.
    """
    return (
        _gauge(f"{name}_seconds", text, _seconds_of(attribute), unit="seconds"),
        _gauge(f"{name}_ticks", text, _ticks_of(attribute), unit="ticks"),
    )


_COUNTERS: Final = (
    _counter("micro_batches", "Completed micro-batches", lambda metrics: {"": 1}, unit="micro-batches"),
    _counter("micro_batch_seconds", "Duration of micro-batches", _attribute("seconds"), unit="seconds"),
    _counter("accepted_rows", "Input rows accepted", _accepted),
    _counter("late_rows", "Input rows behind the watermark"),
    _counter("rejected_rows", "Input rows rejected as invalid"),
    _counter("filtered_rows", "Events dropped by a filter of the query"),
    _counter("shed_rows", "Events dropped because their key was at its limit of events"),
    _counter("result_rows", "Rows emitted, retractions included", _attribute("results")),
    _counter("retraction_rows", "Rows emitted that retract or shorten an earlier result", _attribute("retractions")),
    _counter("early_rows", "Rows emitted before their window was final"),
    _counter("evicted_rows", "Rows emitted on the second output, on_evict"),
    _counter("windows_closed", "Windows that became final, counted per key", unit="windows"),
    _counter("keys_forgotten", "Keys dropped from state", unit="keys"),
    _counter("state_written_bytes", "State bytes written", _attribute("bytes_written"), unit="bytes"),
    _counter("source_rows", "Input rows by source", _source_attribute("rows"), "source"),
    _counter("source_late_rows", "Late rows by source", _source_attribute("late"), "source"),
    _counter("stage_seconds", "Time by stage, summed over tasks", _values_by_label("stages"), "stage", "seconds"),
    _counter("module_seconds", "Time by module, summed over tasks", _values_by_label("modules"), "module", "seconds"),
    _counter("module_skipped_rows", "Events that a module skipped because of a null", _values_by_label("skipped"),
             "module"),
    _counter("overflow_values", "Result values too large for their column", _values_by_label("overflows"), "column",
             "values"),
)  # fmt: skip

_GAUGES: Final = (
    _gauge("state_bytes", "State size", unit="bytes"),
    _gauge("keys_held", "Keys in state", unit="keys"),
    _gauge("events_held", "Events in state", unit="events"),
    _gauge("windows_open", "Open windows", unit="windows"),
    _gauge("windows_revisable", "Emitted windows that may still be corrected", unit="windows"),
    _gauge("partitions_held", "Partitions of row windows in state", unit="windows"),
    *_length("watermark_lag", "Lag of the watermark behind the newest event", "lag"),
    *_length("output_lag", "Lag of the output watermark behind the input watermark", "output_lag"),
    *_length("late_by", "Largest lag of a late row behind the watermark, in the last micro-batch with late rows",
             "late_by"),
    _gauge("watermark_clock_lag_seconds", "Lag of the watermark behind the clock of the driver",
           _seconds_of("clock_lag"), unit="seconds"),
    _gauge("watermark_timestamp_seconds", "Watermark, as Unix time", _watermark, unit="seconds"),
    _gauge("source_watermark_timestamp_seconds", "Watermark by source, as Unix time", _source_watermark, "source",
           "seconds"),
    _gauge("last_micro_batch_timestamp_seconds", "Start of the last micro-batch, as Unix time", _start_of_batch,
           unit="seconds"),
)  # fmt: skip

EXPORTED: Final = (*_COUNTERS, *_GAUGES)
"""All exported metrics."""
