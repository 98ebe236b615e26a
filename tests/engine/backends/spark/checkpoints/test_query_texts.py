"""The text of a query is in its checkpoint, and says what ran there without its program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from typer.testing import CliRunner

import muntin_stats as stats
from muntin import tumbling
from muntin_cli.app import app
from muntin_engine import Query, StateError, events, module, one_pass, one_pass_from_dict, query_from_dict, read_query
from tests.journeys.running import stream_of


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> DataFrame:
    return stream_of(spark, tmp_path / "input", [pa.table({"key": ["a", "b"], "at": [1, 20], "x": [1.0, 2.0]})])


def hourly(stream: DataFrame, column: Any = "x") -> Query:
    windowed = events(stream, key="key", at="at", watermark=5).window(tumbling(10))
    return windowed.aggregate(total=stats.sum(column))


def take(rows: DataFrame, number: int) -> None:
    del number
    rows.count()


def described(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["describe", *map(str, arguments)], prog_name="muntin")
    return result.exit_code, result.stdout, result.stderr


def test_the_query_of_a_checkpoint_is_described_and_made_again(stream: DataFrame, tmp_path: Path) -> None:
    query = hourly(stream)
    checkpoint = tmp_path / "checkpoint"
    query.write(checkpoint=checkpoint, results=take, available_now=True).awaitTermination()
    text = query.to_dict()
    assert read_query(stream.sparkSession, checkpoint) == text
    code, printed, _ = described(checkpoint)
    assert code == 0
    assert yaml.safe_load(printed) == text
    assert json.loads(described(checkpoint, "--json")[1]) == text
    assert query_from_dict(text, {"input": stream}).check(checkpoint) == []
    code, _, error_text = described(checkpoint, "--with", "k=3")
    assert code == 2
    assert "leave --with out" in error_text


@pytest.mark.nightly
def test_the_queries_of_one_pass_have_one_text_and_are_made_of_it_again(stream: DataFrame, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    asked = one_pass(short=hourly(stream), long=hourly(stream, F.col("x") * 2))
    asked.write(checkpoint=checkpoint, results={"short": take, "long": take}, available_now=True).awaitTermination()
    stored_text = read_query(stream.sparkSession, checkpoint)
    assert stored_text == asked.to_dict()
    assert list(stored_text["one_pass"]) == ["short", "long"]
    assert stored_text["one_pass"]["long"][2]["aggregate"]["total"]["columns"] == [{"sql": "(x * 2)"}]
    assert yaml.safe_load(described(checkpoint)[1]) == stored_text
    assert one_pass_from_dict(stored_text, {"input": stream}).check(checkpoint) == []

    hidden_checkpoint = tmp_path / "other"
    windowed = events(stream, key="key", at="at", watermark=5).window(tumbling(10))
    hidden = one_pass(
        short=hourly(stream), long=windowed.aggregate(last=module("stats.last", F.when(F.col("x") > 2, "far")))
    )
    hidden.write(
        checkpoint=hidden_checkpoint, results={"short": take, "long": take}, available_now=True
    ).awaitTermination()
    with pytest.raises(StateError, match=r"no text of its query: long: aggregate\(modules=...\) cannot be written"):
        read_query(stream.sparkSession, hidden_checkpoint)


def test_a_checkpoint_without_a_text_says_why(stream: DataFrame, tmp_path: Path) -> None:
    code, _, error_text = described(tmp_path / "nothing")
    assert code != 0
    assert "no micro-batch was committed" in error_text
    checkpoint = tmp_path / "checkpoint"
    writer = hourly(stream).results().writeStream.option("checkpointLocation", str(checkpoint)).foreachBatch(take)
    writer.trigger(availableNow=True).start().awaitTermination()
    code, _, error_text = described(checkpoint)
    assert code != 0
    assert "started by writeStream" in error_text
