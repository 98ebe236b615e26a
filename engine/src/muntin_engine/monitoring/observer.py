"""Warnings in the log about every query, and the description of a query that a notebook shows."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from muntin_engine.backends.observed_queries import QueryObserver
from muntin_engine.monitoring.notebook_panels import html_of
from muntin_engine.monitoring.overflowing_columns import OverflowingColumns
from muntin_engine.monitoring.unread_rows import UnreadRows, UnreadWarning

LOGS: Final = {kind: logging.getLogger(f"muntin.{kind}") for kind in ("late", "rejected")}
"""The loggers of warnings about rows that no sink takes, by side output."""

LOG_OF_OVERFLOWS: Final = logging.getLogger("muntin.overflows")
"""The logger of warnings about columns that could not hold a value."""


class Warner(QueryObserver):
    """Warns of rows that no sink takes and of values that no column holds, and shows queries in notebooks."""

    def __init__(self) -> None:
        """Begin without any counts."""
        self._unread_rows = UnreadRows()
        self._overflows = OverflowingColumns()

    def on_progress(self, progress: Mapping[str, Any]) -> None:
        """Count the rows and the overflows of a micro-batch, and log the warnings that are due."""
        _log_unread(self._unread_rows.warnings_of(progress))
        for warning in self._overflows.warnings_of(progress):
            LOG_OF_OVERFLOWS.warning("%s", warning)

    def on_end(self, run: str) -> None:
        """Log a warning about the rows since the last warning, when a run ends."""
        _log_unread(self._unread_rows.end(run))
        self._overflows.end(run)

    def html(self, query: Any, *, is_active: bool) -> str:
        """Return a query of Spark's as HTML: the Muntin queries in it with their last micro-batches."""
        return html_of(query, is_active=is_active)


def _log_unread(warnings: Iterable[UnreadWarning]) -> None:
    """Log warnings about rows that no sink takes, each by the logger of its side output."""
    for warning in warnings:
        LOGS[warning.kind].warning(warning.message)
