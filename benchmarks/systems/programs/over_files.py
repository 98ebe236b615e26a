"""Muntin without Spark over a folder of Parquet files, with some workers, by the clock on the wall."""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.questions.kinds import from_data
from benchmarks.systems.muntin_windows import window_of
from benchmarks.systems.programs.table_task import bind_to_processors
from benchmarks.systems.programs.with_muntin import AGGREGATES, Muntin, workers_of
from muntin_engine import events


def main() -> None:
    """Read the command line, answer, and print a line of JSON as `task.run_task` does."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--question", type=json.loads, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--answers", type=Path, help="a Parquet file to write the answers to")
    parser.add_argument("folder")
    arguments = parser.parse_args()

    bind_to_processors(arguments.workers)
    windows = events(arguments.folder, key="key", at="at").window(window_of(from_data(arguments.question)))
    query = windows.aggregate(value=AGGREGATES["average"])
    started = time.monotonic()
    results = query.results(**workers_of(arguments.workers))
    seconds = time.monotonic() - started
    if arguments.answers is not None:
        pq.write_table(Muntin().arrow(results), arguments.answers)
    report = {
        "seconds": seconds,
        "rows": sum(pq.ParquetFile(file).metadata.num_rows for file in Path(arguments.folder).iterdir()),
        "output_rows": len(results),
        "version": version("muntin-engine"),
    }
    sys.stdout.write(f"\n{json.dumps(report)}\n")


if __name__ == "__main__":
    main()
