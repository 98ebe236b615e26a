"""Metrics for Prometheus, by its own client library."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from muntin_engine.monitoring.exported import EXPORTED, LABELS, ExportedMetric
from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics
from muntin_engine.needed import needed

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


def prometheus_metrics(registry: CollectorRegistry | None = None) -> Callable[[BatchMetrics], None]:
    """Return a function for `MetricsListener` that keeps the metrics of queries for Prometheus.

    Args:
        registry: Where the metrics are registered; by default that of `prometheus_client`, which its
            `start_http_server(port)` serves.

    Raises:
        SetupError: `prometheus-client` is not installed.
        ValueError: The registry has these metrics already.
    """
    client: Any = needed("prometheus_client", "prometheus_metrics()", "prometheus")
    into = client.REGISTRY if registry is None else registry

    def make(metric: ExportedMetric) -> Any:
        labels = [*LABELS, *([metric.label] if metric.label else [])]
        kind = client.Counter if metric.is_counter else client.Gauge
        return kind(metric.name, metric.text, labels, registry=into)

    made = [(metric, make(metric)) for metric in EXPORTED]

    def take(metrics: BatchMetrics) -> None:
        for metric, one in made:
            for label, value in metric.read(metrics).items():
                if value is not None:
                    labelled = one.labels(metrics.query, metrics.query_id or "", *([label] if metric.label else []))
                    (labelled.inc if metric.is_counter else labelled.set)(value)

    return take
