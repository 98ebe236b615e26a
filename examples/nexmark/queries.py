"""Nexmark's queries 0 to 9 and 11, over the tables of an auction site.

An auction lives as long as it is open, so a bid for it falls into its lifetime, and finding the bids of an auction is
a join. What was won is known when the auction closes. Query 10 writes log files and query 12 counts by the clock of
the machine: a table that is read once has neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from examples.nexmark.modules import HighestBids, HotItems
from examples.nexmark.site import MOST_OPEN, SECOND, Site
from muntin import hopping, session, tumbling
from muntin.rows import last
from muntin_engine import EventStream, Query, events, module

USD_TO_EURO: Final = 0.89
SKIP: Final = 7
"""Query 2 keeps the bids for auctions whose number is a multiple of this."""

SIZE: Final = 10 * SECOND
PERIOD: Final = 5 * SECOND
"""The length of a window, and the time from the start of one to the start of the next."""

GAP: Final = 10 * SECOND
"""The time without a bid that ends a session."""

LIFE_OF_THE_SITE: Final = 1_000 * SECOND
"""Longer than anything on the site lasts."""

BUCKETS: Final = 2


class Tables(NamedTuple):
    """The site as DataFrames, with times in milliseconds."""

    bids: DataFrame
    auctions: DataFrame
    people: DataFrame


class Question(NamedTuple):
    """A query of Nexmark: what it asks, and the rows that answer it."""

    asks: str
    answer: Callable[[Tables], DataFrame]


def tables_of(spark: SparkSession, site: Site) -> Tables:
    """Return the people, auctions and bids of a site as DataFrames."""
    return Tables(
        spark.createDataFrame(site.bids, "auction long, bidder long, price long, at long"),
        spark.createDataFrame(site.auctions),
        spark.createDataFrame(site.people),
    )


def bids_of_auctions(tables: Tables) -> EventStream[DataFrame]:
    """Return the bids as events, with their auctions as keys."""
    return events(tables.bids, key="auction", at="at", buckets=BUCKETS)


def auctions_by(tables: Tables, key: str) -> EventStream[DataFrame]:
    """Return the auctions as events that last as long as they are open."""
    return events(tables.auctions, key=key, start="at", end="expires", buckets=BUCKETS)


def people_by_id(tables: Tables) -> EventStream[DataFrame]:
    """Return the people as events, at the time when they came."""
    return events(tables.people, key="id", at="at", buckets=BUCKETS)


def bid_columns(events_of_bids: DataFrame) -> DataFrame:
    """Return bids as Nexmark has them; as events they have a lifetime in the place of their time."""
    return events_of_bids.selectExpr("auction", "bidder", "price", "lifetime.start AS at")


def all_bids(tables: Tables) -> DataFrame:
    """Query 0: every bid, as it is."""
    return bid_columns(bids_of_auctions(tables).results())


def bids_in_euros(tables: Tables) -> DataFrame:
    """Query 1: every bid, with its price in euros."""
    euros = bids_of_auctions(tables).with_columns(euros=f"price * {USD_TO_EURO}D").results()
    return bid_columns(euros.withColumn("price", F.col("euros")))


def bids_for_some_auctions(tables: Tables) -> DataFrame:
    """Query 2: auction and price of the bids for some auctions."""
    return bids_of_auctions(tables).where(f"auction % {SKIP} = 0").results().select("auction", "price")


def local_items(tables: Tables) -> DataFrame:
    """Query 3: the auctions of category 10 of sellers in Oregon, Idaho and California."""
    whole_time = tumbling(LIFE_OF_THE_SITE)
    western = people_by_id(tables).where("state IN ('OR', 'ID', 'CA')").align_to(whole_time)
    opened = auctions_by(tables, "seller").where("category = 10").align_to(whole_time)
    pairs = western.join(opened, left_columns=["name", "city", "state"], right_columns={"auction": "id"})
    return pairs.results().select("name", "city", "state", "auction")


def winning_bids(tables: Tables) -> Query[DataFrame]:
    """Query 9: each auction that was won, with the highest bid, or the first of several equal ones."""
    bids = bids_of_auctions(tables).set_duration(MOST_OPEN)
    offers = bids.join(
        auctions_by(tables, "id"),
        left_columns={"price": "price", "bid_at": "at"},
        right_columns=["seller", "category", "reserve"],
    )
    # An offer lasts until its auction closes; at the last moment all offers of an auction are there together.
    closing = offers.as_events(key="auction", buckets=BUCKETS).where("price >= reserve").to_points("end").shift(-1)
    # Of offers at one price, `top_by` takes the greatest: the negative time is greatest for the first bid.
    offer = F.struct(F.expr("-bid_at").alias("first"), "seller", "category", "price")
    return closing.window(tumbling(1)).apply(module("stats.top_by", offer, "price", k=1))


def winners(tables: Tables) -> DataFrame:
    """Query 9, as rows: auction, price, the time of the bid and the last moment of the auction."""
    rows = winning_bids(tables).results()
    return rows.selectExpr("auction", "by AS price", "-value.first AS bid_at", "window.start AS closes")


def price_per_category(tables: Tables) -> DataFrame:
    """Query 4: the mean price of what was won, for each category and window."""
    sold = winning_bids(tables).as_events(key="value.category", buckets=BUCKETS)
    means = sold.window(hopping(2 * SIZE, 2 * PERIOD)).aggregate(mean=module("stats.average", "by"))
    return means.results().selectExpr("window.start", "category", "mean")


def hot_items(tables: Tables) -> DataFrame:
    """Query 5: the auctions with the most bids of each window."""
    bids = events(tables.bids, at="at", buckets=1)
    hottest = bids.window(hopping(SIZE, PERIOD)).apply(module(HotItems, "auction"))
    return hottest.results().selectExpr("window.start", "auction", "num")


def price_per_seller(tables: Tables) -> DataFrame:
    """Query 6: the mean price of the last ten auctions that each seller sold."""
    sold = winning_bids(tables).as_events(key="value.seller", order="auction", buckets=BUCKETS).to_points()
    means = sold.window(last(10)).aggregate(mean=module("stats.average", "by"))
    return means.results().groupBy("seller").agg(F.max_by("mean", "window.end").alias("mean"))


def highest_bids(tables: Tables) -> DataFrame:
    """Query 7: the bids at the highest price of each window."""
    bids = events(tables.bids, at="at", buckets=1)
    highest = bids.window(tumbling(SIZE)).apply(module(HighestBids, F.struct("auction", "bidder", "price", "at")))
    return highest.results().selectExpr("window.start", "auction", "bidder", "price", "at")


def new_sellers(tables: Tables) -> DataFrame:
    """Query 8: the people who opened an auction in the window in which they came, with its reserve."""
    window = tumbling(2 * PERIOD)
    came = people_by_id(tables).align_to(window)
    opened = auctions_by(tables, "seller").to_points().align_to(window)
    return came.join(opened, left_columns=["name"], right_columns=["reserve"]).results().select("id", "name", "reserve")


def bids_per_session(tables: Tables) -> DataFrame:
    """Query 11: how many bids each bidder made in each session.

    Bids that are exactly the gap apart are two sessions in Nexmark. In Muntin they would be one, so the gap is a tick
    shorter, and so are the sessions.
    """
    bids = events(tables.bids, key="bidder", at="at", buckets=BUCKETS)
    sessions = bids.window(session(GAP - 1)).aggregate(bids=module("stats.count", "auction"))
    return sessions.results().selectExpr("bidder", "window.start", f"window.end - {GAP - 1} AS last", "bids")


QUESTIONS: Final[Mapping[int, Question]] = {
    0: Question("Every bid", all_bids),
    1: Question("Every bid, with its price in euros", bids_in_euros),
    2: Question("The bids for some auctions", bids_for_some_auctions),
    3: Question("Who in the west sells something of category 10?", local_items),
    4: Question("The mean price of what was won, for each category and window", price_per_category),
    5: Question("Which auctions have the most bids of each window?", hot_items),
    6: Question("The mean price of the last ten auctions of each seller", price_per_seller),
    7: Question("The highest bids of each window", highest_bids),
    8: Question("Who came and opened an auction in one window?", new_sellers),
    9: Question("Which bid won each auction?", winners),
    11: Question("How many bids does each bidder make per session?", bids_per_session),
}
