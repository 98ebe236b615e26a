"""Pathway: `windowby` with built-in reducers, in streaming mode; each window is emitted once."""

# mypy: disable-error-code="import-not-found", allow-subclassing-any

from __future__ import annotations

from typing import Any

import pathway as pw

from benchmarks.external.task import Answers, Task, run_task


class Row(pw.Schema):
    """A row of the input; `at` in microseconds since the epoch."""

    key: int
    at: int
    value: float


class Files(pw.io.python.ConnectorSubject):
    """The input."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._task = task

    def run(self) -> None:
        """Hand over the rows, portion by portion."""
        for chunk in self._task.chunks():
            columns = (chunk.column(0), chunk.column(1).cast("int64"), chunk.column(2))
            for key, time, value in zip(*(column.to_pylist() for column in columns), strict=True):
                self.next(key=key, at=time, value=value)
            self.commit()


def compute(task: Task, answers: Answers) -> None:
    """Run the graph."""
    rows = pw.io.python.read(Files(task), schema=Row, autocommit_duration_ms=None)
    second = 1_000_000
    reduce = pw.reducers.avg if task.aggregate == "average" else pw.reducers.max
    results = rows.windowby(
        pw.this.at,
        window=pw.temporal.sliding(hop=task.hop * second, duration=task.size * second, origin=0),
        behavior=pw.temporal.exactly_once_behavior(shift=task.delay * second),
        instance=pw.this.key,
    ).reduce(key=pw.this._pw_instance, start=pw.this._pw_window_start, value=reduce(pw.this.value))

    def take(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        answers.add(row["key"], row["start"], row["value"])

    pw.io.subscribe(results, take)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)


if __name__ == "__main__":
    run_task(compute, "pathway")
