"""A program that ships modules to workers in each possible way, step by step, and prints the outcomes as JSON."""

from __future__ import annotations

import importlib
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from muntin import Aggregate, tumbling
from muntin.errors import MuntinError
from muntin_engine import Query, batch_metrics, events, local_session, module, ship, stop_session

SCALE = 10
"""A constant of this script, which its module reads on the workers."""

PATIENCE = 10.0
"""Seconds that the files of a client may take to go."""


def scaled(value: float) -> float:
    return SCALE * value


class Gauged(Aggregate[float, float]):
    """A module of this script: it uses a file beside it, `gauges`, and a function and a constant of it; no version."""

    name = "story.gauged"

    def compute_result(self, payloads: Sequence[float]) -> float:
        gauges: Any = GAUGES
        return float(gauges.gauge(scaled(max(payloads))))


MASTER = "local-cluster[1,2,1024]"
"""An executor of its own, which has nothing of the driver but what is shipped to it."""

ISOLATION = ("spark.sql.artifact.isolation.enabled", "spark.sql.artifact.isolation.alwaysApplyClassloader")
"""Settings that keep apart what clients ship; the session in the same JVM does without, as by itself."""

CONNECT = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    **dict.fromkeys(ISOLATION, "true"),
}


def outcomes_in_both(here: Path) -> dict[str, Any]:
    """Return the outcomes of a client of Spark Connect, and then of the classic session in the same JVM."""
    with socket.socket() as bound_socket:  # to learn of a port that is free
        bound_socket.bind(("127.0.0.1", 0))
        port = str(bound_socket.getsockname()[1])
    with classic(here / "spark.log", CONNECT | {"spark.connect.grpc.binding.port": port}) as session:
        for name in ISOLATION:
            session.conf.set(name, "false")
        command = [sys.executable, __file__, str(here.with_name("connect")), f"sc://127.0.0.1:{port}"]
        client = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        outcomes_of_client = json.loads(client.stdout.splitlines()[-1])

        # A job that starts while the client's files are removed asks for them; before Spark 4.3 they stay.
        deadline = time.monotonic() + PATIENCE
        while session.sparkContext.listFiles and time.monotonic() < deadline:
            pass
        return {**outcomes_of_client, "classic": outcomes_in(session, here, is_client=False)}


@contextmanager
def classic(log: Path, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Start a session with an executor of its own, and stop it after the block."""
    session = local_session("story", log=log, conf={"spark.master": MASTER, **conf})
    yield session
    stop_session(session)


@contextmanager
def connected(address: str) -> Iterator[SparkSession]:
    """Open a session of Spark Connect, and stop it after the block."""
    session = SparkSession.builder.remote(address).getOrCreate()
    yield session
    session.stop()


def outcome(step: Callable[[], Any]) -> Any:
    """Take a step; return its result, or the error that Muntin raises."""
    try:
        return step()
    except MuntinError as error:
        return f"{type(error).__name__}: {error}"


def rows_of(df: DataFrame) -> list[list[Any]]:
    """Return the results of the three modules in each row."""
    return [[row["n"], row["mean"], row["gauged"]] for row in df.collect()]


def query(stream: DataFrame) -> Query[DataFrame]:
    """Return a query of three modules: of an installed package, of a shipped one, and of this script."""
    windowed = events(stream, at="at", watermark="0 seconds").window(tumbling("10 seconds"))
    modules = {"n": module("stats.count"), "mean": module("weather.mean", "x"), "gauged": module(Gauged, "x")}
    return windowed.aggregate(**modules)


def run(stream: DataFrame, folder: Path) -> list[Any]:
    """Write the results into a folder; return them, and the number of rows that the query accepted."""
    results = str(folder / "results")
    running = query(stream).write(checkpoint=folder / "checkpoint", results=results, available_now=True)
    running.awaitTermination()
    numbers = [batch_metrics(progress)["muntin"].accepted for progress in running.recentProgress]
    return [rows_of(stream.sparkSession.read.parquet(results)), sum(numbers)]


def numbers_in(spark: SparkSession, here: Path) -> tuple[DataFrame, DataFrame]:
    """Write twenty numbers, and return them as a table and as a stream."""
    numbers = spark.range(20).selectExpr("timestamp_seconds(id) AS at", "CAST(id AS double) AS x")
    numbers.write.parquet(str(here / "numbers"))
    return numbers, spark.readStream.schema(numbers.schema).parquet(str(here / "numbers"))


def outcomes_in(spark: SparkSession, here: Path, *, is_client: bool) -> dict[str, Any]:
    """Return the outcome of each step in a session, by name.

    Args:
        spark: The session.
        here: A folder with packages and data.
        is_client: True for a client of Spark Connect, which has a sink that cannot travel instead of a static query.
    """
    numbers, stream = numbers_in(spark, here)
    plugin = here / "packages" / "muntin_weather" / "plugin.py"

    def change_and_ship() -> Any:
        plugin.write_text(plugin.read_text() + "\n# changed\n")
        return ship(spark, "weather")

    outcomes = {
        "version": module(Gauged).cls.version,
        "nothing shipped": outcome(lambda: query(numbers).results()),
        "without preflight": outcome(lambda: plan_without_preflight(numbers)),
        "compiled": outcome(lambda: ship(spark, "numpy")),
        "shipped": outcome(lambda: ship(spark, "weather")),
        "dependency missing": outcome(lambda: query(stream).results()),
        "shipped with it": outcome(lambda: ship(query(numbers), "muntin-weather", "weather_units")),
        "streaming": outcome(lambda: run(stream, here)),
    }
    if is_client:
        outcomes["locked sink"] = outcome(lambda: write_to_locked_sink(stream, here))
    else:
        outcomes["static"] = outcome(lambda: rows_of(query(numbers).results().orderBy("window")))
    outcomes["shipped when changed"] = outcome(change_and_ship)
    return outcomes


def write_to_locked_sink(stream: DataFrame, folder: Path) -> str:
    """Write to a function that holds a lock, which travels nowhere."""
    lock = threading.Lock()

    def take(batch: DataFrame, number: int) -> None:
        with lock:
            batch.collect()

    running = query(stream).write(checkpoint=folder / "locked", results=take, available_now=True)
    running.stop()
    return "runs"


def plan_without_preflight(df: DataFrame) -> list[str]:
    """Plan a query that cannot run, in a session whose preflight check is off."""
    df.sparkSession.conf.set("spark.muntin.preflight", "false")
    columns = query(df).results().columns
    df.sparkSession.conf.unset("spark.muntin.preflight")
    return columns


if __name__ == "__main__":
    place = Path(sys.argv[1])
    server = sys.argv[2:]
    sys.path[:0] = [str(place / "packages"), str(place / "beside")]
    GAUGES = importlib.import_module("gauges")
    if server:
        with connected(server[0]) as opened:
            stories = {"connect": outcomes_in(opened, place, is_client=True)}
    else:
        stories = outcomes_in_both(place)
    print(f"\n{json.dumps(stories)}")
