"""Systems in environments of their own, each run as a program that prints what it measured."""

from __future__ import annotations

import json
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import Files
from benchmarks.measurement import Batch, Run
from benchmarks.memory import MemoryWatch
from benchmarks.question import Question
from benchmarks.systems.program import running
from benchmarks.systems.system import System
from benchmarks.windows import ANSWERS, Hopping, Session, Windows

_LONGEST_IMPORT: Final = 120
_LONGEST_ANSWER: Final = 300


@dataclass(frozen=True, slots=True)
class Script:
    """The program of a system.

    Attributes:
        name: The system's, in tables and on the command line, and its program's.
        imported: The package that must be importable.
        most_rows: The greatest number of rows that it is given.
        about: A note for readers.
        has: The kinds of windows that it can compute.
    """

    name: str
    imported: str
    most_rows: int
    about: str
    has: tuple[type[Windows], ...] = (Hopping, Session)


class ScriptSystem(System):
    """A system that is a program.

    Args:
        script: How to run it.
        python: The interpreter of its environment; None if there is none.
    """

    closes_all = True

    def __init__(self, script: Script, python: str | None) -> None:
        self.name = script.name
        self.has = script.has
        self._script = script
        self._python = python
        self._version = ""

    @cached_property
    def missing(self) -> str | None:
        """Why the system cannot run here."""
        if self._python is None:
            return "not installed"
        with suppress(OSError, subprocess.SubprocessError):
            command = [self._python, "-c", f"import {self._script.imported}"]
            subprocess.run(command, check=True, capture_output=True, timeout=_LONGEST_IMPORT)
            return None
        return "not installed in the environment that was named"

    @property
    def note(self) -> str | None:
        """Say how it runs."""
        return f"{self._version} {self._script.about}; {self._script.most_rows:,} rows at most".lstrip()

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the program, which counts its answers at most."""
        with running(str(self._python), self._module, self._arguments(question, files)) as program:
            with MemoryWatch.over(program.process.pid, with_root=True) as watch:
                try:
                    program.process.wait(limit)
                except subprocess.TimeoutExpired:
                    return Run(limit, (), watch.peak, is_cut=True)
            said = program.result()
        self._version = said["version"]
        return Run(said["seconds"], (Batch(said["rows"], said["seconds"], said["output_rows"]),), watch.peak)

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run the program and read the answers it writes."""
        with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
            path = Path(folder) / "answers.parquet"
            arguments = [*self._arguments(question, files), "--answers", str(path)]
            with running(str(self._python), self._module, arguments) as program:
                program.process.wait(_LONGEST_ANSWER)
                program.result()
            return pq.read_table(path).cast(ANSWERS)

    @property
    def _module(self) -> str:
        return f"benchmarks.external.with_{self.name}"

    def _arguments(self, question: Question, files: Files) -> list[str]:
        options = ["--question", json.dumps(question.as_data()), "--most-rows", str(self._script.most_rows)]
        return [*options, *(str(path.absolute()) for path in files.paths)]
