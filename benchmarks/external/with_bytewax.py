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

from benchmarks.external.task import EPOCH, Answers, Task, microseconds, run_task
from benchmarks.windows import Hopping, Session, Windows

Item = tuple[str, tuple[datetime, float]]


@dataclass(slots=True)
class State:
    """What is kept of a window: the count of its members, the sum or the maximum of their values, the first time."""

    count: int
    value: float
    first: datetime | None = None


class FilesPartition(StatefulSourcePartition[Item, None]):
    """All files, one after the other."""

    def __init__(self, task: Task) -> None:
        self._chunks = task.chunks()

    def next_batch(self) -> list[Item]:
        """Return the next rows."""
        keys, at, values = (column.to_pylist() for column in next(self._chunks).columns)
        return [
            (str(key), (time.replace(tzinfo=UTC), value)) for key, time, value in zip(keys, at, values, strict=True)
        ]

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

    def __init__(self, task: Task, answers: Answers) -> None:
        self._task, self._answers = task, answers

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Collector:
        """Return the one collector for all workers: they are threads."""
        return self

    def write_batch(self, items: list[Any]) -> None:
        """Take some results."""
        windows, is_average = self._task.question.windows, self._task.question.aggregate == "average"
        for key, (number, state) in items:
            # the number of a session says nothing of its time
            start = number * windows.hop * 1_000_000 if isinstance(windows, Hopping) else microseconds(state.first)
            self._answers.add(int(key), start, state.value / state.count if is_average else state.value)


def compute(task: Task, answers: Answers) -> None:
    """Run the dataflow."""
    delay = timedelta(seconds=task.question.delay)
    clock = win.EventClock(ts_getter=lambda item: item[0], wait_for_system_duration=delay)
    is_average = task.question.aggregate == "average"
    is_session = isinstance(task.question.windows, Session)

    def fold(state: State, item: tuple[datetime, float]) -> State:
        state.count += 1
        state.value = state.value + item[1] if is_average else max(state.value, item[1])
        if is_session and (state.first is None or item[0] < state.first):
            state.first = item[0]
        return state

    def merge(state: State, other: State) -> State:
        state.count += other.count
        state.value = state.value + other.value if is_average else max(state.value, other.value)
        state.first = min(filter(None, (state.first, other.first)), default=None)
        return state

    def create() -> State:
        return State(0, 0.0 if is_average else float("-inf"))

    flow = Dataflow("windows")
    rows = op.input("files", flow, Files(task))
    windower = windower_of(task.question.windows)
    windows = win.fold_window("windows", rows, clock, windower, create, fold, merge, ordered=False)
    op.output("answers", windows.down, Collector(task, answers))
    cli_main(flow, workers_per_process=2)


def windower_of(windows: Windows) -> Any:
    """Return windows as Bytewax has them. Items exactly the gap apart are in one session."""
    if isinstance(windows, Session):
        return win.SessionWindower(gap=timedelta(seconds=windows.gap))
    assert isinstance(windows, Hopping)
    size, hop = timedelta(seconds=windows.size), timedelta(seconds=windows.hop)
    return win.SlidingWindower(length=size, offset=hop, align_to=EPOCH)


if __name__ == "__main__":
    run_task(compute, "bytewax")
