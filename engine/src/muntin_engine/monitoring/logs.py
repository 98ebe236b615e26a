"""Logs that programs read: records as lines of JSON, and a record for each micro-batch."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics

LOG: Final = logging.getLogger("muntin.metrics")
"""The logger of micro-batches, at the level `INFO`."""

METRICS_OF: Final = "muntin_metrics"
"""The attribute of a log record that has the metrics of a micro-batch."""


class JsonFormatter(logging.Formatter):
    """Formats each record of a log as a JSON object in one line.

    The object has `time` (UTC), `level`, `logger` and `message`. The record of a micro-batch also has its metrics, and
    that of an error has `exception`.

    Example:
        >>> record = logging.LogRecord("muntin.late", logging.WARNING, "", 0, "%s rows", (3,), None)
        >>> record.created = 0.0
        >>> JsonFormatter().format(record)
        '{"time": "1970-01-01T00:00:00.000Z", "level": "WARNING", "logger": "muntin.late", "message": "3 rows"}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line of JSON."""
        created = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "time": created.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= getattr(record, METRICS_OF, {})  # records of `log_metrics` have metrics
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_metrics(logger: logging.Logger = LOG) -> Callable[[BatchMetrics], None]:
    """Return a function for `MetricsListener` that logs a line for each micro-batch, with its metrics.

    Args:
        logger: The logger, at the level `INFO`; `muntin.metrics` by default.
    """

    def log(metrics: BatchMetrics) -> None:
        """Log a line for a micro-batch, without metrics that are unknown or empty."""
        known_metrics: dict[str, Any] = {}
        for name, value in asdict(metrics).items():
            if value is not None and value != {}:
                known_metrics[name] = value
        known_metrics["unread"] = sorted(metrics.unread)  # JSON has no sets
        counts = f"{metrics.accepted} rows, {metrics.results} results"
        message = f"{metrics.spelled_query}: micro-batch {metrics.batch}, {counts}"
        logger.info(message, extra={METRICS_OF: known_metrics})

    return log
