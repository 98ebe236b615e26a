"""`python -m benchmarks.paths`: the engine's files and functions that a query passes through, planned and run.

A change of file is a call whose caller, the nearest function of the engine, is in another file. What a process works
out once is left out: the second query is counted, and the fourth row of a query that runs.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Final

import pyarrow as pa

import muntin_engine
from benchmarks.session import end_session, spark_session, start_session
from muntin import tumbling
from muntin_engine import events, module
from muntin_engine.backends.spark.dataframes.pipeline import task_of
from muntin_engine.state.cells import MemoryCells
from muntin_engine.tasks.bucket_task import run_bucket
from muntin_engine.tasks.map_task import distribute
from muntin_engine.wire.shuffle import collect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin_engine.api.query import Query

EVALUATORS: Final = ("columnar", "sliced", "grouped", "general")
_ENGINE: Final = f"{Path(muntin_engine.__file__).parent}/"


@dataclass
class Trace:
    """The calls of the engine's functions while something runs.

    Attributes:
        functions: The number of calls of each function, in the order of the first calls.
        changes: The number of calls from a function of one file to a function of another one, by these files.
    """

    functions: Counter[CodeType] = field(default_factory=Counter)
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    _seen: set[FrameType] = field(default_factory=set)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Note a call; for `sys.setprofile`, which tells also of a generator that goes on."""
        code = frame.f_code
        if event != "call" or not _is_function(code) or frame in self._seen:
            return
        self._seen.add(frame)
        self.functions[code] += 1
        caller = frame.f_back
        while caller is not None and not _is_function(caller.f_code):
            caller = caller.f_back
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            self.changes[caller.f_code.co_filename, code.co_filename] += 1

    @property
    def files(self) -> Counter[str]:
        """The files, and how often functions of each were called."""
        files = Counter[str]()
        for code, calls in self.functions.items():
            files[code.co_filename.removeprefix(_ENGINE)] += calls
        return files


def _is_function(code: CodeType) -> bool:
    """Return True of a function of the engine; a comprehension is a part of one."""
    return code.co_filename.startswith(_ENGINE) and not code.co_name.startswith("<")


@contextmanager
def traced() -> Iterator[Trace]:
    """Trace what this thread calls."""
    trace = Trace()
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        sys.setprofile(None)


def planned(stream: DataFrame, evaluator: str = "auto") -> Query:
    """Return the average of each minute of a stream."""
    rows = events(stream, key="key", at="at", watermark="0 seconds", buckets=1)
    return rows.window(tumbling("1 minute"), evaluator=evaluator).aggregate(mean=module("stats.average", "value"))


def row_traced(query: Query) -> Trace:
    """Trace a row that closes a window, from the map side to the results, in this process."""
    task = task_of(query)
    cells = MemoryCells()
    for minute in range(4):
        values = {"start": datetime(2026, 1, 1, 0, minute, tzinfo=UTC), "k0": "a", "i0": float(minute)}
        rows = pa.RecordBatch.from_pylist([{name: values[name] for name in query.source.df.columns}])
        with traced() as trace:
            map_output = [batch.to_pylist() for batch in distribute(task, [rows])]
            inputs = collect(chain.from_iterable(map_output))
            output = list(run_bucket(task, task.buckets[0], cells, inputs))
    assert [blob.rows for blob in output if blob.stream == "results"] == [1]
    return trace


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for a plan, one for a plan with its DataFrame of results, and one for a row with each evaluator."""
    parser = argparse.ArgumentParser(prog="benchmarks.paths", description=sys.modules[__name__].__doc__)
    parser.add_argument("--files", action="store_true", help="name the files too, with the number of calls")
    shows_files = parser.parse_args(arguments).files
    start_session(Path("build/bench/paths.log"))
    rate = spark_session().readStream.format("rate").load()
    stream = rate.selectExpr("'a' AS key", "timestamp AS at", "double(value) AS value")
    planned(stream).results()
    with traced() as of_plan:
        planned(stream)
    with traced() as of_results:
        planned(stream).results()
    traces = {"planned": of_plan, "results": of_results}
    traces |= {name: row_traced(planned(stream, name)) for name in EVALUATORS}
    end_session()
    sys.stdout.write(f"{'':10}{'files':>6}{'functions':>11}{'changes of file':>17}\n")
    for name, trace in traces.items():
        sys.stdout.write(f"{name:10}{len(trace.files):6}{len(trace.functions):11}{trace.changes.total():17}\n")
        sys.stdout.writelines(f"  {calls:4} {file}\n" for file, calls in trace.files.items() if shows_files)


if __name__ == "__main__":
    main()
