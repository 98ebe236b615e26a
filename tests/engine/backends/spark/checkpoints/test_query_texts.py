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


def sums(stream: DataFrame, column: Any = "x") -> Query:
    windowed = events(stream, key="key", at="at", watermark=5).window(tumbling(10))
    return windowed.aggregate(total=stats.sum(column))


def read_and_forget(rows: DataFrame, number: int) -> None:
    """Take the results of a query of which they are of no interest."""
    del number
    rows.count()


def describe(*arguments: object) -> tuple[int, str, str]:
    """Run `muntin describe`, and return its exit code, what it prints, and its error."""
    result = CliRunner().invoke(app, ["describe", *map(str, arguments)], prog_name="muntin")
    return result.exit_code, result.stdout, result.stderr


def test_the_query_of_a_checkpoint_is_read_described_and_made_again(stream: DataFrame, tmp_path: Path) -> None:
    query = sums(stream)
    checkpoint = tmp_path / "checkpoint"
    query.write(checkpoint=checkpoint, results=read_and_forget, available_now=True).awaitTermination()
    text = query.to_dict()
    assert read_query(stream.sparkSession, checkpoint) == text
    assert query_from_dict(text, {"input": stream}).check(checkpoint) == []

    code, printed_yaml, _ = describe(checkpoint)
    assert code == 0
    assert yaml.safe_load(printed_yaml) == text
    code, printed_json, _ = describe(checkpoint, "--json")
    assert code == 0
    assert json.loads(printed_json) == text

    code, _, error_text = describe(checkpoint, "--with", "k=3")
    assert code == 2
    assert "leave --with out" in error_text


@pytest.mark.nightly
def test_the_queries_of_one_pass_have_one_text_and_are_made_of_it_again(stream: DataFrame, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    queries = one_pass(plain=sums(stream), doubled=sums(stream, F.col("x") * 2))
    sinks = {"plain": read_and_forget, "doubled": read_and_forget}
    queries.write(checkpoint=checkpoint, results=sinks, available_now=True).awaitTermination()
    stored_text = read_query(stream.sparkSession, checkpoint)
    assert stored_text == queries.to_dict()
    assert list(stored_text["one_pass"]) == ["plain", "doubled"]
    assert stored_text["one_pass"]["doubled"][2]["aggregate"]["total"]["columns"] == [{"sql": "(x * 2)"}]
    _, printed_yaml, _ = describe(checkpoint)
    assert yaml.safe_load(printed_yaml) == stored_text
    assert one_pass_from_dict(stored_text, {"input": stream}).check(checkpoint) == []


@pytest.mark.nightly
def test_a_pass_with_a_query_that_has_no_text_has_none_and_says_of_which_call(
    stream: DataFrame, tmp_path: Path
) -> None:
    windowed = events(stream, key="key", at="at", watermark=5).window(tumbling(10))
    without_text = windowed.aggregate(last=module("stats.last", F.when(F.col("x") > 2, "far")))
    queries = one_pass(plain=sums(stream), far=without_text)
    checkpoint = tmp_path / "checkpoint"
    sinks = {"plain": read_and_forget, "far": read_and_forget}
    queries.write(checkpoint=checkpoint, results=sinks, available_now=True).awaitTermination()
    with pytest.raises(StateError, match=r"no text of its query: far: aggregate\(modules=...\) cannot be written"):
        read_query(stream.sparkSession, checkpoint)


def test_a_checkpoint_without_a_micro_batch_has_no_text(tmp_path: Path) -> None:
    code, _, error_text = describe(tmp_path / "nothing")
    assert code != 0
    assert "no micro-batch was committed" in error_text


def test_a_checkpoint_of_writestream_has_no_text(stream: DataFrame, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    writer = sums(stream).results().writeStream.option("checkpointLocation", str(checkpoint))
    writer.foreachBatch(read_and_forget).trigger(availableNow=True).start().awaitTermination()
    code, _, error_text = describe(checkpoint)
    assert code != 0
    assert "started by writeStream" in error_text
