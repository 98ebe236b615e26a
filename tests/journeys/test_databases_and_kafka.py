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
from muntin_engine.sinks.kafka_topic import KafkaTopic, Message
from tests.engine.sinks.kafka_brokers import brokers, read_topic


def test_spark_makes_the_messages_for_kafka_that_python_makes(spark: SparkSession) -> None:
    start = datetime(2024, 5, 1, 8, 0, 0, 5, UTC)  # with microseconds, which text may lose
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
    row_of_nulls = dict.fromkeys(row)
    batch = spark.createDataFrame([row, row_of_nulls, row], schema)

    sink = KafkaTopic("kafka://one:9092/bikes")
    sink.keyed_by(["station", "day", "größe"])
    sink.open("q1")
    messages_of_python = list(sink._messages(batch.toArrow(), batch_id=3))

    messages_of_spark: list[Message] = []
    for message in kafka_connector.messages(batch, ["station", "day", "größe"], "q1", 3).collect():
        headers = {header.key: bytes(header.value).decode() for header in message.headers}
        messages_of_spark.append(Message(message.key, message.value, headers))

    assert len(messages_of_python) == 3
    assert sorted(messages_of_spark, key=muntin_id) == sorted(messages_of_python, key=muntin_id)
    assert json.loads(messages_of_python[0].value)["station"] == row["station"]


def muntin_id(message: Message) -> str:
    """Return the id by which a reader knows a message that was sent twice."""
    return message.headers["muntin-id"]


def test_a_session_without_the_connector_for_kafka_is_known(spark: SparkSession) -> None:
    assert not kafka_connector.has_kafka_connector(spark.range(1))


@pytest.mark.nightly
def test_results_late_rows_and_metrics_go_to_databases_and_kafka(spark: SparkSession, tmp_path: Path) -> None:
    def ride(station: str, leaves: int) -> dict[str, Any]:
        return {"change": "insert", "station": station, "leaves": leaves}

    files = [
        [ride("north", 3), {"change": "punctuate", "leaves": 10}],
        [ride("north", 8), ride("south", 12), ride("south", 13)],  # the first one is late
        [{"change": "close"}],
    ]
    (tmp_path / "rides").mkdir()
    for number, rows in enumerate(files):
        path = tmp_path / "rides" / f"{number}.json"
        path.write_text("\n".join(map(json.dumps, rows)))
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
        (late_message,) = read_topic(servers, "late")

    late_row = json.loads(cast("bytes", late_message.value()))
    assert json.loads(late_row["row"])["leaves"] == 8
    with closing(sqlite3.connect(tmp_path / "results.db")) as connection:
        bikes = connection.execute(
            "SELECT station, window_start, window_end, rides FROM bikes ORDER BY station"
        ).fetchall()
        assert bikes == [("north", 0, 10, 1), ("south", 10, 20, 2)]
        assert connection.execute("SELECT sum(accepted), sum(late) FROM progress").fetchall() == [(3, 1)]
        last_batches = connection.execute(
            "SELECT table_name, batch, length(input_id) FROM muntin_batches ORDER BY table_name"
        ).fetchall()
        assert last_batches == [("bikes", 2, 16), ("progress", 2, 16)]
