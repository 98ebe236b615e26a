"""Outputs of a query in Spark, written to databases and Kafka."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

import muntin_stats as stats
from muntin import tumbling
from muntin_engine import events
from muntin_engine.backends.spark.foreach_batch import kafka_connector
from muntin_engine.sinks.database_table import DatabaseTable
from muntin_engine.sinks.kafka_topic import KafkaTopic
from tests.engine.sinks.kafka_brokers import brokers, read_topic


def test_spark_makes_the_messages_that_python_makes(spark: SparkSession) -> None:
    start = datetime(2024, 5, 1, 8, 0, 0, 5, UTC)
    row = {
        "station": 'no"rth ü\n',
        "window": {"start": start, "end": start + timedelta(minutes=10)},
        "n": 2**62,
        "km": 1.5,
        "price": Decimal("12345678901234567890.1234567890"),
        "day": date(2024, 5, 1),
        "local": start.replace(tzinfo=None),
        "took": timedelta(days=1, seconds=90, microseconds=120_000),
        "back": -timedelta(days=1, seconds=90),
        "raw": b"\x00\xff\x01",
        "is_full": True,
        "stops": [1.5, None],
        "counts": {"a": 1},
        "far": float("-inf"),
        "größe": 1e16,
        "floats": {"ü": [0.1, 16777216.0, 1e-4], "\u2028": [None, float("nan")]},
        "place": {"lat": 48.1, "lon": -1e-7},
    }
    schema = (
        "station string, window struct<start timestamp, end timestamp>, n long, km double, price decimal(38,10), "
        "day date, local timestamp_ntz, took interval day to second, back interval day to second, raw binary, "
        "is_full boolean, stops array<double>, counts map<string, long>, far double, `größe` double, "
        "floats map<string, array<float>>, place struct<lat float, lon double>"
    )
    batch = spark.createDataFrame([row, dict.fromkeys(row), row], schema)
    sink = KafkaTopic("kafka://one:9092/bikes")
    sink.keyed_by(["station", "day", "größe"])
    sink.open("q1")
    by_python = list(sink._messages(batch.toArrow(), batch_id=3))
    by_spark: list[tuple[Any, ...]] = []
    for message in kafka_connector.messages(batch, ["station", "day", "größe"], "q1", 3).collect():
        headers = {header.key: bytes(header.value).decode() for header in message.headers}
        by_spark.append((message.key, message.value, headers))
    assert len(by_python) == 3

    def by_id(message: Any) -> str:
        return cast("str", message[2]["muntin-id"])

    assert sorted(by_spark, key=by_id) == sorted(by_python, key=by_id)
    assert json.loads(by_python[0][1])["station"] == row["station"]
    assert not kafka_connector.has_kafka_connector(batch)


@pytest.mark.nightly
def test_results_late_rows_and_metrics_go_to_databases_and_kafka(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rides").mkdir()
    ride = '{{"change": "insert", "station": "{}", "leaves": {}}}\n'.format
    second = ride("north", 8) + ride("south", 12) + ride("south", 13)
    files = [ride("north", 3) + '{"change": "punctuate", "leaves": 10}', second, '{"change": "close"}']
    for number, rows in enumerate(files):
        path = tmp_path / "rides" / f"{number}.json"
        path.write_text(rows)
        os.utime(path, (number, number))  # Spark reads files in the order of these times
    reader = spark.readStream.schema("change string, station string, leaves long").option("maxFilesPerTrigger", 1)
    rides = reader.json(str(tmp_path / "rides"))
    stations = events(rides, key="station", at="leaves", change="change")
    query = stations.window(tumbling(10), emit="eager").aggregate(rides=stats.count())
    database = f"sqlite:{tmp_path / 'results.db'}"
    with brokers(1) as servers:
        query.write(
            checkpoint=tmp_path / "checkpoint",
            results=DatabaseTable(f"{database}?table=bikes"),
            late_rows=KafkaTopic(f"kafka://{servers}/late"),
            metrics=DatabaseTable(f"{database}?table=progress"),
            available_now=True,
        ).awaitTermination()
        (late,) = read_topic(servers, "late")
    assert json.loads(json.loads(cast("bytes", late.value()))["row"])["leaves"] == 8
    with closing(sqlite3.connect(tmp_path / "results.db")) as connection:
        bikes = connection.execute(
            "SELECT station, window_start, window_end, rides FROM bikes ORDER BY station"
        ).fetchall()
        assert bikes == [("north", 0, 10, 1), ("south", 10, 20, 2)]
        assert connection.execute("SELECT sum(accepted), sum(late) FROM progress").fetchall() == [(3, 1)]
        owners = connection.execute(
            "SELECT table_name, batch, length(input_id) FROM muntin_batches ORDER BY 1"
        ).fetchall()
        assert owners == [("bikes", 2, 16), ("progress", 2, 16)]
