"""Nexmark's queries give the answers that follow from all events at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from examples.nexmark import __main__ as program
from examples.nexmark.queries import GAP, PERIOD, QUESTIONS, SIZE, SKIP, Tables, tables_of
from examples.nexmark.site import Bid, Site, random_bids, random_site
from tests.examples import nexmark_answers as answers
from tests.examples.nexmark_answers import Rows

SEED = 5
AUCTION_COUNT = 60
BID_COUNT = 300


@pytest.fixture(scope="module")
def site() -> Site:
    """People and auctions with their bids, over which the queries that join are run."""
    site = random_site(SEED, AUCTION_COUNT)
    ends_of_sellers = {(auction.seller, auction.expires) for auction in site.auctions}
    assert len(ends_of_sellers) == AUCTION_COUNT, "it is clear which auctions of a seller are the last ones"
    return site


@pytest.fixture(scope="module")
def bids() -> list[Bid]:
    """Bids with hot auctions, bursts and pauses, over which the queries with windows are run."""
    return random_bids(SEED, BID_COUNT)


def rows_of(answer: DataFrame) -> Rows:
    """Return how often an answer has each row."""
    return Counter(map(tuple, answer.collect()))


# By the numbers of the queries, what their answers must be.

WINDOWED: dict[int, Callable[[list[Bid]], Rows]] = {
    2: lambda bids: answers.bids_for_some(bids, SKIP),
    5: lambda bids: answers.hot_items(bids, SIZE, PERIOD),
    7: lambda bids: answers.highest_bids(bids, SIZE),
    11: lambda bids: answers.bids_per_session(bids, GAP),
}


@pytest.mark.cases(2)
@pytest.mark.parametrize("number", WINDOWED)
def test_a_query_of_bids_has_its_rows(spark: SparkSession, bids: list[Bid], number: int) -> None:
    one_auction = random_site(SEED, 1)
    tables = tables_of(spark, Site(people=one_auction.people, auctions=one_auction.auctions, bids=bids))

    rows = rows_of(QUESTIONS[number].answer(tables))

    assert rows == WINDOWED[number](bids)
    assert sum(rows.values()) > 10


def test_query_0_has_every_bid_and_query_1_each_with_its_price_in_euros(spark: SparkSession, site: Site) -> None:
    tables = tables_of(spark, site)
    assert rows_of(QUESTIONS[0].answer(tables)) == Counter(map(tuple, site.bids))
    assert rows_of(QUESTIONS[1].answer(tables)) == answers.prices_in_euros(site.bids)


JOINED: dict[int, Callable[[Site], Rows]] = {
    3: answers.local_items,
    4: lambda site: answers.price_per_category(site, 2 * SIZE, 2 * PERIOD),
    8: lambda site: answers.sellers_who_are_new(site, 2 * PERIOD),
    9: lambda site: Counter(
        (auction.id, bid.price, bid.at, auction.expires - 1) for auction, bid in answers.winning_bids(site)
    ),
}


@pytest.mark.cases(2)
@pytest.mark.parametrize("number", JOINED)
def test_a_query_that_joins_has_its_rows(spark: SparkSession, site: Site, number: int) -> None:
    rows = rows_of(QUESTIONS[number].answer(tables_of(spark, site)))
    assert rows == JOINED[number](site)
    assert sum(rows.values()) > 3


def test_query_6_has_the_mean_price_of_the_last_ten_auctions(spark: SparkSession, site: Site) -> None:
    price_of_seller = dict(map(tuple, QUESTIONS[6].answer(tables_of(spark, site)).collect()))

    expected: dict[Any, float] = dict(answers.price_per_seller(site).elements())
    assert price_of_seller == pytest.approx(expected, rel=1e-12)
    sales_of_seller = Counter(auction.seller for auction, _ in answers.winning_bids(site))
    assert max(sales_of_seller.values()) > 10, "there are earlier ones to leave out"


def test_the_program_prints_answers(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    program.print_answers(spark, [7], seed=5, rows=2)
    printed = capsys.readouterr().out
    assert printed.startswith("Query 7: The highest bids of each window")
    assert "only showing top 2 rows" in printed


def test_the_program_refuses_a_query_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["12"])
    assert "there is no query 12 here" in capsys.readouterr().err


def test_every_query_has_a_test() -> None:
    assert {*WINDOWED, *JOINED, 0, 1, 6} == {*QUESTIONS}


def test_tables_have_all_rows_of_the_site(spark: SparkSession, site: Site) -> None:
    tables = tables_of(spark, site)
    for name in Tables._fields:
        assert getattr(tables, name).count() == len(getattr(site, name)), name
