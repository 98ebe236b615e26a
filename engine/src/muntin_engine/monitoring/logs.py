"""Logs for machines: JSON lines of our loggers, and a line for each micro-batch."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics

LOG: Final = logging.getLogger("muntin.metrics")
"""The logger of micro-batches, at the level `INFO`."""

METRICS_OF: Final = "muntin_metrics"
"""The attribute of a record of the log that has metrics."""


class JsonFormatter(logging.Formatter):
    """Formats records of the log as a JSON object each, in one line.

    It has `time` (UTC), `level`, `logger` and `message`; of a micro-batch also its metrics, and of an error
    `exception`.

    Example:
        >>> record = logging.LogRecord("muntin.late", logging.WARNING, "", 0, "%s rows", (3,), None)
        >>> record.created = 0.0
        >>> JsonFormatter().format(record)
        '{"time": "1970-01-01T00:00:00.000Z", "level": "WARNING", "logger": "muntin.late", "message": "3 rows"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told: dict[str, Any] = {"time": at, "level": record.levelname, "logger": record.name}
        told["message"] = record.getMessage()
        told |= getattr(record, METRICS_OF, {})
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False, default=str)


def log_metrics(logger: logging.Logger = LOG) -> Callable[[BatchMetrics], None]:
    """Return a function for `MetricsListener` that logs a line for each micro-batch, with its metrics.

    Args:
        logger: Where it logs, at the level `INFO`; `muntin.metrics` by default.
    """

    def take(metrics: BatchMetrics) -> None:
        told = {name: value for name, value in asdict(metrics).items() if value is not None and value != {}}
        told["unread"] = sorted(metrics.unread)
        text = (
            f"{metrics.spelled_query}: micro-batch {metrics.batch}, {metrics.accepted} rows, {metrics.results} results"
        )
        logger.info(text, extra={METRICS_OF: told})

    return take
