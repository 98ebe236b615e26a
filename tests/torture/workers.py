"""Modules that break the worker that they run in."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from random import Random
from typing import Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from muntin import tumbling
from muntin_engine import events, module
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.workers.traces import read_traces
from muntin_engine.workers.traces_folder import traces_folder
from tests.journeys.running import collect, run, stream_of
from tests.torture.kind import Figures
from tests.torture.session import session
from tests.torture.worker_faults import FAULTS, HostileWorker

BATCH: Final = pa.table({"key": ["a", "b", "b", "a"], "at": [1, 22, 3, 50], "payload": [3, 7, 4, 5]})
NAMED: Final = ("torture.worker 6.6.6", "key: ('b',)", "window: [20, 30)")


def hostile_workers(seed: int, folder: Path) -> Figures:
    """Break a worker out of a window: either the results are right, or the error names the module.

    The general evaluator goes on with another key only when the worker still answers, so it names key and window too.
    Others call the module for all keys, and some faults show only after the last one.
    """
    random = Random(seed)
    fault = random.choice(list(FAULTS))
    evaluator = random.choice(("auto", "general"))
    return break_worker(fault, folder, evaluator, is_static=random.random() < 0.3)


def break_worker(fault: str, folder: Path, evaluator: str, *, is_static: bool = False) -> Figures:
    """Run a query whose module has a fault, over a stream or a table."""
    spark = session()
    stream = stream_of(spark, folder / "stream", [BATCH])
    df = spark.read.parquet(str(folder / "stream")) if is_static else stream
    windows = events(df, key="key", at="at", watermark=None if is_static else 0, buckets=1).window(
        tumbling(10), evaluator=evaluator
    )
    results = windows.aggregate(out=module(HostileWorker, "payload", source=FAULTS[fault])).results()
    try:
        rows = collect(results) if is_static else run(results, folder / "checkpoint").rows
        _end_workers()  # the harm that a fault did to later tasks is not of this trial
    except (PySparkException, Py4JError) as error:
        message = root_cause(error)
        names = NAMED if evaluator == "general" else NAMED[:1]
        missing_names = [name for name in names if name not in message]
        assert not missing_names, f"{fault}: {missing_names} are not in {message}"
        return {"modules": 1, "named": 1}
    expected = [("a", 1), ("b", 1), ("b", 1)] + [("a", 1)] * is_static
    assert sorted((row["key"], row["out"]) for row in rows) == sorted(expected), f"{fault}: {rows}"
    return {"modules": 1, "right all the same": 1}


def _end_workers() -> None:
    for worker in read_traces(Path(traces_folder())):
        if worker.is_alive:
            os.kill(worker.pid, signal.SIGKILL)
