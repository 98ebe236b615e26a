"""Pathway: `windowby` with a built-in reducer, in streaming mode.

Each hopping window is emitted once. Sessions take no behavior: each change of one is emitted at once, and the answers
are those that are left at the end.
"""

# mypy: disable-error-code="import-not-found", allow-subclassing-any

from __future__ import annotations

from typing import Any, Final

import pathway as pw

from benchmarks.questions.hopping import Hopping
from benchmarks.questions.question import Question
from benchmarks.questions.sessions import Session
from benchmarks.systems.programs.task import Answers, Task, run_task

SECOND: Final = 1_000_000


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
    behavior = None
    if not isinstance(task.question, Session):
        behavior = pw.temporal.exactly_once_behavior(shift=task.delay * SECOND)
    windows = rows.windowby(pw.this.at, window=window_of(task.question), behavior=behavior, instance=pw.this.key)
    results = windows.reduce(
        key=pw.this._pw_instance, start=pw.this._pw_window_start, value=pw.reducers.avg(pw.this.value)
    )
    live: dict[Any, tuple[int, int, float]] = {}

    def follow(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        """Keep an answer that is added, until it is taken back."""
        answer = (row["key"], row["start"], row["value"])
        if is_addition:
            live[key] = answer
        elif live.get(key) == answer:
            del live[key]

    pw.io.subscribe(results, follow)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    for answer in live.values():
        answers.add(*answer)


def window_of(question: Question) -> Any:
    """Return windows as Pathway has them. Rows of a session are less than its gap apart, so it is a tick longer."""
    if isinstance(question, Session):
        return pw.temporal.session(max_gap=question.gap * SECOND + 1)
    assert isinstance(question, Hopping)
    return pw.temporal.sliding(hop=question.hop * SECOND, duration=question.size * SECOND, origin=0)


if __name__ == "__main__":
    run_task(compute, "pathway")
