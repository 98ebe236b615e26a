"""The task of a program for another engine, and its answers: the last line that it prints, as JSON."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.questions.kinds import from_data
from benchmarks.questions.question import Question

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
ARRIVAL: Final = 10_000
"""The number of rows that are handed over at a time."""


@dataclass(frozen=True)
class Task:
    """The computation: the average over the windows of a question.

    Attributes:
        files: Input files, in order, with the columns `key`, `at` and `value`.
        question: Question about the input.
        delay: Delay of the watermark, in seconds.
        most_rows: Greatest number of rows to read.
    """

    files: list[str]
    question: Question
    delay: int
    most_rows: int

    @property
    def rows(self) -> int:
        """The number of rows that are read."""
        count: int = sum(pq.ParquetFile(file).metadata.num_rows for file in self.files)
        return min(self.most_rows, count)

    def chunks(self) -> Iterator[pa.RecordBatch]:
        """Yield the input in portions, as it arrives."""
        rows_left = self.most_rows
        for file in self.files:
            for batch in pq.ParquetFile(file).iter_batches(ARRIVAL):
                if rows_left > 0:
                    yield batch[:rows_left]
                rows_left -= len(batch)


@dataclass
class Answers:
    """The answers of a program.

    Attributes:
        is_kept: True to keep the answers, not only their number.
        count: Number of answers.
        rows: Key, start of the window in microseconds since the epoch, and value of each answer, if they are kept.
    """

    is_kept: bool
    count: int = 0
    rows: list[tuple[int, int, float]] = field(default_factory=list)

    def add(self, key: int, start: int, value: float) -> None:
        """Add an answer."""
        self.count += 1
        if self.is_kept:
            self.rows.append((key, start, value))

    def write(self, path: Path) -> None:
        """Write the answers as a Parquet file."""
        keys = [key for key, _, _ in self.rows]
        starts = [start for _, start, _ in self.rows]
        values = [value for _, _, value in self.rows]
        columns = [
            pa.array(keys, pa.int64()),
            pa.array(starts, pa.timestamp("us", "UTC")),
            pa.array(values, pa.float64()),
        ]
        pq.write_table(pa.table(columns, names=["key", "start", "value"]), path)


def microseconds(time_: datetime) -> int:
    """Return a time in microseconds since the epoch; one without a zone is in UTC."""
    aware = time_ if time_.tzinfo else time_.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def run_task(compute: Callable[[Task, Answers], None], distribution: str) -> None:
    """Read the command line, compute, and print a line of JSON with `seconds`, `rows`, `output_rows` and `version`.

    Args:
        compute: Answers a task. Its time is measured, with reading the files and without importing the engine. It
            counts its answers, unless they are not wanted and stay where nobody can count them.
        distribution: The name under which the engine is installed.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--question", type=json.loads, required=True)
    parser.add_argument("--delay", type=int, required=True)
    parser.add_argument("--most-rows", type=int, required=True)
    parser.add_argument("--answers", type=Path, help="a Parquet file to write the answers to")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()

    task = Task(arguments.files, from_data(arguments.question), arguments.delay, arguments.most_rows)
    answers = Answers(is_kept=arguments.answers is not None)
    started = time.monotonic()
    compute(task, answers)
    seconds = time.monotonic() - started
    if arguments.answers is not None:
        answers.write(arguments.answers)

    report = {
        "seconds": seconds,
        "rows": task.rows,
        "output_rows": answers.count or None,
        "version": version(distribution),
    }
    sys.stdout.write(f"\n{json.dumps(report)}\n")
