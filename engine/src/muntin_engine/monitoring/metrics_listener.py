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
    """Calls a function with the metrics of each micro-batch of each Muntin query in a session.

    Register it with `spark.streams.addListener`. Spark calls it in a thread of its own, some time after the batch; an
    exception in the function is logged and does not stop the query.
    """

    def __init__(self, *take: Callable[[BatchMetrics], None], alerts: Iterable[Alert] = ()) -> None:
        """Choose the functions and the alerts.

        Args:
            take: The functions.
            alerts: Conditions that are logged by `muntin.alerts` when they begin to hold, at the level `WARNING`, and
                when they no longer do, at `INFO`.
        """
        self._take = take
        self._changes = AlertChanges(alerts)

    def take_progress(self, progress: str) -> None:
        """Pass the metrics of a batch on."""
        for metrics in batch_metrics(progress).values():
            for take in self._take:
                take(metrics)
            for change in self._changes.changes_of(metrics):
                LOG.log(logging.WARNING if change.is_exceeded else logging.INFO, change.message)
