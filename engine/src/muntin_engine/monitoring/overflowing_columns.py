"""Warnings of result columns that could not hold a value: one per column and run of a streaming query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from muntin_engine.monitoring.micro_batch_metrics import BatchMetrics
from muntin_engine.monitoring.progress_reading import batch_metrics
from muntin_engine.monitoring.spelled_numbers import spell_count
from muntin_engine.plan.metrics import overflow_metric


class OverflowingColumns:
    """Finds the columns that could not hold a value, from the progress of streaming queries."""

    def __init__(self) -> None:
        """Begin without warnings."""
        # For each run, the columns that were warned of, each with the name of its query.
        self._warned_columns: dict[str, set[tuple[str, str]]] = {}

    def warnings_of(self, progress: Mapping[str, Any]) -> Iterator[str]:
        """Yield a warning about each column that overflows for the first time in its run.

        Args:
            progress: The progress of a streaming query, after a micro-batch.
        """
        warned_columns = self._warned_columns.setdefault(str(progress.get("runId")), set())
        for metrics in batch_metrics(progress).values():
            for column, number in metrics.overflows.items():
                if (metrics.query, column) not in warned_columns:
                    warned_columns.add((metrics.query, column))
                    yield _warning(metrics, column, number)

    def end(self, run: str) -> None:
        """Forget the columns of a run, when it has ended."""
        self._warned_columns.pop(run, None)


def _warning(metrics: BatchMetrics, column: str, number: int) -> str:
    """Return the warning that a number of values of a micro-batch were too large for their column."""
    values = "value of the results is" if number == 1 else "values of the results are"
    return (
        f"{metrics.spelled_query}: {spell_count(number)} {values} too large for the column {column!r}, in micro-batch "
        f"{metrics.batch}, and null there (or infinite, in a column of floats)\n"
        f"  the metric {overflow_metric(column)} counts them; the log of the workers has the module, the first value "
        "and its key\n"
        "  to stop instead set spark.muntin.overflow.fail to true"
    )
