"""A program for test_session: the life of local sessions, told as one JSON object.

It is a program because it starts, kills and stops JVMs, of which a process has one at a time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from muntin_cli.doctor import examine_spark
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.backends.spark.session.local import LOG_SETTING, local_session, stop_session
from muntin_engine.errors import SessionConflictError
from tests.engine.backends.spark.session.killed_query import run_query


class Failing(StatefulProcessor):
    """A processor that fails in `init`, or with the first `rows`."""

    def __init__(self, where: str) -> None:
        self.where = where

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.fail_if_in("init")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        self.fail_if_in("rows")
        yield from ()

    def fail_if_in(self, place: str) -> None:
        if self.where == place:
            raise LookupError(f"failed in {place}")

    def close(self) -> None:
        pass


def root_cause_of_failing_query(spark: SparkSession, folder: Path, where: str, into_batches: bool = False) -> str:
    """Run a query that fails, with `foreachBatch` or without, and return the root cause."""
    rows = spark.readStream.schema("k int").json(str(folder / "input"))
    failing = rows.groupBy("k").transformWithState(Failing(where), "x int", "append", "none")
    writer = failing.writeStream.foreachBatch(count) if into_batches else failing.writeStream.format("noop")
    checkpoint = str(folder / f"checkpoint-{where}-{into_batches}")
    try:
        writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
    except StreamingQueryException as error:
        return root_cause(error)
    return "did not fail"


def count(batch: DataFrame, batch_id: int) -> None:
    batch.count()


def start_with_other_cores() -> str:
    """Ask for a session with other cores than the one that runs, and return the error."""
    try:
        local_session(cores=7)
    except SessionConflictError as error:
        return str(error)
    return "no conflict"


def run_until_the_jvm_is_killed(spark: SparkSession, folder: Path) -> str:
    """Run a query in New York until it kills the JVM in the middle, and return how that ended."""
    process = jvm()
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    print("killing the JVM", file=sys.stderr, flush=True)  # PySpark itself complains about that
    try:
        run_query(spark, folder / "killed", kill_after=2)
    except (OSError, Py4JError, PySparkException):
        return f"signal {-process.wait()}"
    return "did not fail"


def jvm() -> subprocess.Popen[bytes]:
    """Return the process of the JVM of this program."""
    process = getattr(SparkContext._gateway, "proc", None)
    assert isinstance(process, subprocess.Popen)
    return process


def facts_of_sessions(folder: Path) -> Iterator[tuple[str, object]]:
    """Start, kill and stop sessions, and yield the name and the value of each fact to be checked."""
    variables = ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_LOCAL_IP")
    yield "environment before", {name: os.environ.get(name) for name in variables}
    spark = local_session(cores=1, log=folder / "spark.log")
    yield "environment", {name: os.environ.get(name) for name in variables}
    yield "python", [spark.sparkContext.pythonExec, sys.executable]
    yield "log", spark.conf.get(LOG_SETTING)
    yield "is reused", local_session(cores=1, conf={"spark.sql.shuffle.partitions": "3"}) is spark
    yield "partitions", spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield "conflict", start_with_other_cores()
    yield "init", root_cause_of_failing_query(spark, folder, "init")
    yield "rows", root_cause_of_failing_query(spark, folder, "rows", into_batches=True)
    yield "killed by", run_until_the_jvm_is_killed(spark, folder)
    spark = local_session(cores=2, log=folder / "logs/second.log")
    yield "after a kill", [spark.sparkContext.master, spark.range(5).count()]
    process = jvm()
    yield "doctor", asdict(examine_spark())
    stop_session(spark)
    stop_session(spark)  # for the second time it does nothing
    yield "ended", process.poll() is not None and SparkContext._active_spark_context is None


if __name__ == "__main__":
    print(json.dumps(dict(facts_of_sessions(Path(sys.argv[1])))))
