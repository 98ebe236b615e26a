"""The metrics of every query of a session, as they come."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from muntin_engine.monitoring import BatchMetrics, batch_metrics
from muntin_engine.monitoring.alerts import Alert, AlertChanges

LOG: Final = logging.getLogger("muntin.alerts")
"""The logger of alerts."""


class MetricsListener(StreamingQueryListener):
    """Calls a function with the metrics of each micro-batch of each Muntin query in a session.

    Register it with `spark.streams.addListener`. Spark calls it in a thread of its own, some time after the batch; an
    exception in the function is logged and does not stop the query.
    """

    def __init__(self, *take: Callable[[BatchMetrics], None], alerts: Iterable[Alert] = ()) -> None:
        """Listen for some functions.

        Args:
            take: The functions.
            alerts: Conditions that are logged by `muntin.alerts` when they begin to hold, at the level `WARNING`, and
                when they no longer do, at `INFO`.
        """
        self._take, self._changes = take, AlertChanges(alerts)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Pass the metrics of a batch on."""
        for metrics in batch_metrics(event.progress.json).values():
            for take in self._take:
                take(metrics)
            for begins, text in self._changes.take(metrics):
                LOG.log(logging.WARNING if begins else logging.INFO, text)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Do nothing."""
