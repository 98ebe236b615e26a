"""Muntin where streams meet, or follow one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.questions.band import IS_LEFT, Band
from benchmarks.questions.nexmark import ARE_AUCTIONS, ARE_PEOPLE, EURO, PERIOD, SIZE, SKIP, Nexmark
from benchmarks.questions.question import Question
from benchmarks.questions.views import Views
from benchmarks.systems.muntin import BUCKETS
from benchmarks.systems.spark import StreamSystem
from benchmarks.systems.spark_sql import campaigns_of_views
from muntin import StreamOperator, hopping, tumbling
from muntin_engine import EventStream, events, module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Passed(StreamOperator[float, None, float]):
    """A stream operator without a state that passes values on."""

    name, version = "bench.passed", "1.0"

    def on_event(self, state: None, payload: float, time: int) -> list[float]:
        """Return the value."""
        return [payload]


def of_joins(stream: DataFrame, question: Question, delay: int) -> DataFrame:
    """Return the results of a join, of views per campaign, or of a query of Nexmark."""
    watermark = f"{delay} seconds"
    match question:
        case Band(reach):
            left = _events(stream.where(IS_LEFT), watermark).extend(f"{reach} seconds")
            right = _events(stream.where(f"NOT ({IS_LEFT})"), watermark).extend(f"{reach} seconds")
            pairs = left.join(right, left_columns={"left_at": "at"}, right_columns=["value"])
            return pairs.results().selectExpr("key", "left_at AS start", "value")
        case Views(size):
            views = events(campaigns_of_views(stream), key="campaign", at="at", watermark=watermark, buckets=BUCKETS)
            counted = views.window(tumbling(f"{size} seconds")).aggregate(n=module("stats.count"))
            return counted.results().selectExpr(
                "campaign AS key", "window.start AS start", "CAST(n AS double) AS value"
            )
        case Nexmark(5):
            return _hot_auctions(_events(stream, watermark))
        case Nexmark(7):
            of_all = events(stream, at="at", watermark=watermark, buckets=BUCKETS).window(tumbling(f"{SIZE} seconds"))
            return _best(of_all.apply(module("stats.top_by", "key", "value", k=1)).results())
        case Nexmark(8):
            windows = tumbling(f"{SIZE} seconds")
            people = _events(stream.where(ARE_PEOPLE), watermark).align_to(windows)
            auctions = _events(stream.where(ARE_AUCTIONS), watermark).align_to(windows)
            sellers = people.join(auctions, right_columns={"price": "value"})
            return sellers.results().selectExpr("key", "lifetime.start AS start", "price AS value")
        case Nexmark(query):
            # Without a delay: an operator without a state waits for no watermark, as Spark's `select` does.
            return _passed(events(stream, key="key", at="at", buckets=BUCKETS), query)
    raise TypeError(f"there is no {question} here")


def _events(rows: DataFrame, watermark: str) -> EventStream[DataFrame]:
    """Return rows as events that are points."""
    return events(rows, key="key", at="at", watermark=watermark, buckets=BUCKETS)


def _passed(bids: EventStream[DataFrame], query: int) -> DataFrame:
    """Pass bids on: all for query 0 of Nexmark, in euros for query 1, those for some auctions for query 2."""
    value = "value"
    if query == 1:
        bids = bids.with_columns(euros=f"value * {EURO}D")
        value = "euros"
    elif query == 2:
        bids = bids.where(f"key % {SKIP} = 0")
    return bids.apply(module(Passed, value)).results().selectExpr("key", "lifetime.start AS start", "value")


def _hot_auctions(bids: EventStream) -> DataFrame:
    """Return the auctions with the most bids of each hopping window: query 5 of Nexmark.

    The count of an auction becomes a point at the start of its window. Windows start every `PERIOD` seconds, so the
    counts of one window are those in a tumbling window of that length.
    """
    counted = bids.window(hopping(f"{SIZE} seconds", f"{PERIOD} seconds")).aggregate(n=module("stats.count"))
    counts = counted.as_events(key=None, buckets=1).to_points()
    of_windows = counts.window(tumbling(f"{PERIOD} seconds"))
    return _best(of_windows.apply(module("stats.top_by", "key", "n", k=1, ties="all")).results())


def _best(rows: DataFrame) -> DataFrame:
    """Return results of `stats.top_by` as answers, with the value by which rows were ranked."""
    return rows.selectExpr("value AS key", "window.start AS start", "CAST(by AS double) AS value")


MUNTIN_JOINS: Final = StreamSystem("muntin", of_joins)
