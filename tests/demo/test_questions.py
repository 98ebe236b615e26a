"""Which evaluator each question gets."""

import pytest
from pyspark.sql import SparkSession

from demo.questions import QUESTIONS

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
    assert f"\nevaluator   {evaluator}: " in query.explain()
