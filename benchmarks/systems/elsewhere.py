"""Other engines, each a program in an environment of its own that prints what it measured."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from contextlib import suppress
from functools import cached_property
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

ENVIRONMENTS: Final = "MUNTIN_BENCH_ENVIRONMENTS"
"""The environment variable that names interpreters: `bytewax=path/to/python,pathway=path/to/python`."""

_LONGEST_IMPORT: Final = 120
_LONGEST_ANSWER: Final = 300


class ProgramSystem(System):
    """An engine that `benchmarks.systems.programs.with_<name>` runs.

    Args:
        name: Its name.
        package: The package that must be importable.
        most_rows: The greatest number of rows that it is given: about as many as it reads in some minutes.
        about: How it runs, for readers.
    """

    closes_all = True

    def __init__(self, name: str, package: str, most_rows: int, about: str) -> None:
        self.name = name
        self._package = package
        self._most_rows = most_rows
        self._about = about
        self._version = ""

    @cached_property
    def python(self) -> str | None:
        """The interpreter of its environment; None if none was named."""
        for named in os.environ.get(ENVIRONMENTS, "").split(","):
            name, _, path = named.partition("=")
            if name == self.name and path:
                return path
        return None

    @cached_property
    def missing(self) -> str | None:
        """Why the system cannot run here."""
        if self.python is None:
            return f"not installed: {ENVIRONMENTS} names no Python for it"
        with suppress(OSError, subprocess.SubprocessError):
            command = [self.python, "-c", f"import {self._package}"]
            subprocess.run(command, check=True, capture_output=True, timeout=_LONGEST_IMPORT)
            return None
        return f"{self.python} cannot import {self._package}"

    @property
    def note(self) -> str | None:
        """Say how it runs."""
        return f"{self._version} {self._about}; {self._most_rows:,} rows at most".lstrip()

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the program, which only counts its answers."""
        watched = watched_run(str(self.python), self._module, self._arguments(question, files), limit)
        self._version = watched.report.get("version", self._version)
        return watched.run

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run the program and read the answers it writes."""
        with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
            path = Path(folder) / "answers.parquet"
            arguments = [*self._arguments(question, files), "--answers", str(path)]
            with running(str(self.python), self._module, arguments) as program:
                program.process.wait(_LONGEST_ANSWER)
                program.result()
            return pq.read_table(path).cast(ANSWERS)

    @property
    def _module(self) -> str:
        return f"benchmarks.systems.programs.with_{self.name}"

    def _arguments(self, question: Question, files: Files) -> list[str]:
        paths = [str(path.absolute()) for path in files.paths]
        asked = json.dumps(to_data(question))
        return ["--question", asked, "--delay", str(files.delay), "--most-rows", str(self._most_rows), *paths]


ELSEWHERE: Final = (
    ProgramSystem("pathway", "pathway", 1_000_000, "in one process, with its built-in reducers"),
    ProgramSystem("bytewax", "bytewax", 1_000_000, "in two threads of one process, folding in Python"),
)
"""One engine whose aggregate is compiled, and one whose aggregate is in Python."""
