"""Muntin: an average over windows, with each kind of module and on each evaluator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from benchmarks.data import SECOND
from benchmarks.questions.hopping import Hopping
from benchmarks.questions.last_rows import LastRows
from benchmarks.questions.lasting import FACTOR, SPREAD, LastingHops
from benchmarks.questions.question import Question
from benchmarks.questions.snapshots import Snapshot
from benchmarks.systems.muntin_windows import window_of
from benchmarks.systems.plain_averages import PlainAverage, WholeAverage
from benchmarks.systems.spark import StreamSystem, TableSystem
from muntin_engine import EventStream, ModuleCall, events, module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EvaluatorName: TypeAlias = Literal["auto", "columnar", "sliced", "grouped", "general", "ranked", "in_order"]

BUCKETS: Final = 4
"""Two per core of the session; Spark's own systems have as many state partitions as it has cores."""

BUILT_IN: Final = module("stats.average", "value")
WITH_COMBINE: Final = module(PlainAverage, "value")
CLASS: Final = module(WholeAverage, "value")
FUNCTION: Final = module(np.mean, "value", returns=float)


def of_stream(
    stream: DataFrame, question: Question, delay: int, *, aggregate: ModuleCall, evaluator: EvaluatorName = "auto"
) -> DataFrame:
    """Return the results of an aggregate over the windows of a question."""
    if isinstance(question, Hopping) and question.aggregate == "max":
        aggregate = module("stats.max", "value")
    emit: Literal["speculative", "final"] = "final"
    columns = ["value"]
    if isinstance(question, LastingHops) and question.is_speculative:
        emit = "speculative"
        columns.append("change")
    windows = events_of(stream, question, delay).window(window_of(question), emit=emit, evaluator=evaluator)
    results = windows.aggregate(value=aggregate).results()

    # Windows of rows are named by their newest row, which is a tick before their end.
    start = "window.end - interval 1 microsecond" if isinstance(question, LastRows) else "window.start"
    return results.selectExpr("key", f"{start} AS start", *columns)


def of_table(rows: DataFrame, question: Question, _: int, *, aggregate: ModuleCall) -> DataFrame:
    """Return the results of an aggregate over the windows of a static input."""
    windows = events(rows, key="key", at="at").window(window_of(question))
    return windows.aggregate(value=aggregate).results().selectExpr("key", "window.start AS start", "value")


def events_of(stream: DataFrame, question: Question, delay: int) -> EventStream[DataFrame]:
    """Return the rows of a stream as events: points, or with the lifetimes that a question gives them."""
    watermark = f"{delay} seconds"
    if isinstance(question, Snapshot | LastingHops):
        lasting = _with_ends(stream, question.longest)
        revisions: dict[str, Any] = {}
        if question.is_revised:
            lasting = _with_revisions(lasting)
            revisions = {"id": "id", "change": "change", "new_end": "new_end"}
        return events(lasting, key="key", start="at", end="end", watermark=watermark, buckets=BUCKETS, **revisions)
    order = "at" if isinstance(question, LastRows) else None  # times of a key differ
    return events(stream, key="key", at="at", order=order, watermark=watermark, buckets=BUCKETS)


def _with_ends(stream: DataFrame, longest: int) -> DataFrame:
    """Return rows with the ends that `ends_of` computes."""
    lasts = f"1 + unix_micros(at) % {SPREAD} * {FACTOR} % {longest * SECOND}"
    return stream.selectExpr("*", f"timestamp_micros(unix_micros(at) + {lasts}) AS end")


def _with_revisions(lasting: DataFrame) -> DataFrame:
    """Return two rows for each: one that inserts it without an end, and one that revises it."""
    no_end = "CAST(NULL AS timestamp) AS end"
    change = "explode(array('insert', 'revise')) AS change"
    return lasting.selectExpr("key", "at", "value", no_end, "end AS new_end", "unix_micros(at) AS id", change)


def _stream_system(name: str, aggregate: ModuleCall, evaluator: EvaluatorName = "auto") -> StreamSystem:
    return StreamSystem(name, partial(of_stream, aggregate=aggregate, evaluator=evaluator))


COLUMNAR: Final = _stream_system("muntin columnar", BUILT_IN, "columnar")
SLICED: Final = _stream_system("muntin sliced", WITH_COMBINE, "sliced")
GENERAL: Final = _stream_system("muntin general", WITH_COMBINE, "general")
WHOLE_CLASS: Final = _stream_system("muntin class", CLASS)
WHOLE_FUNCTION: Final = _stream_system("muntin function", FUNCTION)
RANKED: Final = _stream_system("muntin ranked", BUILT_IN, "ranked")
IN_ORDER: Final = _stream_system("muntin in order", BUILT_IN, "in_order")
REVISED: Final = _stream_system("muntin", BUILT_IN)

TABLE: Final = TableSystem("muntin static", partial(of_table, aggregate=BUILT_IN))
TABLE_KINDS: Final = (
    TableSystem("muntin static, combine", partial(of_table, aggregate=WITH_COMBINE)),
    TableSystem("muntin static, class", partial(of_table, aggregate=CLASS)),
    TableSystem("muntin static, function", partial(of_table, aggregate=FUNCTION)),
)
