"""The demo in the session of the tests: its final results, and which evaluator each question gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from demo.questions import QUESTIONS
from demo.run import Choice, Run
from tests.demo.files import DAYS, TRUTH, Question, assert_right


@pytest.fixture(scope="module")
def answers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the demo has put its files."""
    folder = tmp_path_factory.mktemp("demo")
    run = Run(folder, Choice(days=DAYS))
    batches = run.prepare()
    run.start(spark).awaitTermination()
    assert run.batches_done() == batches
    run.finish(spark)
    return folder


@pytest.mark.cases(1)
@pytest.mark.parametrize("question", TRUTH)
def test_final_results_are_what_plain_pandas_says(answers: Path, question: Question) -> None:
    assert_right(question, answers)


FLIGHTS = """
    id long, change string, departure timestamp, end timestamp, new_end timestamp, origin string, carrier string,
    tailnum string, distance double, dep_delay double
"""


@pytest.mark.parametrize(
    ("question", "evaluator"), [("airborne", "columnar"), ("delays", "columnar"), ("cascades", "general")]
)
def test_a_question_gets_the_cheapest_evaluator_that_is_right(
    spark: SparkSession, question: str, evaluator: str
) -> None:
    query = QUESTIONS[question](spark.createDataFrame([], FLIGHTS))
    assert query.plan.choice.evaluator == evaluator
    assert f"\nevaluator   {evaluator}: " in query.plan_text()
