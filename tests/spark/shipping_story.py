"""One session, from an empty folder, in which modules reach the workers in every way that there is; prints JSON."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from muntin import Aggregate, MuntinError, tumbling
from muntin_engine import Query, batch_numbers, events, local_session, module, ship, stop_session
from muntin_engine.spark.java import find_java
from muntin_engine.spark.java_home import spark_java_home
from muntin_engine.spark.session import local_settings

SCALE = 10


def scaled(value: float) -> float:
    return SCALE * value


class Gauged(Aggregate[float, float]):
    """Uses a file beside the script, a function and a constant; declares no version."""

    name = "story.gauged"

    def compute_result(self, payloads: Sequence[float]) -> float:
        gauges: Any = GAUGES
        return float(gauges.gauge(scaled(max(payloads))))


def start(kind: str, log: Path) -> SparkSession:
    """Return a session of Spark Connect, or a classic one for a master."""
    if kind != "connect":
        return local_session("story", log=log, conf={"spark.master": kind})
    os.environ |= {"JAVA_HOME": str(spark_java_home(find_java())), "PYSPARK_PYTHON": sys.executable}
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    for name, value in local_settings("story", 2, {}).items():
        if spark.conf.isModifiable(name):
            spark.conf.set(name, value)
    return spark


def outcome(tell: Callable[[], Any]) -> Any:
    """Return what a step tells, or what Muntin says is wrong."""
    try:
        return tell()
    except MuntinError as error:
        return f"{type(error).__name__}: {error}"


def rows(df: DataFrame) -> list[list[Any]]:
    return [[row["n"], row["mean"], row["gauged"]] for row in df.collect()]


def query(stream: DataFrame) -> Query:
    windowed = events(stream, at="at", delay="0 seconds").window(tumbling("10 seconds"))
    modules = {"n": module("stats.count"), "mean": module("weather.mean", "x"), "gauged": module(Gauged, "x")}
    return windowed.aggregate(**modules)


def run(stream: DataFrame, folder: Path) -> list[Any]:
    """Write the results into a folder and return them, with how many rows the query says it took."""
    results = str(folder / "results")
    running = query(stream).write(checkpoint=folder / "checkpoint", results=results, trigger="available_now")
    running.awaitTermination()
    numbers = [batch_numbers(progress)["muntin"].accepted for progress in running.recentProgress]
    return [rows(stream.sparkSession.read.parquet(results)), sum(numbers)]


def tell(spark: SparkSession, here: Path) -> dict[str, Any]:
    """Return what became of each step."""
    numbers = spark.range(20).selectExpr("timestamp_seconds(id) AS at", "CAST(id AS double) AS x")
    numbers.write.parquet(str(here / "numbers"))
    stream = spark.readStream.schema(numbers.schema).parquet(str(here / "numbers"))
    mean = here / "packages" / "muntin_weather" / "plugin.py"

    def changed() -> Any:
        mean.write_text(mean.read_text() + "\n# changed\n")
        return ship(spark, "weather")

    return {
        "version": module(Gauged).cls.version,
        "nothing shipped": outcome(lambda: query(numbers).results()),
        "asked not to look": outcome(lambda: unasked(numbers)),
        "compiled": outcome(lambda: ship(spark, "numpy")),
        "shipped": outcome(lambda: ship(spark, "weather")),
        "dependency missing": outcome(lambda: query(stream).results()),
        "shipped with it": outcome(lambda: ship(query(numbers), "muntin-weather", "weather_units")),
        "static": outcome(lambda: rows(query(numbers).results().orderBy("window"))),
        "streaming": outcome(lambda: run(stream, here)),
        "shipped when changed": outcome(changed),
        "locked sink": outcome(lambda: locked(stream, here)),
    }


def locked(stream: DataFrame, folder: Path) -> str:
    """Write to a function that holds a lock, which travels nowhere."""
    lock = threading.Lock()

    def take(batch: DataFrame, number: int) -> None:
        with lock:
            batch.collect()

    running = query(stream).write(checkpoint=folder / "locked", results=take, trigger="available_now")
    running.stop()
    return "runs"


def unasked(df: DataFrame) -> list[str]:
    """Build a query that cannot run, in a session that is not to look."""
    df.sparkSession.conf.set("spark.muntin.probe", "false")
    columns = query(df).results().columns
    df.sparkSession.conf.unset("spark.muntin.probe")
    return columns


if __name__ == "__main__":
    place, asked = Path(sys.argv[1]), sys.argv[2]
    sys.path[:0] = [str(place / "packages"), str(place / "beside")]
    GAUGES = importlib.import_module("gauges")
    session = start(asked, place / "spark.log")
    try:
        print(f"\n{json.dumps(tell(session, place))}")
    finally:
        session.stop() if asked == "connect" else stop_session(session)
