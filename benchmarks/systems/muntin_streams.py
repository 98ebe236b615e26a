"""Muntin where streams meet, are changed or revised, or follow one another, on the evaluators that it chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.question import Question
from benchmarks.systems.muntin_query import BUCKETS, muntin_results
from benchmarks.systems.muntin_tilt import tilt_results
from benchmarks.systems.passed import Passed
from benchmarks.systems.system import SparkSystem
from benchmarks.systems.viewed import viewed
from benchmarks.windows import Band, LastingHops, Nexmark, Tilt, Views
from benchmarks.windows.band import IS_LEFT
from benchmarks.windows.nexmark import ARE_AUCTIONS, ARE_PEOPLE, EURO, PERIOD, SIZE, SKIP
from muntin import hopping, tumbling
from muntin_engine import EventStream, events, module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class MuntinStreams(SparkSystem):
    """Joins, chains, stream operators, and windows of revised events."""

    name = "muntin"
    has = (Band, Nexmark, Tilt, LastingHops, Views)

    def results(self, stream: DataFrame, question: Question) -> DataFrame:
        """Return the results."""
        if isinstance(question.windows, Tilt):
            return tilt_results(stream, question)
        if isinstance(question.windows, LastingHops):
            return muntin_results(stream, question, module(f"stats.{question.aggregate}", "value"), "auto")
        delay, windows = f"{question.delay} seconds", question.windows

        def known(condition: str | None = None, key: str | None = "key") -> EventStream:
            rows = stream if condition is None else stream.where(condition)
            return events(rows, key=key, at="at", watermark=delay, buckets=BUCKETS)

        if isinstance(windows, Band):
            left, right = (known(some).extend(f"{windows.reach} seconds") for some in (IS_LEFT, f"NOT ({IS_LEFT})"))
            pairs = left.join(right, left_columns={"left_at": "at"}, right_columns=["value"])
            return pairs.results().selectExpr("key", "left_at AS start", "value")
        if isinstance(windows, Views):
            seen = events(viewed(stream), key="campaign", at="at", watermark=delay, buckets=BUCKETS)
            views = seen.window(tumbling(f"{windows.size} seconds")).aggregate(n=module("stats.count"))
            return views.results().selectExpr("campaign AS key", "window.start AS start", "CAST(n AS double) AS value")
        assert isinstance(windows, Nexmark)
        match windows.query:
            case 5:
                counted = known().window(hopping(f"{SIZE} seconds", f"{PERIOD} seconds"))
                of_windows = counted.aggregate(n=module("stats.count")).as_events(key=None, buckets=1).to_points()
                hot = of_windows.window(tumbling(f"{PERIOD} seconds"))
                return _best(hot.apply(module("stats.top_by", "key", "n", k=1, ties="all")).results())
            case 7:
                of_all = known(key=None).window(tumbling(f"{SIZE} seconds"))
                return _best(of_all.apply(module("stats.top_by", "key", "value", k=1)).results())
            case 8:
                whole = tumbling(f"{SIZE} seconds")
                came, opened = (known(some).align_to(whole) for some in (ARE_PEOPLE, ARE_AUCTIONS))
                return (
                    came.join(opened, right_columns={"price": "value"}).results().selectExpr(*_row("lifetime", "price"))
                )
        # no delay: an operator without a state waits for no watermark, as Spark's `select` does
        bids = events(stream, key="key", at="at", buckets=BUCKETS)
        match windows.query:
            case 0:
                followed, value = bids, "value"
            case 1:
                followed, value = bids.with_columns(euros=f"value * {EURO}D"), "euros"
            case _:
                followed, value = bids.where(f"key % {SKIP} = 0"), "value"
        return followed.apply(module(Passed, value)).results().selectExpr(*_row("lifetime", "value"))


def _best(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("value AS key", "window.start AS start", "CAST(by AS double) AS value")


def _row(lifetime: str, value: str) -> tuple[str, ...]:
    return "key", f"{lifetime}.start AS start", f"{value} AS value"
