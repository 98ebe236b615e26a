"""A JVM that is killed in the middle, in a zone that is not UTC: the next run goes on where it was."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests import quick_jvm
from tests.spark.killed_story import run_query
from tests.spark.running import plain, write_batches

ROOT = Path(__file__).parents[2]
STORY = Path(__file__).with_name("killed_story.py")
FIRST, LAST = -10, 30
SECOND = 1_000_000


def batch(seconds: Iterable[int]) -> pa.Table:
    rows = [(key, second * SECOND, second // 10) for second in seconds for key in "ab"]
    keys, times, values = zip(*rows, strict=True)
    return pa.table({"key": keys, "at": pa.array(times, pa.timestamp("us", tz="UTC")), "x": values})


def run_story(folder: Path) -> int:
    environment = quick_jvm.environment() | {
        "TZ": "America/New_York",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    command = [sys.executable, str(STORY), str(folder)]
    return subprocess.run(command, env=environment, timeout=200, check=False, capture_output=True).returncode


def expected() -> list[dict[str, Any]]:
    members: dict[tuple[str, int], list[int]] = {}
    for second in range(FIRST, LAST):
        for key in "ab":
            members.setdefault((key, second // 15 * 15 * SECOND), []).append(second // 10)
    return [
        {"key": key, "window": {"start": start, "end": start + 15 * SECOND}, "n": len(values), "all": values}
        for (key, start), values in sorted(members.items())
    ]


def test_a_killed_jvm_costs_no_row_and_doubles_none(spark: SparkSession, tmp_path: Path) -> None:
    tens = [batch(range(start, start + 10)) for start in range(FIRST, LAST, 10)]
    write_batches(tmp_path / "stream", [*tens, batch([10**6])])  # the last closes all windows before it
    parts = tmp_path / "parts"

    assert run_story(tmp_path) != 0  # in New York, until its JVM is killed
    assert sorted(file.name for file in parts.glob("*.parquet")) == ["0000.parquet", "0001.parquet"]
    run_query(spark, tmp_path)

    found = plain(pa.concat_tables(pq.read_table(file) for file in parts.glob("*.parquet")))
    assert sorted(found, key=lambda row: (row["key"], row["window"]["start"])) == expected()
