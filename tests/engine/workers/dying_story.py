"""`python -m tests.engine.workers.dying_story FOLDER WAY ...`: processes that a module ends, each in its way.

Prints a line for each: the way, the id of the process and its exit code.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from muntin import Aggregate, IncrementalAggregate
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from tests.engine.evaluators.arrays.test_array_evaluator import sliced
from tests.engine.wire.payloads import TICKS, bucket_input, rows, task_of

# How a process ends, by the name of the way.
ENDINGS: dict[str, Callable[[], object]] = {
    "exit": lambda: os._exit(3),
    "fault": lambda: ctypes.string_at(0),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
}


class Dying(Aggregate[int, int]):
    """Ends the process in a window that has a payload of 7."""

    name, version = "test.dying", "1.2.3"

    def __init__(self, way: str) -> None:
        self.way = way

    def compute_result(self, payloads: Sequence[int]) -> int:
        return ENDINGS[self.way]() if 7 in payloads else 1  # type: ignore[return-value]  # it does not return


class DyingParts(IncrementalAggregate[int, int, int]):
    """Ends the process in a window whose payloads add up to 7; it runs over slices."""

    name, version = "test.dying_parts", "1.2.3"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def combine(self, state: int, other: int) -> int:
        return state + other

    def compute_result(self, state: int) -> int:
        return ENDINGS["exit"]() if state == 7 else 1  # type: ignore[return-value]  # it does not return


def die(folder: str, way: str) -> None:
    """Evaluate a bucket whose module ends this process in the window [20, 30) of key `b`.

    Args:
        folder: The folder for the traces of workers.
        way: The name of the way in which it ends; `sliced` for a module over slices.
    """
    schema = pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.int64())])
    settings: dict[str, Any] = {"worker": WorkerSettings(traces_folder=folder), "is_static": True}
    if way == "sliced":
        task = sliced(DyingParts(), **settings)  # over point events
        ends = {}
    else:
        task = task_of(Dying(way), results=schema, **settings)
        ends = {"end": [4, 14, 24]}
    batch = rows(start=[3, 13, 23], k0=["a", "b", "b"], i0=[5, 6, 7], **ends)
    list(run_bucket(task, 0, MemoryCells(), bucket_input(task, batch)))


if __name__ == "__main__":
    traces_folder, *ways = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a fault leaves no core file
    for way_of_child in ways:
        pid = os.fork()
        if pid == 0:
            die(traces_folder, way_of_child)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(way_of_child, pid, os.waitstatus_to_exitcode(status), flush=True)
