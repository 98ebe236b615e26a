"""Bytewax: `fold_window` on an event clock, two worker threads."""

# mypy: disable-error-code="import-not-found", allow-subclassing-any

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax._bytewax import cli_main
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from benchmarks.external.task import EPOCH, Answers, Task, microseconds, run_task

Item = tuple[str, tuple[datetime, float]]
State = tuple[int, float]


class FilesPartition(StatefulSourcePartition[Item, None]):
    """All files, one after the other."""

    def __init__(self, task: Task) -> None:
        self._chunks = task.chunks()

    def next_batch(self) -> list[Item]:
        """Return the next rows."""
        keys, at, values = (column.to_pylist() for column in next(self._chunks).columns)
        return [(str(key), (time, value)) for key, time, value in zip(keys, at, values, strict=True)]

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
        is_average = self._task.aggregate == "average"
        for key, (window, (count, value)) in items:
            start = microseconds(EPOCH) + window * self._task.hop * 1_000_000
            self._answers.add(int(key), start, value / count if is_average else value)


def compute(task: Task, answers: Answers) -> None:
    """Run the dataflow."""
    seconds = {name: timedelta(seconds=getattr(task, name)) for name in ("size", "hop", "delay")}
    windower = win.SlidingWindower(length=seconds["size"], offset=seconds["hop"], align_to=EPOCH)
    clock = win.EventClock(ts_getter=lambda item: item[0], wait_for_system_duration=seconds["delay"])
    is_average = task.aggregate == "average"

    def fold(state: State, item: tuple[datetime, float]) -> State:
        return state[0] + 1, state[1] + item[1] if is_average else max(state[1], item[1])

    def merge(state: State, other: State) -> State:
        return state[0] + other[0], state[1] + other[1] if is_average else max(state[1], other[1])

    def create() -> State:
        return 0, 0.0 if is_average else float("-inf")

    flow = Dataflow("windows")
    rows = op.input("files", flow, Files(task))
    windows = win.fold_window("windows", rows, clock, windower, create, fold, merge, ordered=False)
    op.output("answers", windows.down, Collector(task, answers))
    cli_main(flow, workers_per_process=2)


if __name__ == "__main__":
    run_task(compute, "bytewax")
