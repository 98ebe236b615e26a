"""The task of a program for a library of tables, and what it measured: the last line that it prints, as JSON."""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.questions.kinds import from_data
from benchmarks.questions.question import Question


class TableLibrary(ABC):
    """A library that answers questions over a table in memory.

    Attributes:
        distribution: The name under which it is installed.
    """

    distribution: ClassVar[str]

    @property
    def version(self) -> str:
        """The version that is installed."""
        return version(self.distribution)

    @abstractmethod
    def frame(self, rows: pa.Table, question: Question) -> Any:
        """Return rows as a table of the library, with what a question needs besides. It is not measured.

        Args:
            rows: The rows in the order of their times, with the columns `key`, `at` and `value`.
            question: The question.
        """

    @abstractmethod
    def answers(self, frame: Any, question: Question, way: str) -> Any:
        """Return all answers, computed to the end, as a table of the library.

        Args:
            frame: The table that `frame` returned.
            question: The question.
            way: The aggregate, or the function of the library, by which it is answered.
        """

    @abstractmethod
    def arrow(self, answers: Any) -> pa.Table:
        """Return answers as a table of Arrow with the columns `key`, `start` and `value`. It is not measured."""


@dataclass(frozen=True)
class Measured:
    """What an answer took.

    Attributes:
        answers: The answers.
        rows: The number of rows that were read.
        seconds: The seconds of processor time, of all threads.
    """

    answers: Any
    rows: int
    seconds: float


def measure(library: TableLibrary, rows: pa.Table, question: Question, way: str) -> Measured:
    """Answer a question over rows for the second time.

    The first time a library imports and compiles what it needs, and its process gets its memory from the system, which
    took half of the time on some machines. `from_start` measures what a script waits for.
    """
    frame = library.frame(rows, question)
    library.answers(frame, question, way)
    gc.collect()
    before = time.process_time()
    answers = library.answers(frame, question, way)
    return Measured(answers, len(rows), time.process_time() - before)


def rows_of(files: list[str]) -> pa.Table:
    """Return the rows of files in the order of their times."""
    tables = [pq.read_table(file) for file in files]
    return pa.concat_tables(tables).sort_by("at").combine_chunks()


def bind_to_processors(count: int) -> None:
    """Bind this process, and those that it starts, to the first processors, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def run_library(library: TableLibrary) -> None:
    """Read the command line, answer on one processor, and print a line of JSON as `task.run_task` does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--question", type=json.loads, required=True)
    parser.add_argument("--way", required=True)
    parser.add_argument("--answers", type=Path, help="a Parquet file to write the answers to")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()

    bind_to_processors(1)
    measured = measure(library, rows_of(arguments.files), from_data(arguments.question), arguments.way)
    if arguments.answers is not None:
        pq.write_table(library.arrow(measured.answers), arguments.answers)
    report = {
        "seconds": measured.seconds,
        "rows": measured.rows,
        "output_rows": len(library.arrow(measured.answers)),
        "version": library.version,
    }
    sys.stdout.write(f"\n{json.dumps(report)}\n")
