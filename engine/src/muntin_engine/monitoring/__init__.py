"""The metrics that streaming queries report: read, explained, shown and exported."""

from muntin_engine.monitoring.live_monitor import monitor
from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics, SourceMetrics
from muntin_engine.monitoring.progress_reading import batch_metrics
from muntin_engine.monitoring.running_queries import RunningQuery, queries

__all__ = ["BatchMetrics", "RunningQuery", "SourceMetrics", "batch_metrics", "monitor", "queries"]
