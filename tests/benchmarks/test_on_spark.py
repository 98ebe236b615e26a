"""On Spark: TiLT's applications as queries, how each is evaluated, and systems that give the right answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from benchmarks.checking import check, closed, expected_answers
from benchmarks.data import Data, table_of, write_data
from benchmarks.question import Question
from benchmarks.systems.muntin_streams import MuntinStreams
from benchmarks.systems.static import MUNTIN_STATIC
from benchmarks.tilt import questions
from benchmarks.windows import Tilt, Views
from benchmarks.windows.tilt import APPLICATIONS
from benchmarks.windows.windows import Rows
from muntin_engine import EventStream, Query, events
from tests.benchmarks.build import QUESTION
from tests.docs.pages import DOCS


@pytest.fixture(scope="module")
def readings(spark: SparkSession) -> EventStream:
    return events(spark.createDataFrame(table_of(Data(1, 1_000, 1, "regular"), 0)), key="key", at="at", buckets=2)


def evaluators_of(query: Query) -> list[str]:
    return [line.split()[1].rstrip(":") for line in query.plan_text().splitlines() if line.startswith("evaluator ")]


def test_each_question_has_the_evaluators_that_the_page_says(readings: EventStream) -> None:
    text = (DOCS / "how-to/signals-and-payments.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| [")]
    said = dict(zip(APPLICATIONS, [row[-1].replace("event by event", "event_by_event") for row in rows], strict=True))
    found = {name: evaluators_of(getattr(questions, name)(readings)) for name in APPLICATIONS}
    assert {name: ", ".join(dict.fromkeys(some)) for name, some in found.items()} == said
    assert found["trend"] == ["columnar", "columnar", "pairing", "event_by_event"]


def test_the_trend_that_a_chain_of_four_queries_finds_is_that_of_plain_arithmetic(readings: EventStream) -> None:
    rows = questions.trend(readings).results().selectExpr("unix_micros(lifetime.start) AS at", "short - long AS gap")
    found = sorted((row.at, row.gap) for row in rows.collect())
    table = table_of(Data(1, 1_000, 1, "regular"), 0)
    at = table["at"].cast("int64").to_numpy()
    right = Tilt("trend").answers("readings", Rows(table["key"].to_numpy(), at, at + 1, table["value"].to_numpy()))
    expected = list(zip(right["start"].cast("int64").to_pylist(), right["value"].to_pylist(), strict=True))
    in_full = [row for row in found if row[0] <= at.max() + 1_000_000]  # at the end windows run empty
    assert [time for time, _ in in_full] == [time for time, _ in expected]
    np.testing.assert_allclose([gap for _, gap in in_full], [gap for _, gap in expected], rtol=1e-9)
    assert len(expected) > 20


def test_systems_on_spark_give_the_right_answers(spark: SparkSession, tmp_path: Path) -> None:
    files = write_data(Data(20, 2_000, 1), tmp_path)
    stream = spark.read.parquet(str(files.paths[0]))
    views = Question("count", Views(10))
    expected = closed(expected_answers(views, files), views, files)
    found = MuntinStreams().results(stream, views).toArrow()
    assert check("muntin", views, expected, closed(found, views, files)) > 500
    for system in MUNTIN_STATIC:
        found = system.results(stream, QUESTION).toArrow()
        assert check(system.name, QUESTION, expected_answers(QUESTION, files), found) > 300
