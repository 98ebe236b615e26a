"""TiLT's applications as queries: how each is evaluated, and the answer of one that is a chain of all there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest
from pyspark.sql import SparkSession

from benchmarks.data import Data, table_of
from benchmarks.tilt import questions
from benchmarks.windows import Tilt
from benchmarks.windows.windows import Rows
from muntin_engine import EventStream, Query, events

EVALUATORS: Final[dict[Callable[[EventStream], Query], list[str]]] = {
    questions.strength: ["pairing", "columnar"],
    questions.normalised: ["columnar", "pairing"],
    questions.resampled: ["general"],
    questions.beats: ["event_by_event"],
    questions.vibration: ["columnar"],
    questions.unusual: ["columnar", "pairing"],
}


@pytest.fixture(scope="module")
def readings(spark: SparkSession) -> EventStream:
    return events(spark.createDataFrame(table_of(Data(1, 1_000, 1, "regular"), 0)), key="key", at="at", buckets=2)


def evaluators_of(query: Query) -> list[str]:
    return [line.split()[1].rstrip(":") for line in query.explain().splitlines() if line.startswith("evaluator ")]


def test_each_question_has_the_evaluators_that_the_page_says(readings: EventStream) -> None:
    assert {question: evaluators_of(question(readings)) for question in EVALUATORS} == EVALUATORS


def test_the_trend_that_a_chain_of_four_queries_finds_is_that_of_plain_arithmetic(readings: EventStream) -> None:
    query = questions.trend(readings)
    assert evaluators_of(query) == ["columnar", "columnar", "pairing", "event_by_event"]
    rows = query.results().selectExpr("unix_micros(lifetime.start) AS at", "short - long AS gap")
    found = sorted((row.at, row.gap) for row in rows.collect())
    table = table_of(Data(1, 1_000, 1, "regular"), 0)
    at = table["at"].cast("int64").to_numpy()
    right = Tilt("trend").answers("readings", Rows(table["key"].to_numpy(), at, at + 1, table["value"].to_numpy()))
    expected = list(zip(right["start"].cast("int64").to_pylist(), right["value"].to_pylist(), strict=True))
    in_full = [row for row in found if row[0] <= at.max() + 1_000_000]  # at the end windows run empty
    assert [time for time, _ in in_full] == [time for time, _ in expected]
    np.testing.assert_allclose([gap for _, gap in in_full], [gap for _, gap in expected], rtol=1e-9)
    assert len(expected) > 20
