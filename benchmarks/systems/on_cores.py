"""A streaming query in a fresh process, with a JVM of its own, that may use one core or two."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import Files, write_file
from benchmarks.measurement import Batch, Memory, Run
from benchmarks.questions.kinds import from_data, to_data
from benchmarks.questions.question import Question
from benchmarks.session import end_session, start_session
from benchmarks.systems.muntin import COLUMNAR
from benchmarks.systems.program import running
from benchmarks.systems.spark import StreamSystem
from benchmarks.systems.spark_sql import SPARK_WINDOW
from benchmarks.systems.system import System

PARTS: Final = 4
"""Files that a micro-batch reads: as many as keep two cores busy."""

_SYSTEMS: Final = {system.name: system for system in (COLUMNAR, SPARK_WINDOW)}


class OnCores(System):
    """A streaming query, bound to some cores.

    Args:
        system: The query; the other process knows it by its name.
        cores: The number of cores.
    """

    needs_spark = True

    def __init__(self, system: StreamSystem, cores: int) -> None:
        self.name = f"{system.name}, {cores} core{'s' if cores > 1 else ''}"
        self._system = system
        self._cores = cores

    @property
    def missing(self) -> str | None:
        """Why the system cannot run here."""
        if not hasattr(os, "sched_setaffinity"):
            return "processes cannot be bound to cores here"
        count = len(os.sched_getaffinity(0))
        return None if count >= self._cores else f"there is only {count} core"

    @property
    def note(self) -> str | None:
        """Say how it runs."""
        return f"in a process of its own; a micro-batch has {PARTS} files"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the query in a fresh process; the start of its session is not measured."""
        with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
            parts = split(files, Path(folder))
            task = {
                "system": self._system.name,
                "cores": self._cores,
                "question": to_data(question),
                "limit": limit,
                "delay": files.delay,
            }
            arguments = [json.dumps(task), *map(str, parts.paths)]
            with running(sys.executable, "benchmarks.systems.on_cores", arguments) as program:
                program.process.wait()
                return _run_of(program.result())

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Return the answers of the same query in the session that is there."""
        return self._system.answer(question, files)


def split(files: Files, folder: Path) -> Files:
    """Write the rows of each file as several files, in order, and return these."""
    paths: list[Path] = []
    for path in files.paths:
        table = pq.read_table(path)
        for part in range(PARTS):
            first = part * len(table) // PARTS
            stop = (part + 1) * len(table) // PARTS
            paths.append(folder / f"{len(paths):04}.parquet")
            write_file(table[first:stop], paths[-1], len(paths))
    return Files(folder, tuple(paths), files.rows // PARTS, files.delay)


def _run_of(data: dict[str, Any]) -> Run:
    """Return the run that `dataclasses.asdict` made data of."""
    batches = tuple(Batch(**batch) for batch in data.pop("batches"))
    memory = Memory(**data.pop("memory"))
    return Run(batches=batches, memory=memory, **data)


def main(task_text: str, *paths: str) -> None:
    """Bind this process, and with it the JVM and the workers that it starts, to the first cores, and run a query.

    Args:
        task_text: The task as JSON, as `OnCores.measure` writes it.
        paths: The files, in order, all in one folder.
    """
    task = json.loads(task_text)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: task["cores"]])
    files = Files(Path(paths[0]).parent, tuple(map(Path, paths)), 0, task["delay"])
    with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
        start_session(Path(folder) / "spark.log", task["cores"])
        try:
            run = _SYSTEMS[task["system"]].measure_parts(from_data(task["question"]), files, task["limit"], PARTS)
        finally:
            end_session()
    sys.stdout.write(f"\n{json.dumps(asdict(run))}\n")


ON_CORES: Final = {(system.name, cores): OnCores(system, cores) for system, cores in product(_SYSTEMS.values(), (1, 2))}
"""The systems on one and on two cores, by name and number of cores."""

if __name__ == "__main__":
    main(*sys.argv[1:])
