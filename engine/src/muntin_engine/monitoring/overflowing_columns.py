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
        self._warned_columns: dict[str, set[tuple[str, str]]] = {}  # by run, each a query and its column

    def warnings_of(self, progress: Mapping[str, Any]) -> Iterator[str]:
        """Yield a warning of each column that overflows for the first time in this run."""
        warned_columns = self._warned_columns.setdefault(str(progress.get("runId")), set())
        for metrics in batch_metrics(progress).values():
            for column, number in metrics.overflows.items():
                if (metrics.query, column) not in warned_columns:
                    warned_columns.add((metrics.query, column))
                    yield _warning(metrics, column, number)

    def end(self, run: str) -> None:
        """Forget a run of a query, which has ended."""
        self._warned_columns.pop(run, None)


def _warning(metrics: BatchMetrics, column: str, number: int) -> str:
    values = "value of the results is" if number == 1 else "values of the results are"
    return (
        f"{metrics.spelled_query}: {spell_count(number)} {values} too large for the column {column!r}, in micro-batch "
        f"{metrics.batch}, and null there (or infinite, in a column of floats)\n"
        f"  the metric {overflow_metric(column)} counts them; the log of the workers has the module, the first value "
        "and its key\n"
        "  to stop instead set spark.muntin.overflow.fail to true"
    )
