"""Libraries that answer over a table in memory: Muntin without Spark, Polars, DuckDB and pandas.

Each runs in a process of its own, on one processor. The table is in memory in the order of its times, in the form that
the library likes best; making it is not measured. Seconds are of processor time.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import Files
from benchmarks.measurement import Run
from benchmarks.questions.kinds import to_data
from benchmarks.questions.question import ANSWERS, Question
from benchmarks.systems.program import running, watched_run
from benchmarks.systems.system import System

_LONGEST_ANSWER: Final = 300


class TableProgram(System):
    """A library that `benchmarks.systems.programs.with_<package>` runs.

    Args:
        name: The name of the system.
        package: The package of the library.
        way: The aggregate, or the function of the library, by which it answers.
    """

    def __init__(self, name: str, package: str, way: str) -> None:
        self.name = name
        self._package = package
        self._way = way
        self._version = ""

    @property
    def missing(self) -> str | None:
        """The reason why the library cannot run here."""
        return None if find_spec(self._package) is not None else f"{self._package} is not installed"

    @property
    def note(self) -> str | None:
        """A note that seconds are of one processor."""
        return f"{self._version}, a table in memory, one processor, by processor time"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the program."""
        watched = watched_run(sys.executable, self._module, self._arguments(question, files), limit)
        self._version = watched.report.get("version", self._version)
        run = watched.run
        return run if run.is_cut else replace(run, cpu_seconds=run.seconds)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run the program and read the answers that it writes."""
        with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
            path = Path(folder) / "answers.parquet"
            arguments = [*self._arguments(question, files), "--answers", str(path)]
            with running(sys.executable, self._module, arguments) as program:
                program.process.wait(_LONGEST_ANSWER)
                program.result()
            return pq.read_table(path).select(ANSWERS.names).cast(ANSWERS)

    @property
    def _module(self) -> str:
        return f"benchmarks.systems.programs.with_{self._package.removesuffix('_engine')}"

    def _arguments(self, question: Question, files: Files) -> list[str]:
        paths = [str(path.absolute()) for path in files.paths]
        return [*paths, "--question", json.dumps(to_data(question)), "--way", self._way]


class WorkersProgram(System):
    """Muntin without Spark over Parquet files, on as many processors as it has workers, by the clock on the wall.

    Args:
        workers: The number of workers.
    """

    def __init__(self, workers: int) -> None:
        self.name = f"muntin local, {workers} worker{'s' if workers > 1 else ''}"
        self._workers = workers

    @property
    def missing(self) -> str | None:
        """The reason why it cannot run here."""
        from benchmarks.systems.programs.with_muntin import workers_of

        if self._workers > 1 and not workers_of(self._workers):
            return "queries in this process have no workers"
        if not hasattr(os, "sched_getaffinity"):
            return "processes cannot be bound to processors here"
        count = len(os.sched_getaffinity(0))
        return None if count >= self._workers else f"there is only {count} processor"

    @property
    def note(self) -> str | None:
        """A note on what is measured."""
        return "over Parquet files, the start of workers included"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the program."""
        with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
            arguments = self._arguments(question, files, Path(folder))
            return watched_run(sys.executable, _OVER_FILES, arguments, limit).run

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run the program and read the answers that it writes."""
        with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
            path = Path(folder) / "answers.parquet"
            arguments = [*self._arguments(question, files, Path(folder)), "--answers", str(path)]
            with running(sys.executable, _OVER_FILES, arguments) as program:
                program.process.wait(_LONGEST_ANSWER)
                program.result()
            return pq.read_table(path).cast(ANSWERS)

    def _arguments(self, question: Question, files: Files, folder: Path) -> list[str]:
        """Return the arguments of the program, for a folder in which there are the files alone."""
        inputs = folder / "inputs"
        inputs.mkdir()
        for path in files.paths:
            (inputs / path.name).symlink_to(path.absolute())
        return [str(inputs), "--question", json.dumps(to_data(question)), "--workers", str(self._workers)]


_OVER_FILES: Final = "benchmarks.systems.programs.over_files"


def _libraries(way: str, others: Sequence[str]) -> tuple[TableProgram, ...]:
    """Return Muntin and other libraries, which answer by a Python function."""
    muntin = TableProgram(f"muntin local, {way}", "muntin_engine", way)
    return (muntin, *(TableProgram(f"{other}, {way}", other, way) for other in others))


MUNTIN_LOCAL: Final = TableProgram("muntin local", "muntin_engine", "average")
POLARS: Final = TableProgram("polars", "polars", "average")
POLARS_DYNAMIC: Final = TableProgram("polars, group_by_dynamic", "polars", "dynamic")
DUCKDB: Final = TableProgram("duckdb", "duckdb", "average")
PANDAS: Final = TableProgram("pandas", "pandas", "average")

WITH_CLASS: Final = _libraries("class", ("pandas", "polars", "duckdb"))
WITH_FUNCTION: Final = _libraries("function", ("pandas", "polars", "duckdb"))
WITH_COMBINE: Final = _libraries("combine", ("pandas", "polars", "duckdb"))

WITH_REMOVE: Final = TableProgram("muntin local, remove", "muntin_engine", "remove")
IN_A_LOOP: Final = TableProgram("by hand", "collections", "remove")

ONE_WORKER: Final = WorkersProgram(1)
TWO_WORKERS: Final = WorkersProgram(2)
