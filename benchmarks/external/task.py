"""The task of a program for another system, and its answers: the last line that it prints, as JSON."""

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

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.question import Question

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ARRIVAL = 10_000
"""How many rows are handed over at a time."""


@dataclass(frozen=True)
class Task:
    """The computation.

    Attributes:
        files: The input, in order, with the columns `key`, `at` and `value`.
        question: What to compute of it.
        most_rows: The greatest number of rows to read.
    """

    files: list[str]
    question: Question
    most_rows: int

    def chunks(self) -> Iterator[pa.RecordBatch]:
        """Yield the input in portions, as it arrives."""
        left = self.most_rows
        for file in self.files:
            for batch in pq.ParquetFile(file).iter_batches(ARRIVAL):
                if left > 0:
                    yield batch[:left]
                left -= len(batch)

    def rows(self) -> Iterator[tuple[int, datetime, float]]:
        """Yield the input row by row."""
        for chunk in self.chunks():
            yield from zip(*(column.to_pylist() for column in chunk.columns), strict=True)


@dataclass
class Answers:
    """The answers.

    Attributes:
        is_kept: True to keep the answers, not only their number.
        count: The number of answers.
        rows: Key, what names the window, in microseconds since the epoch, and value of each, if they are kept.
    """

    is_kept: bool
    count: int = 0
    rows: list[tuple[int, int, float]] = field(default_factory=list)

    def add(self, key: int, start: int, value: float) -> None:
        """Take one."""
        self.count += 1
        if self.is_kept:
            self.rows.append((key, start, value))


current = Answers(False)
"""The answers that are being collected; for a system that copies what it is given."""


def microseconds(time_: datetime) -> int:
    """Return a time in microseconds since the epoch; one without a zone is in UTC."""
    aware = time_ if time_.tzinfo else time_.replace(tzinfo=UTC)
    return (aware - EPOCH) // timedelta(microseconds=1)


def run_task(compute: Callable[[Task, Answers], None], distribution: str) -> None:
    """Read the command line, compute, and print a line of JSON with `seconds`, `rows`, `output_rows` and `version`.

    Args:
        compute: Answers a task. Its time is measured, with reading the files and without importing the system. It
            counts its answers, unless they are not wanted and stay where nobody can count them.
        distribution: The name under which the system is installed.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--question", type=lambda text: Question.from_data(json.loads(text)), required=True)
    parser.add_argument("--most-rows", type=int, required=True)
    parser.add_argument("--answers", help="a Parquet file to write the answers to")
    parser.add_argument("files", nargs="+")
    told = vars(parser.parse_args())
    wanted = told.pop("answers")
    task, answers = Task(**told), Answers(wanted is not None)
    started = time.monotonic()
    compute(task, answers)
    seconds = time.monotonic() - started
    if wanted is not None:
        _write(answers, wanted)
    rows = min(task.most_rows, sum(pq.ParquetFile(file).metadata.num_rows for file in task.files))
    said = {"seconds": seconds, "rows": rows, "output_rows": answers.count or None, "version": version(distribution)}
    sys.stdout.write(f"\n{json.dumps(said)}\n")


def _write(answers: Answers, path: str) -> None:
    keys, starts, values = zip(*answers.rows, strict=True) if answers.rows else ((), (), ())
    columns = [pa.array(keys, pa.int64()), pa.array(starts, pa.timestamp("us", "UTC")), pa.array(values, pa.float64())]
    pq.write_table(pa.table(columns, names=["key", "start", "value"]), Path(path))
