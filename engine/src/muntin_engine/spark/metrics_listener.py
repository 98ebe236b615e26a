"""The metrics of every query of a session, as they come."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from muntin_engine.monitoring import BatchMetrics, batch_metrics


class MetricsListener(StreamingQueryListener):
    """Calls a function with the metrics of each micro-batch of each Muntin query in a session.

    Register it with `spark.streams.addListener`. Spark calls it in a thread of its own, some time after the batch; an
    exception in the function is logged and does not stop the query.
    """

    def __init__(self, take: Callable[[BatchMetrics], None]) -> None:
        """Listen for a function."""
        self._take = take

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Pass the metrics of a batch on."""
        for metrics in batch_metrics(event.progress.json).values():
            self._take(metrics)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing."""
