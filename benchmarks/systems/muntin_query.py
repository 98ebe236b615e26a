"""A question as a query of Muntin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from benchmarks.data import MICROSECONDS
from benchmarks.question import Question
from benchmarks.windows import Calendar, Hopping, LastingHops, LastRows, Session, Snapshot, Windows
from benchmarks.windows.lasting import FACTOR, SPREAD
from muntin import calendar, hopping, session, snapshot
from muntin.rows import last
from muntin.windows import WindowSpecification
from muntin_engine import ModuleCall, events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKETS: Final = 4
"""Two per core of the session; Spark's own systems have as many state partitions as it has cores."""


def muntin_results(
    stream: DataFrame,
    question: Question,
    aggregate: ModuleCall,
    evaluator: Literal["auto", "columnar", "sliced", "grouped", "general", "in_order"],
) -> DataFrame:
    """Return the results of an aggregate under an evaluator, as `key`, `start`, `value`, and maybe `change`."""
    is_by_rows = isinstance(question.windows, LastRows)
    order = "at" if is_by_rows else None  # times of a key differ
    start = "window.end - interval 1 microsecond" if is_by_rows else "window.start"
    delay = f"{question.delay} seconds"
    if isinstance(question.windows, Snapshot | LastingHops):
        lasting, names = with_ends(stream, question.windows), dict[str, Any]()
        if question.windows.is_revised:
            lasting, names = with_revisions(lasting), {"id": "id", "change": "change", "new_end": "new_end"}
        known = events(lasting, key="key", start="at", end="end", watermark=delay, buckets=BUCKETS, **names)
    else:
        known = events(stream, key="key", at="at", order=order, watermark=delay, buckets=BUCKETS)
    is_speculative = isinstance(question.windows, LastingHops) and question.windows.is_speculative
    emit, changes = ("speculative", ["change"]) if is_speculative else ("final", [])
    return (
        known.window(specification_of(question.windows), emit=emit, evaluator=evaluator)
        .aggregate(value=aggregate)
        .results()
        .selectExpr("key", f"{start} AS start", "value", *changes)
    )


def with_ends(stream: DataFrame, windows: Snapshot | LastingHops) -> DataFrame:
    """Return rows with when they end, as `ends_of` says."""
    lengths = f"1 + unix_micros(at) % {SPREAD} * {FACTOR} % {windows.longest * MICROSECONDS}"
    return stream.selectExpr("*", f"timestamp_micros(unix_micros(at) + {lengths}) AS end")


def with_revisions(lasting: DataFrame) -> DataFrame:
    """Return two rows for each: one that inserts it without an end, and one that revises it."""
    nowhere, both = "CAST(NULL AS timestamp) AS end", "explode(array('insert', 'revise')) AS change"
    return lasting.selectExpr("key", "at", "value", nowhere, "end AS new_end", "unix_micros(at) AS id", both)


def specification_of(windows: Windows) -> WindowSpecification:
    """Return windows as Muntin writes them."""
    match windows:
        case Hopping(size, hop) | LastingHops(size, hop):
            return hopping(f"{size} seconds", f"{hop} seconds")
        case Session(gap):
            return session(f"{gap} seconds")
        case Calendar(zone):
            return calendar("day", zone=zone)
        case LastRows(size, every):
            return last(size).trigger(every)
        case Snapshot():
            return snapshot()
    raise TypeError(f"there is no {windows} in Muntin")
