"""A listener that hands the metrics of every query of a session to functions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final

from muntin_engine.backends.spark.session.progress_listener import ProgressListener
from muntin_engine.monitoring.alerts import Alert, AlertChanges
from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics
from muntin_engine.monitoring.progress_reading import batch_metrics

LOG: Final = logging.getLogger("muntin.alerts")
"""The logger of alerts."""


class MetricsListener(ProgressListener):
    """Calls functions with the metrics of each micro-batch of each Muntin query in a session.

    Register it with `spark.streams.addListener`. Spark calls it in a thread of its own, some time after the batch; an
    exception in a function is logged and does not stop the query.
    """

    def __init__(self, *receivers: Callable[[BatchMetrics], None], alerts: Iterable[Alert] = ()) -> None:
        """Choose the functions and the alerts.

        Args:
            receivers: The functions, each of which gets the metrics of a micro-batch.
            alerts: Conditions that are logged by `muntin.alerts` when they begin to hold, at the level `WARNING`, and
                when they no longer do, at `INFO`.
        """
        self._receivers = receivers
        self._changes = AlertChanges(alerts)

    def take_progress(self, progress: str) -> None:
        """Hand the metrics of a micro-batch to the functions, and log the alerts that change with it.

        Args:
            progress: The progress of a streaming query as JSON.
        """
        for metrics in batch_metrics(progress).values():
            for receiver in self._receivers:
                receiver(metrics)
            for change in self._changes.changes_of(metrics):
                level = logging.WARNING if change.is_exceeded else logging.INFO
                LOG.log(level, change.message)
