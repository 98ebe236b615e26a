"""Warnings of late and rejected rows that no sink takes: one per query and minute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from muntin_engine.monitoring.metrics_of_a_batch import BatchMetrics, batch_metrics
from muntin_engine.monitoring.spelling import spell_count, spell_ticks

PAUSE: Final = timedelta(minutes=1)
"""The least time between two warnings of a query about one kind of rows."""

_ADVICE: Final = {
    "late": "to see them: write(..., late_rows='late') or late_rows(); to use them: late_policy='adjust', or "
    "late_policy=correct('1 hour')\n"
    "  to have fewer: a longer delay, and files whose modification times are in the order of their rows",
    "rejected": "to see them, each with its reason: write(..., rejected_rows='rejected') or rejected_rows()",
}


class UnreadWarning(NamedTuple):
    """A warning.

    Attributes:
        kind: `late` or `rejected`.
        message: The text.
    """

    kind: str
    message: str


@dataclass(slots=True)
class _Count:
    """The rows of one kind since the last warning of a query."""

    last: BatchMetrics
    rows: int = 0
    of: int = 0
    late_by: int = 0
    warned: datetime | None = None


class UnreadRows:
    """Counts the late and rejected rows that no sink takes, from the progress of streaming queries."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], _Count] = {}
        self._seen: dict[str, int] = {}

    def take(self, progress: Mapping[str, Any]) -> Iterator[UnreadWarning]:
        """Take in the progress of a micro-batch, and yield the warnings that are due.

        A micro-batch that was seen before changes nothing.
        """
        run, batch = str(progress.get("runId")), int(progress.get("batchId", -1))
        if self._seen.get(run, -1) >= batch:
            return
        self._seen[run] = batch
        for metrics in batch_metrics(progress).values():
            for kind in sorted(metrics.unread):
                count = self._counts.setdefault((run, metrics.query, kind), _Count(metrics))
                count.last = metrics
                count.rows += getattr(metrics, kind)
                count.of += metrics.accepted + metrics.late + metrics.rejected
                count.late_by = max(count.late_by, metrics.late_by or 0)
                at = metrics.started
                if count.rows and (count.warned is None or at is None or at - count.warned >= PAUSE):
                    yield self._warning(kind, count)

    def end(self, run: str) -> Iterator[UnreadWarning]:
        """Yield the warnings of the rest, when a run of a query has ended."""
        self._seen.pop(run, None)
        for name in [name for name in self._counts if name[0] == run]:
            count = self._counts.pop(name)
            if count.rows:
                yield self._warning(name[2], count)

    @staticmethod
    def _warning(kind: str, count: _Count) -> UnreadWarning:
        last = count.last
        is_late = kind == "late" and count.late_by
        by = f", by up to {spell_ticks(count.late_by, is_time=last.is_time)}" if is_late else ""
        rows = f"{spell_count(count.rows)} of {spell_count(count.of)} rows were {kind}{by}"
        message = (
            f"{last.spelled_query}: {rows}, up to micro-batch {last.batch}, and no sink takes them\n  {_ADVICE[kind]}"
        )
        count.rows = count.of = count.late_by = 0
        count.warned = last.started
        return UnreadWarning(kind, message)
