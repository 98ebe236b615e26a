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

AUCTIONS = 60
BIDS = 300


@pytest.fixture(scope="module")
def site() -> Site:
    """People and auctions with their bids: what joins are asked of."""
    site = random_site(5, AUCTIONS)
    assert len({(auction.seller, auction.expires) for auction in site.auctions}) == AUCTIONS  # the last one is clear
    return site


@pytest.fixture(scope="module")
def bids() -> list[Bid]:
    """Bids with hot auctions, bursts and pauses: what windows are asked of."""
    return random_bids(5, BIDS)


def rows_of(answer: DataFrame) -> Rows:
    return Counter(map(tuple, answer.collect()))


WINDOWED: dict[int, Callable[[list[Bid]], Rows]] = {
    2: lambda bids: answers.bids_for_some(bids, SKIP),
    5: lambda bids: answers.hot_items(bids, SIZE, PERIOD),
    7: lambda bids: answers.highest_bids(bids, SIZE),
    11: lambda bids: answers.bids_per_session(bids, GAP),
}


@pytest.mark.cases(2)
@pytest.mark.parametrize("number", WINDOWED)
def test_a_query_of_bids_has_its_rows(spark: SparkSession, bids: list[Bid], number: int) -> None:
    tables = tables_of(spark, Site(people=random_site(5, 1).people, auctions=random_site(5, 1).auctions, bids=bids))
    rows = rows_of(QUESTIONS[number].answer(tables))
    assert rows == WINDOWED[number](bids)
    assert sum(rows.values()) > 10


def test_queries_0_and_1_have_every_bid(spark: SparkSession, site: Site) -> None:
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
    sellers = dict(map(tuple, QUESTIONS[6].answer(tables_of(spark, site)).collect()))
    expected: dict[Any, float] = dict(answers.price_per_seller(site).elements())
    assert sellers == pytest.approx(expected, rel=1e-12)
    assert max(Counter(auction.seller for auction, _ in answers.winning_bids(site)).values()) > 10


def test_the_program_prints_answers(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    program.print_answers(spark, [7], seed=5, rows=2)
    printed = capsys.readouterr().out
    assert printed.startswith("Query 7: The highest bids of each window")
    assert "only showing top 2 rows" in printed


def test_the_program_refuses_a_query_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main(["12"])
    assert "there is no query 12 here" in capsys.readouterr().err


def test_every_question_is_tried() -> None:
    assert {*WINDOWED, *JOINED, 0, 1, 6} == {*QUESTIONS}


def test_tables_have_the_columns_of_the_site(spark: SparkSession, site: Site) -> None:
    tables = tables_of(spark, site)
    assert {name: getattr(tables, name).count() for name in Tables._fields} == {
        name: len(getattr(site, name)) for name in Tables._fields
    }
