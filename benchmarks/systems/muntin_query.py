"""A question as a query of Muntin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from benchmarks.question import Question
from muntin import Module, WindowKind, hopping, session
from muntin_engine import events, module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKETS: Final = 4
"""Two per core of the session; Spark's own systems have as many state partitions as it has cores."""


def muntin_results(
    stream: DataFrame,
    question: Question,
    aggregate: str | type[Module],
    evaluator: Literal["columnar", "sliced", "general"],
) -> DataFrame:
    """Return the results of an aggregate under an evaluator, as `key`, `start` and `value`."""
    size = f"{question.size} seconds"
    window: WindowKind = session(size) if question.is_session else hopping(size, f"{question.hop} seconds")
    return (
        events(stream, key="key", at="at", delay=f"{question.delay} seconds", buckets=BUCKETS)
        .window(window, evaluator=evaluator)
        .aggregate(value=module(aggregate, "value"))
        .results()
        .selectExpr("key", "window.start AS start", "value")
    )
