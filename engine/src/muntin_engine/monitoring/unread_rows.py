"""Warnings about late and rejected rows that no sink takes: at most one per query, kind of rows and minute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics
from muntin_engine.monitoring.progress_reading import batch_metrics
from muntin_engine.monitoring.spelled_numbers import spell_count, spell_ticks

PAUSE: Final = timedelta(minutes=1)
"""The least time between two warnings of a query about one kind of rows."""

_ADVICE: Final = {
    "late": "to see them: write(..., late_rows='late') or late_rows(); to use them: late_policy='adjust', or "
    "late_policy=correct('1 hour')\n"
    "  to have fewer: a longer delay, and files whose modification times are in the order of their rows",
    "rejected": "to see them, each with its reason: write(..., rejected_rows='rejected') or rejected_rows()",
}


class UnreadWarning(NamedTuple):
    """A warning about rows that no sink takes.

    Attributes:
        kind: The kind of the rows, `late` or `rejected`.
        message: The text of the warning.
    """

    kind: str
    message: str


@dataclass(slots=True)
class _Count:
    """The count of a query's rows of one kind since the last warning about them.

    Attributes:
        last: The last micro-batch of the query.
        rows: The number of rows of the kind.
        all_rows: The number of all rows.
        late_by: The largest lateness in ticks.
        warned_at: The start of the micro-batch of the last warning; None before the first.
    """

    last: BatchMetrics
    rows: int = 0
    all_rows: int = 0
    late_by: int = 0
    warned_at: datetime | None = None

    def add(self, metrics: BatchMetrics, kind: str) -> None:
        """Add the rows of a micro-batch.

        Args:
            metrics: The metrics of the micro-batch.
            kind: The kind of the rows, `late` or `rejected`.
        """
        self.last = metrics
        self.rows += getattr(metrics, kind)
        self.all_rows += metrics.accepted + metrics.late + metrics.rejected
        self.late_by = max(self.late_by, metrics.late_by or 0)

    @property
    def is_due(self) -> bool:
        """True if there are rows to warn about, and the last warning was at least a minute before."""
        if not self.rows:
            return False
        if self.warned_at is None or self.last.started is None:
            return True
        return self.last.started - self.warned_at >= PAUSE


class UnreadRows:
    """Counts the late and rejected rows that no sink takes, from the progress of streaming queries."""

    def __init__(self) -> None:
        """Begin without any counts."""
        self._counts: dict[tuple[str, str, str], _Count] = {}  # by run, query and kind
        self._last_batches: dict[str, int] = {}  # the number of the last micro-batch, by run

    def warnings_of(self, progress: Mapping[str, Any]) -> Iterator[UnreadWarning]:
        """Count the rows of a micro-batch, and yield the warnings that are due.

        A micro-batch that was counted before changes nothing.
        """
        run = str(progress.get("runId"))
        batch = int(progress.get("batchId", -1))
        if self._last_batches.get(run, -1) >= batch:
            return
        self._last_batches[run] = batch
        for metrics in batch_metrics(progress).values():
            for kind in sorted(metrics.unread):
                count = self._counts.setdefault((run, metrics.query, kind), _Count(metrics))
                count.add(metrics, kind)
                if count.is_due:
                    self._counts[run, metrics.query, kind] = _Count(metrics, warned_at=metrics.started)
                    yield _warning(kind, count)

    def end(self, run: str) -> Iterator[UnreadWarning]:
        """Yield warnings about the rows since the last warnings, when a run of a query has ended."""
        self._last_batches.pop(run, None)
        for name in list(self._counts):
            run_of_count, _query, kind = name
            if run_of_count != run:
                continue
            count = self._counts.pop(name)
            if count.rows:
                yield _warning(kind, count)


def _warning(kind: str, count: _Count) -> UnreadWarning:
    """Return the warning about rows of a kind, with advice."""
    last = count.last
    rows = f"{spell_count(count.rows)} of {spell_count(count.all_rows)} rows were {kind}"
    if kind == "late" and count.late_by:
        rows += f", by up to {spell_ticks(count.late_by, is_time=last.is_time)}"
    where = f"up to micro-batch {last.batch}"
    return UnreadWarning(kind, f"{last.spelled_query}: {rows}, {where}, and no sink takes them\n  {_ADVICE[kind]}")
