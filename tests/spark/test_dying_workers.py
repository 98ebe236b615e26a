"""Modules that end their worker, or never come back, on Spark."""

from __future__ import annotations

import os
import re
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from muntin import Aggregate, Module, tumbling
from muntin_engine import Query, SetupError, events, module
from muntin_engine.spark.failures import root_cause
from tests.spark.running import run, setting, stream_of


class Exits(Aggregate[int, int]):
    name, version = "show.exits", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return os._exit(3) if 7 in payloads else 1


class Leaves(Aggregate[int, int]):
    name, version = "show.leaves", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        return sys.exit("that is all") if 7 in payloads else 1


class Hangs(Aggregate[int, int]):
    name, version = "show.hangs", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> int:
        while 7 in payloads:
            pass
        return 1


def numbers(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("a", 1, 3), ("b", 22, 7), ("b", 3, 4)], "key string, at bigint, payload bigint")


def query(df: DataFrame, cls: type[Module], delay: int | None = None) -> Query:
    stream = events(df, key="key", at="at", delay=delay, buckets=2)
    return stream.window(tumbling(10)).aggregate(out=module(cls, "payload"))


PLACE = "key: ('b',)\n  window: [20, 30)"


def test_a_module_that_ends_its_worker_is_named_with_key_and_window(spark: SparkSession, tmp_path: Path) -> None:
    batch = pa.table({"key": ["a", "b", "b", "a"], "at": [1, 22, 3, 50], "payload": [3, 7, 4, 5]})
    stream = stream_of(spark, tmp_path / "stream", [batch])
    with pytest.raises(PySparkException) as failure:
        run(query(stream, Exits, delay=0).results(), tmp_path / "checkpoint")
    said = root_cause(failure.value)
    assert "died while or after show.exits 1.0.0 ran" in said
    assert PLACE in said


class Breaks(Aggregate[int, int]):
    name, version = "show.breaks", "1.0.0"

    def __init__(self, what: str) -> None:
        self.what = what

    def compute_result(self, payloads: Sequence[int]) -> int:
        if 7 in payloads and self.what == "descriptors":
            os.closerange(3, 1000)
        elif 7 in payloads:
            struct.pack = struct.unpack = None  # type: ignore[assignment]  # the worker would wait for Spark for ever
        return 1


@pytest.mark.parametrize(
    ("what", "begins"),
    [
        ("descriptors", r"a worker \(process \d+\) died while or after show.breaks 1.0.0 ran"),
        ("struct", r"(.|\n)*ModuleContractError: show.breaks 1.0.0 replaced or removed struct.pack, struct.unpack"),
    ],
)
def test_a_module_that_takes_from_its_worker_what_it_answers_with_is_named(
    spark: SparkSession, what: str, begins: str
) -> None:
    stream = events(numbers(spark), key="key", at="at", buckets=1)
    query = stream.window(tumbling(10)).aggregate(out=module(Breaks, "payload", what=what))
    with pytest.raises((PySparkException, Py4JError)) as failure:
        query.results().collect()
    assert re.match(rf"{begins}.*\n  {re.escape(PLACE)}", root_cause(failure.value))


def test_a_module_that_exits_is_an_error_like_any_other(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as failure:
        query(numbers(spark), Leaves).results().collect()
    said = root_cause(failure.value)
    assert "show.leaves 1.0.0 failed in compute_result: SystemExit: that is all" in said
    assert PLACE in said


def test_a_module_that_hangs_fails_the_batch_where_the_session_says_so(
    spark: SparkSession,
) -> None:
    hasty = setting(spark, "spark.muntin.watchdog.seconds", "1")
    failing = setting(spark, "spark.muntin.watchdog.fail", "true")
    with hasty, failing, pytest.raises(PySparkException) as failure:
        query(numbers(spark), Hangs).results().collect()
    said = root_cause(failure.value)
    assert "show.hangs 1.0.0 failed in compute_result: RunsTooLongError: the watchdog" in said
    assert PLACE in said


def test_a_setting_that_cannot_be_read_is_refused(spark: SparkSession) -> None:
    with (
        setting(spark, "spark.muntin.watchdog.seconds", "soon"),
        pytest.raises(SetupError, match=r"watchdog\.seconds is 'soon'(.|\n)*such as 60"),
    ):
        query(numbers(spark), Hangs).results()
