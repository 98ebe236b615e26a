"""The metrics that streaming queries report: read, kept and shown."""

from muntin_engine.monitoring.history import History
from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics, SourceMetrics, batch_metrics
from muntin_engine.monitoring.running import RunningQuery, queries
from muntin_engine.monitoring.watching import monitor

__all__ = ["BatchMetrics", "History", "RunningQuery", "SourceMetrics", "batch_metrics", "monitor", "queries"]
