"""Nexmark's queries that join streams, on Spark, compared with the answers from all events at once.

An auction lives while it is open, so a bid for it falls into that life, and a join is all that is needed.
What is won is known when the auction closes: the pair of an auction and a bid ends then.
"""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from muntin import hopping, tumbling
from muntin.rows import last
from muntin_engine import EventStream, Query, events, module
from tests.nexmark.answers import local_items, price_per_category, price_per_seller, sellers_who_are_new, winning_bids
from tests.nexmark.site import MOST_OPEN, SECOND, Site, random_site

SIZE, PERIOD = 20 * SECOND, 10 * SECOND


@pytest.fixture(scope="module")
def site() -> Site:
    found = random_site(5, 60)
    assert len({(auction.seller, auction.expires) for auction in found.auctions}) == 60  # what is last is clear
    return found


def auctions(spark: SparkSession, site: Site, key: str) -> EventStream:
    return events(spark.createDataFrame(site.auctions), key=key, start="at", end="expires", buckets=2)


def people(spark: SparkSession, site: Site) -> EventStream:
    return events(spark.createDataFrame(site.people), key="id", at="at", buckets=2)


def won(spark: SparkSession, site: Site) -> Query:
    """Return what was won, with the bid that did, at the last moments of auctions (query 9)."""
    bids = events(spark.createDataFrame(site.bids), key="auction", at="at", buckets=2).set_duration(MOST_OPEN)
    about = ["seller", "category", "reserve"]
    offered = bids.join(
        auctions(spark, site, "id"), left_columns={"price": "price", "bid_at": "at"}, right_columns=about
    )
    closing = offered.as_events(key="auction", buckets=2).where("price >= reserve").to_points("end").shift(-1)
    row = F.struct(F.expr("-bid_at").alias("first"), "seller", "category", "price")
    return closing.window(tumbling(1)).apply(module("stats.top_by", row, "price", k=1))


def test_query_3_names_the_auctions_of_sellers_in_the_west(spark: SparkSession, site: Site) -> None:
    western = people(spark, site).where("state IN ('OR', 'ID', 'CA')").align_to(tumbling(1_000 * SECOND))
    opened = auctions(spark, site, "seller").where("category = 10").align_to(tumbling(1_000 * SECOND))
    about = ["name", "city", "state"]
    joined = western.join(opened, left_columns=about, right_columns={"auction": "id"}).results()
    assert Counter(map(tuple, joined.select("name", "city", "state", "auction").collect())) == local_items(site)


def test_query_8_names_sellers_who_are_new(spark: SparkSession, site: Site) -> None:
    came = people(spark, site).align_to(tumbling(PERIOD))
    opened = auctions(spark, site, "seller").to_points().align_to(tumbling(PERIOD))
    joined = came.join(opened, left_columns=["name"], right_columns=["reserve"]).results()
    found = Counter(map(tuple, joined.select("id", "name", "reserve").collect()))
    assert found == sellers_who_are_new(site, PERIOD)
    assert len(found) > 3


def test_query_9_names_what_was_won_and_query_4_its_mean_price_per_category(spark: SparkSession, site: Site) -> None:
    winners = won(spark, site)
    rows = winners.results().select("auction", "by", "value.first", "window.start").collect()
    expected = winning_bids(site)
    assert Counter(map(tuple, rows)) == Counter(
        (auction.id, bid.price, -bid.at, auction.expires - 1) for auction, bid in expected
    )
    sold = winners.as_events(key="value.category", buckets=2)
    means = sold.window(hopping(SIZE, PERIOD)).aggregate(mean=module("stats.average", "by")).results()
    found = Counter(map(tuple, means.select("window.start", "category", "mean").collect()))
    assert found == price_per_category(site, SIZE, PERIOD)


def test_query_6_follows_the_mean_price_of_the_last_ten_that_a_seller_sold(spark: SparkSession, site: Site) -> None:
    sold = won(spark, site).as_events(key="value.seller", order="auction", buckets=2).to_points()
    of_last = sold.window(last(10)).aggregate(mean=module("stats.average", "by"))
    newest = of_last.results().groupBy("seller").agg(F.max_by("mean", "window.end"))
    found = dict(map(tuple, newest.collect()))
    expected: dict[int, float] = dict(price_per_seller(site).elements())
    assert found == pytest.approx(expected, rel=1e-12)
    assert max(Counter(auction.seller for auction, _ in winning_bids(site)).values()) > 10
