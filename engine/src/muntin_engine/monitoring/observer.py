"""Warnings in the log about every query, and the description of a query that a notebook shows."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from muntin_engine.backends.observed_queries import QueryObserver
from muntin_engine.monitoring.overflowing_columns import OverflowingColumns
from muntin_engine.monitoring.recent_batches import recent_batches
from muntin_engine.monitoring.running_queries import running_query, status_of
from muntin_engine.monitoring.unread_rows import UnreadRows, UnreadWarning

LOGS: Final = {kind: logging.getLogger(f"muntin.{kind}") for kind in ("late", "rejected")}
"""The loggers of warnings of rows that no sink takes, by side output."""

LOG_OF_OVERFLOWS: Final = logging.getLogger("muntin.overflows")
"""The logger of the warnings of columns that could not hold a value."""


class Warner(QueryObserver):
    """Warns of rows that no sink takes and of values that no column holds, and describes queries."""

    def __init__(self) -> None:
        self._unread_rows = UnreadRows()
        self._overflows = OverflowingColumns()

    def on_progress(self, progress: Mapping[str, Any]) -> None:
        """Count the rows and the overflows of a micro-batch, and warn of them where a warning is due."""
        _log_unread(self._unread_rows.warnings_of(progress))
        for warning in self._overflows.warnings_of(progress):
            LOG_OF_OVERFLOWS.warning("%s", warning)

    def on_end(self, run: str) -> None:
        """Warn of the rows since the last warning, when a run ends."""
        _log_unread(self._unread_rows.end(run))
        self._overflows.end(run)

    def describe(self, query: Any, *, is_active: bool) -> Sequence[str]:
        """Return the queries in a query of Spark's as `queries` prints them, and whether it runs."""
        reported = recent_batches(query)
        texts = [str(running_query(query, batches)) for batches in reported.values()]
        return [*texts, status_of(query, reported, is_active=is_active)]


def _log_unread(warnings: Iterable[UnreadWarning]) -> None:
    for warning in warnings:
        LOGS[warning.kind].warning(warning.message)
