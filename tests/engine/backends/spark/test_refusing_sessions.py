"""Sessions that refuse `persist` and settings, as serverless platforms do: queries go on without them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

import muntin_stats as stats
from muntin import Aggregate, tumbling
from muntin_engine import Query, SetupError, events, module, prepare_session, spark_session
from muntin_engine.backends.spark.foreach_batch import write
from muntin_engine.backends.spark.operators.bucket_processor import REPARTITIONED
from muntin_engine.backends.spark.session.settings import read_setting
from tests.journeys.running import stream_of

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
BATCHES = [
    pa.table({"key": ["a", "a", "b"], "at": [1, 5, 5], "x": [2.0, 4.0, 1.0]}),
    pa.table({"key": ["a", "b"], "at": [12, 14], "x": [8.0, 3.0]}),
    pa.table({"key": ["a", "a"], "at": [2, 40], "x": [100.0, 1.0]}),
]
# key, start, total
TOTALS = [("a", 0, 6.0), ("a", 10, 8.0), ("b", 0, 1.0), ("b", 10, 3.0)]
"""Worked out by hand: the row at 2 comes when [0, 10) is closed, and [40, 50) stays open."""


def refuse(*_: object, **__: object) -> None:
    raise AnalysisException("[NOT_SUPPORTED_WITH_SERVERLESS] That is not supported on serverless compute.\nmore")


@pytest.fixture
def refusing(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """A session that refuses to persist and to be set."""
    of_session = type(spark.range(1))
    monkeypatch.setattr(of_session, "persist", refuse)
    monkeypatch.setattr(of_session, "cache", refuse)
    monkeypatch.setattr(type(spark.conf), "set", refuse)
    return spark


class LoggingSum(Aggregate[float, float]):
    """Adds up, and writes its payloads as a line of a file each time that it is called."""

    name, version = "refusing.logging_sum", "1.0.0"

    def __init__(self, file: str) -> None:
        self.file = file

    def compute_result(self, payloads: Sequence[float]) -> float:
        with open(self.file, "a", encoding="utf-8") as file:
            file.write(f"{sorted(payloads)}\n")
        return sum(payloads)


def query_of(stream: DataFrame, calls: Path) -> Query:
    """Return a query whose module writes a line of a file each time that it is called."""
    windows = events(stream, key="key", at="at", watermark=0).window(tumbling(10))
    return windows.aggregate(total=module(LoggingSum, "x", file=str(calls)), n=stats.count())


def totals(df: DataFrame) -> list[tuple[Any, ...]]:
    """Return results as in `TOTALS`."""
    return sorted((row["key"], row["window"]["start"], row["total"]) for row in df.collect())


def test_write_goes_on_and_evaluates_each_window_once_for_all_sinks(
    refusing: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls = tmp_path / "calls"
    query = query_of(stream_of(refusing, tmp_path / "in", BATCHES), calls).where("total > 0")
    checkpoint = tmp_path / "check [point]"
    sinks: dict[str, Any] = {name: tmp_path / name for name in ("results", "late_rows", "metrics")}
    with caplog.at_level(logging.WARNING, "muntin.session"):
        query.write(checkpoint=checkpoint, **sinks, available_now=True).awaitTermination()

    assert totals(refusing.read.parquet(str(sinks["results"]))) == TOTALS
    assert refusing.read.parquet(str(sinks["late_rows"])).count() == 1
    assert refusing.read.parquet(str(sinks["metrics"])).count() == len(BATCHES)
    assert sorted(calls.read_text(encoding="utf-8").splitlines()) == ["[1.0]", "[2.0, 4.0]", "[3.0]", "[8.0]"]
    (message,) = [record.getMessage() for record in caplog.records if "persist" in record.getMessage()]
    assert message == (
        f"the session refuses persist(): micro-batches are stored in {checkpoint}/muntin/blobs; "
        "[NOT_SUPPORTED_WITH_SERVERLESS] That is not supported on serverless compute."
    )


@pytest.mark.nightly
def test_a_restart_goes_on_although_a_micro_batch_is_stored_in_the_folder_of_the_checkpoint(
    refusing: SparkSession, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    results = tmp_path / "results"
    for count in (1, 3):
        query = query_of(stream_of(refusing, tmp_path / "in", BATCHES[:count]), tmp_path / "calls")
        assert query.check(checkpoint) == []
        query.write(checkpoint=checkpoint, results=results, available_now=True).awaitTermination()
    assert (checkpoint / "muntin" / "blobs").is_dir()
    assert totals(refusing.read.parquet(str(results))) == TOTALS


@pytest.mark.nightly
def test_a_stream_is_closed_in_a_session_that_refuses_to_persist(refusing: SparkSession, tmp_path: Path) -> None:
    query = query_of(stream_of(refusing, tmp_path / "in", BATCHES), tmp_path / "calls")
    places: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint", "results": tmp_path / "results"}
    query.write(**places, available_now=True, on_end="close").awaitTermination()
    assert totals(refusing.read.parquet(str(places["results"]))) == [*TOTALS[:2], ("a", 40, 1.0), *TOTALS[2:]]


def test_prepare_session_names_each_setting_that_is_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session = spark.newSession()
    for setting in (PROVIDER, PARTITIONS):
        session.conf.unset(setting)
    monkeypatch.setattr(type(session.conf), "set", refuse)
    with caplog.at_level(logging.WARNING, "muntin.session"):
        assert prepare_session(session) is session
    messages = [record.getMessage() for record in caplog.records]
    assert [message.partition("=")[0] for message in messages] == [
        f"the session refuses {PROVIDER}",
        f"the session refuses {PARTITIONS}",
    ]
    assert messages[1] == (
        f"the session refuses {PARTITIONS}=16, so queries go on without it: "
        "[NOT_SUPPORTED_WITH_SERVERLESS] That is not supported on serverless compute."
    )


def test_a_state_store_that_cannot_be_set_is_named_before_the_query_starts(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    session = spark.newSession()
    session.conf.unset(PROVIDER)
    monkeypatch.setattr(type(session.conf), "set", refuse)
    stream = stream_of(prepare_session(session), tmp_path / "in", BATCHES)
    with pytest.raises(SetupError, match="keeps streaming state in its default") as refused:
        query_of(stream, tmp_path / "calls").write(checkpoint=tmp_path / "c", results=tmp_path / "r")
    assert PROVIDER in str(refused.value)
    assert "where the session\n  refuses that, as on some platforms, have it started with this setting" in str(
        refused.value
    )


@pytest.mark.nightly
def test_settings_that_cannot_be_read_count_as_unset_and_a_query_starts_all_the_same(
    refusing: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stream = stream_of(refusing, tmp_path / "in", BATCHES)
    monkeypatch.setattr(type(refusing.conf), "get", refuse)
    assert read_setting(refusing, "spark.muntin.preflight", "true") == "true"
    assert prepare_session(refusing) is refusing
    results = tmp_path / "results"
    query = query_of(stream, tmp_path / "calls")
    query.write(checkpoint=tmp_path / "checkpoint", results=results, available_now=True).awaitTermination()
    monkeypatch.undo()
    assert totals(refusing.read.parquet(str(results))) == TOTALS


def test_a_session_that_runs_is_returned_although_it_refuses_settings(refusing: SparkSession) -> None:
    assert spark_session().sparkContext is refusing.sparkContext


def test_a_setting_that_a_start_cannot_do_without_is_named(refusing: SparkSession) -> None:
    with (
        pytest.raises(SetupError, match=f"the session refuses to set {REPARTITIONED}"),
        write._set_for_start(refusing, {REPARTITIONED: "3"}),
    ):
        pytest.fail("nothing starts")
