"""Buckets whose module ends the process in several ways, each in a process of its own."""

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

WAYS: dict[str, Callable[[], object]] = {
    "exit": lambda: os._exit(3),
    "fault": lambda: ctypes.string_at(0),
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
}


class Dying(Aggregate[int, int]):
    name, version = "test.dying", "1.2.3"

    def __init__(self, way: str) -> None:
        self.way = way

    def compute_result(self, payloads: Sequence[int]) -> int:
        return WAYS[self.way]() if 7 in payloads else 1  # type: ignore[return-value]  # it does not return


class DyingParts(IncrementalAggregate[int, int, int]):
    name, version = "test.dying_parts", "1.2.3"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + sum(payloads)

    def combine(self, state: int, other: int) -> int:
        return state + other

    def compute_result(self, state: int) -> int:
        return WAYS["exit"]() if state == 7 else 1  # type: ignore[return-value]  # it does not return


def die(folder: str, way: str) -> None:
    """Evaluate a bucket whose window from 20 on of key `b` ends the process."""
    schema = pa.schema([("key", pa.string()), ("window", TICKS), ("m", pa.int64())])
    settings: dict[str, Any] = {"worker": WorkerSettings(traces_folder=folder), "is_static": True}
    task = sliced(DyingParts(), **settings) if way == "sliced" else task_of(Dying(way), results=schema, **settings)
    ends = {} if task.plan.input.is_point else {"end": [4, 14, 24]}
    batch = rows(start=[3, 13, 23], k0=["a", "b", "b"], i0=[5, 6, 7], **ends)
    list(run_bucket(task, 0, MemoryCells(), bucket_input(task, batch)))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in sys.argv[2:]:
        child = os.fork()
        if not child:
            die(sys.argv[1], name)
            os._exit(0)
        print(name, child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
