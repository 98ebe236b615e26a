"""Bytewax: `fold_window` on an event clock, two worker threads."""

# mypy: disable-error-code="import-not-found", allow-subclassing-any

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax._bytewax import cli_main
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from benchmarks.questions.hopping import Hopping
from benchmarks.questions.question import Question
from benchmarks.questions.sessions import Session
from benchmarks.systems.programs.task import EPOCH, Answers, Task, microseconds, run_task

Item = tuple[str, tuple[datetime, float]]


@dataclass(slots=True)
class State:
    """What is kept of a window: the count and the sum of its members, and their first time."""

    count: int = 0
    total: float = 0.0
    first: datetime | None = None


class FilesPartition(StatefulSourcePartition[Item, None]):
    """All files, one after the other."""

    def __init__(self, task: Task) -> None:
        self._chunks = task.chunks()

    def next_batch(self) -> list[Item]:
        """Return the next rows."""
        key, at, value = (column.to_pylist() for column in next(self._chunks).columns)
        rows = zip(key, at, value, strict=True)
        return [(str(key), (time.replace(tzinfo=UTC), value)) for key, time, value in rows]

    def snapshot(self) -> None:
        """Nothing is resumed."""


class Files(FixedPartitionedSource[Item, None]):
    """The input."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def list_parts(self) -> list[str]:
        """Name the one partition."""
        return ["files"]

    def build_part(self, step_id: str, for_part: str, resume_state: None) -> FilesPartition:
        """Open it."""
        return FilesPartition(self._task)


class Collector(DynamicSink[Any], StatelessSinkPartition[Any]):
    """The output."""

    def __init__(self, question: Question, answers: Answers) -> None:
        self._question = question
        self._answers = answers

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Collector:
        """Return the one collector for all workers: they are threads."""
        return self

    def write_batch(self, items: list[Any]) -> None:
        """Add results to the answers."""
        for key, (number, state) in items:
            if isinstance(self._question, Hopping):
                start = number * self._question.hop * 1_000_000
            else:
                start = microseconds(state.first)  # the number of a session says nothing of its time
            self._answers.add(int(key), start, state.total / state.count)


def fold(state: State, item: tuple[datetime, float]) -> State:
    """Add a row to a window."""
    at, value = item
    state.count += 1
    state.total += value
    if state.first is None or at < state.first:
        state.first = at
    return state


def merge(state: State, other: State) -> State:
    """Add what another part of a window has."""
    state.count += other.count
    state.total += other.total
    state.first = min(filter(None, (state.first, other.first)), default=None)
    return state


def compute(task: Task, answers: Answers) -> None:
    """Run the dataflow."""
    delay = timedelta(seconds=task.delay)
    clock = win.EventClock(ts_getter=lambda item: item[0], wait_for_system_duration=delay)
    flow = Dataflow("windows")
    rows = op.input("files", flow, Files(task))
    windower = windower_of(task.question)
    windows = win.fold_window("windows", rows, clock, windower, State, fold, merge, ordered=False)
    op.output("answers", windows.down, Collector(task.question, answers))
    cli_main(flow, workers_per_process=2)


def windower_of(question: Question) -> Any:
    """Return windows as Bytewax has them. Items exactly the gap apart are in one session."""
    if isinstance(question, Session):
        return win.SessionWindower(gap=timedelta(seconds=question.gap))
    assert isinstance(question, Hopping)
    size = timedelta(seconds=question.size)
    hop = timedelta(seconds=question.hop)
    return win.SlidingWindower(length=size, offset=hop, align_to=EPOCH)


if __name__ == "__main__":
    run_task(compute, "bytewax")
