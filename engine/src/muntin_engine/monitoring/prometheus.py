"""Metrics for Prometheus, by its own client library."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from muntin_engine.monitoring.exported_metrics import EXPORTED, LABELS, ExportedMetric
from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics
from muntin_engine.needed import required_module

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


def prometheus_metrics(registry: CollectorRegistry | None = None) -> Callable[[BatchMetrics], None]:
    """Return a function for `MetricsListener` that keeps the metrics of queries for Prometheus.

    Args:
        registry: The registry of the metrics; by default that of `prometheus_client`, which its
            `start_http_server(port)` serves.

    Raises:
        SetupError: `prometheus-client` is not installed.
        ValueError: The registry has these metrics already.
    """
    client: Any = required_module("prometheus_client", feature="prometheus_metrics()", extra="prometheus")
    if registry is None:
        registry = client.REGISTRY
    collectors: list[tuple[ExportedMetric, Any]] = []
    for metric in EXPORTED:
        labels = [*LABELS, metric.label] if metric.label else LABELS
        collector = client.Counter if metric.is_counter else client.Gauge
        collectors.append((metric, collector(metric.name, metric.text, labels, registry=registry)))

    def export(metrics: BatchMetrics) -> None:
        """Add the counts of a micro-batch to the counters, and set the gauges to its values."""
        query_labels = (metrics.query, metrics.query_id or "")
        for metric, collector in collectors:
            for label, value in metric.read(metrics).items():  # several values if the metric has a label of its own
                if value is None:  # not known in this micro-batch: a gauge keeps its last value
                    continue
                labels = (*query_labels, label) if metric.label else query_labels
                labelled_collector = collector.labels(*labels)
                if metric.is_counter:
                    labelled_collector.inc(value)
                else:
                    labelled_collector.set(value)

    return export
