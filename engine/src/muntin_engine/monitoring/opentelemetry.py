"""Metrics for OpenTelemetry, by its API: they go wherever the program's meter provider sends them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from muntin_engine.monitoring.exported_metrics import EXPORTED, LABELS, ExportedMetric
from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics
from muntin_engine.needed import required_module

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider

_UNITS: Final = {"seconds": "s", "bytes": "By"}
"""The units in the Unified Code for Units of Measure, which OpenTelemetry asks for.

All other units name things that are counted, and are written in braces.
"""


def opentelemetry_metrics(provider: MeterProvider | None = None) -> Callable[[BatchMetrics], None]:
    """Return a function for `MetricsListener` that hands the metrics of queries to OpenTelemetry.

    Args:
        provider: The maker of the meter; by default the program's own, as `opentelemetry.metrics.set_meter_provider`
            set it.

    Raises:
        SetupError: `opentelemetry-api` is not installed.
    """
    api: Any = required_module("opentelemetry.metrics", feature="opentelemetry_metrics()", extra="opentelemetry")
    meter = api.get_meter("muntin", version("muntin-engine"), meter_provider=provider)

    instruments: list[tuple[ExportedMetric, Any]] = []
    for metric in EXPORTED:
        create = meter.create_counter if metric.is_counter else meter.create_gauge
        unit = _UNITS.get(metric.unit, "{" + metric.unit + "}")  # braces for the name of things that are counted
        instruments.append((metric, create(otel_name(metric), unit=unit, description=metric.text)))

    def export(metrics: BatchMetrics) -> None:
        """Add the counts of a micro-batch to the counters, and set the gauges to its values."""
        query_labels = dict(zip(LABELS, (metrics.query, metrics.query_id or ""), strict=True))
        for metric, instrument in instruments:
            for label, value in metric.read(metrics).items():  # several values if the metric has a label of its own
                if value is None:  # not known in this micro-batch: a gauge keeps its last value
                    continue
                attributes = {**query_labels, metric.label: label} if metric.label else query_labels
                if metric.is_counter:
                    instrument.add(value, attributes)
                else:
                    instrument.set(value, attributes)

    return export


def otel_name(metric: ExportedMetric) -> str:
    """Return the name of a metric in OpenTelemetry, where a unit of measure is no part of the name.

    Example:
        >>> [otel_name(metric) for metric in EXPORTED if metric.unit == "bytes"]
        ['muntin.state_written', 'muntin.state']
    """
    name = metric.name.replace("muntin_", "muntin.", 1)
    if metric.unit not in _UNITS:
        return name
    name_without_unit = name.removesuffix(f"_{metric.unit}")
    if metric.is_counter and metric.unit == "seconds":
        return f"{name_without_unit}_time"  # `muntin.module` alone would seem to count modules
    return name_without_unit
