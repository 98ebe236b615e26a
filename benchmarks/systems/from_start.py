"""Scripts from the start of their process to a printed result: processor time and memory, as the system has them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import Files
from benchmarks.measurement import Batch, Memory, Run
from benchmarks.questions.question import ANSWERS, Question
from benchmarks.systems.program import running
from benchmarks.systems.system import System

_SCRIPTS: Final = Path(__file__).parent / "scripts"
_LAUNCH: Final = "benchmarks.systems.programs.launch"
_LONGEST_ANSWER: Final = 300


class Script(System):
    """A script of `scripts`, which reads a file of rows and prints the spread of each key and minute.

    Args:
        name: The name of the system.
        package: The package that it imports.
        file: The name of the script.
    """

    def __init__(self, name: str, package: str, file: str) -> None:
        self.name = name
        self._package = package
        self._path = str(_SCRIPTS / file)

    @property
    def missing(self) -> str | None:
        """The reason why it cannot run here."""
        if not hasattr(os, "wait4"):
            return "the system does not report what a process took"
        return None if find_spec(self._package) is not None else f"{self._package} is not installed"

    @property
    def note(self) -> str | None:
        """A note on what is measured."""
        return "from the start of the process to its end; Python MB is its greatest resident memory"

    def measure(self, question: Question, files: Files, limit: float) -> Run:
        """Run the script over the first file."""
        del question
        with running(sys.executable, _LAUNCH, [self._path, str(files.paths[0].absolute())]) as program:
            try:
                program.process.wait(limit)
            except subprocess.TimeoutExpired:
                return Run(limit, (), is_cut=True)
            report = program.result()
        batch = Batch(files.rows, report["seconds"])
        return Run(report["seconds"], (batch,), Memory(python=report["memory"]), cpu_seconds=report["cpu_seconds"])

    def answer(self, question: Question, files: Files) -> pa.Table:
        """Run the script over the rows of all files and read the answers that it writes.

        Answers are asked for first, so this run also has Python compile what the script imports.
        """
        del question
        with tempfile.TemporaryDirectory(prefix="muntin-bench-") as folder:
            rows = Path(folder) / "rows.parquet"
            answers = Path(folder) / "answers.parquet"
            pq.write_table(pa.concat_tables(pq.read_table(path) for path in files.paths), rows)
            with running(sys.executable, _LAUNCH, [self._path, str(rows), str(answers)]) as program:
                program.process.wait(_LONGEST_ANSWER)
                program.result()
            return pq.read_table(answers).select(ANSWERS.names).cast(ANSWERS)


MUNTIN_SCRIPT: Final = Script("muntin local script", "muntin_engine", "muntin_script.py")
POLARS_SCRIPT: Final = Script("polars script", "polars", "polars_script.py")
DUCKDB_SCRIPT: Final = Script("duckdb script", "duckdb", "duckdb_script.py")
