"""The queries of other systems in a fresh process, with a JVM of its own, that may use one core or two."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.data import Files, split
from benchmarks.measurement import Batch, Memory, Run
from benchmarks.question import Question
from benchmarks.systems.program import running
from benchmarks.systems.system import SparkSystem, System

PARTS = 4
"""Files that a micro-batch reads: as many as keep two cores busy."""


class OnCores(System):
    """A system that is a streaming query, bound to some cores.

    Args:
        system: It; another process makes it again by its class.
        cores: How many cores.
    """

    needs_spark = True

    def __init__(self, system: SparkSystem, cores: int) -> None:
        self.name = f"{system.name}, {cores} core{'s' if cores > 1 else ''}"
        self._system = system
        self._cores = cores

    @property
    def missing(self) -> str | None:
        """Why the system cannot run here."""
        if not hasattr(os, "sched_setaffinity"):
            return "processes cannot be bound to cores here"
        there = len(os.sched_getaffinity(0))
        return None if there >= self._cores else f"there is only {there} core"

    @property
    def note(self) -> str | None:
        """Say how it runs."""
        return f"in a process of its own; a micro-batch has {PARTS} files"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the query in a fresh process; the start of its session is not measured."""
        with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
            parts = split(files, PARTS, Path(folder))
            task = {"system": self._system.name, "cores": self._cores, "question": question.as_data(), "limit": limit}
            arguments = [json.dumps(task), *map(str, parts.paths)]
            with running(sys.executable, "benchmarks.on_cores", arguments) as program:
                program.process.wait()
                return run_of(program.result())

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Return the answers of the same query in the session that is there."""
        return self._system.answer(question, files)


def run_of(data: dict[str, Any]) -> Run:
    """Return the run that `dataclasses.asdict` made data of."""
    batches = tuple(Batch(**batch) for batch in data["batches"])
    return Run(**data | {"batches": batches, "memory": Memory(**data["memory"])})
