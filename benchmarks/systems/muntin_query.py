"""A question as a query of Muntin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from benchmarks.question import Question
from benchmarks.windows import Calendar, Hopping, LastRows, Session, Windows
from muntin import Module, WindowSpecification, calendar, hopping, last, session
from muntin_engine import events, module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKETS: Final = 4
"""Two per core of the session; Spark's own systems have as many state partitions as it has cores."""


def muntin_results(
    stream: DataFrame,
    question: Question,
    aggregate: str | type[Module],
    evaluator: Literal["columnar", "sliced", "general", "in_order"],
) -> DataFrame:
    """Return the results of an aggregate under an evaluator, as `key`, `start` and `value`."""
    is_by_rows = isinstance(question.windows, LastRows)
    order = "at" if is_by_rows else None  # times of a key differ
    start = "window.end - interval 1 microsecond" if is_by_rows else "window.start"
    return (
        events(stream, key="key", at="at", order=order, delay=f"{question.delay} seconds", buckets=BUCKETS)
        .window(specification_of(question.windows), evaluator=evaluator)
        .aggregate(value=module(aggregate, "value"))
        .results()
        .selectExpr("key", f"{start} AS start", "value")
    )


def specification_of(windows: Windows) -> WindowSpecification:
    """Return windows as Muntin writes them."""
    match windows:
        case Hopping(size, hop):
            return hopping(f"{size} seconds", f"{hop} seconds")
        case Session(gap):
            return session(f"{gap} seconds")
        case Calendar(zone):
            return calendar("day", zone=zone)
        case LastRows(size, every):
            return last(size).trigger(every)
    raise TypeError(f"there is no {windows} in Muntin")
