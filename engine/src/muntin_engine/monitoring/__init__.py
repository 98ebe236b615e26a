"""The metrics that streaming queries report: read, explained, shown and exported."""

from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics, SourceMetrics, batch_metrics
from muntin_engine.monitoring.running import RunningQuery, queries
from muntin_engine.monitoring.watching import monitor

__all__ = ["BatchMetrics", "RunningQuery", "SourceMetrics", "batch_metrics", "monitor", "queries"]
