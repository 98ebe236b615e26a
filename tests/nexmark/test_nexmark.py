"""Nexmark's queries of bids, as Beam's Python package has them, on bids in disorder: 0 to 2, and those with windows.

`make test-others` runs Beam's own queries on the same bids (`tests/foreign/test_beam_nexmark.py`).
"""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

from muntin import EarlyEmission, Refinement, hopping, session, tumbling
from muntin.testing import Computation, Script, WindowedQuery
from muntin.triggers import after, every_count, repeat
from muntin_engine import events, module
from muntin_engine.testing import crash_everywhere, split
from muntin_stats import Count
from tests.journeys.running import collect, collect_together
from tests.nexmark.answers import (
    USD_TO_EURO,
    Rows,
    bids_for_some,
    bids_per_period,
    bids_per_session,
    highest_bids,
    hot_items,
    prices_in_euros,
)
from tests.nexmark.modules import HighestBids, HotItems, Logged, Passed
from tests.nexmark.periods import counts_by_clock, logged
from tests.nexmark.site import SECOND, random_bids, stream_of

SIZE, PERIOD, GAP = 10 * SECOND, 5 * SECOND, 10 * SECOND
SEEDS = range(2)
FEW, MANY = 25, 300

PASSED = WindowedQuery.unwindowed(Passed())
IN_EUROS = WindowedQuery.unwindowed(Passed(), lambda bid: (bid.auction, bid.bidder, bid.price * USD_TO_EURO, bid.at))
SELECTED = WindowedQuery.unwindowed(
    Passed(), lambda bid: (bid.auction, bid.price), lambda bid: bool(bid.auction % 7 == 0)
)
HOT = WindowedQuery(hopping(SIZE, PERIOD), [Computation(HotItems(), lambda bid: bid.auction)])
HIGHEST = WindowedQuery(tumbling(SIZE), [Computation(HighestBids())])
PER_SESSION = WindowedQuery(session(GAP - 1), [Computation(Count())])
"""Bids exactly a gap apart are two sessions of Beam's, and one of ours: ours has a gap that is a tick shorter."""


def hot_rows(script: Script) -> Rows:
    return Counter((row.window.start, *row.value) for row in script.run(HOT)[None])


def highest_rows(script: Script) -> Rows:
    return Counter((row.window.start, *row.value) for row in script.run(HIGHEST)[None])


def session_rows(script: Script) -> Rows:
    found = [(key, row) for key, rows in script.run(PER_SESSION).items() for row in rows]
    return Counter((key, row.start, row.end - GAP + 1, row.value[0]) for key, row in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_queries_0_1_and_2_follow_bids_as_they_are_converted_or_some_of_them(seed: int) -> None:
    bids = random_bids(seed, MANY)
    expected = ((PASSED, Counter(bids)), (IN_EUROS, prices_in_euros(bids)), (SELECTED, bids_for_some(bids, 7)))
    for query, rows in expected:
        found = stream_of(bids).run(query)[None]
        assert Counter(tuple(row.value) for row in found) == rows
        assert [row.start for row in found] == sorted(row.start for row in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_query_10_logs_each_bid_once_in_a_file_of_its_window_and_shard(seed: int) -> None:
    bids = random_bids(seed, MANY)
    files = logged(Logged(), split(stream_of(bids), seed), SIZE, shard=lambda bid: bid.auction % 2, most=2)
    rows = Counter((start, shard, bid) for (start, shard, _), some in files.items() for bid in some)
    assert rows == Counter((bid.at - bid.at % SIZE, bid.auction % 2, bid) for bid in bids)
    of_window = Counter((start, shard) for start, shard, _ in files)
    assert max(of_window.values()) > 1, "a log is cut where it has enough"


@pytest.mark.parametrize("seed", SEEDS)
def test_query_5_names_the_auctions_with_the_most_bids_of_each_window(seed: int) -> None:
    bids = random_bids(seed, MANY)
    found = hot_rows(stream_of(bids))
    assert found == hot_items(bids, SIZE, PERIOD)
    assert len(found) > len({start for start, _, _ in found})  # there are ties


@pytest.mark.parametrize("seed", SEEDS)
def test_query_7_names_the_highest_bids_of_each_window(seed: int) -> None:
    bids = random_bids(seed, MANY)
    found = highest_rows(stream_of(bids))
    assert found == highest_bids(bids, SIZE)
    assert len(found) > len({row[0] for row in found})


@pytest.mark.parametrize("seed", SEEDS)
def test_query_11_counts_the_bids_of_each_bidder_per_session(seed: int) -> None:
    bids = random_bids(seed, MANY)
    found = session_rows(stream_of(bids, by_bidder=True))
    assert found == bids_per_session(bids, GAP)
    assert found != bids_per_session(bids, GAP + 1)  # bids exactly a gap apart are there, and matter


def test_query_11_with_a_log_of_four_bids_retracts_what_it_logged() -> None:
    early = EarlyEmission(every_count(4), Refinement.RETRACT)
    crash_everywhere(stream_of(random_bids(3, 12), by_bidder=True), PER_SESSION, emit=early)


@pytest.mark.parametrize("seed", SEEDS)
def test_query_12_counts_the_bids_of_each_bidder_by_the_clock(seed: int) -> None:
    bids = random_bids(seed, MANY)
    arrivals = [(bid.at, bid) for bid in bids]
    emit = EarlyEmission(repeat(after("10 seconds")), Refinement.DISCARD)
    found = counts_by_clock(emit, arrivals, bids[-1].at + 10 * SECOND)
    assert found == Counter((bidder, n) for bidder, _, n in bids_per_period(arrivals, 10 * SECOND).elements())


def test_query_5_on_spark(spark: SparkSession) -> None:
    bids = random_bids(5, MANY)
    frame = spark.createDataFrame(bids, "auction long, bidder long, price long, at long")
    query = events(frame, at="at", buckets=1).window(hopping(SIZE, PERIOD)).apply(module(HotItems, "auction"))
    found = Counter((row["window"]["start"], row["auction"], row["num"]) for row in collect(query.results()))
    assert found == hot_items(bids, SIZE, PERIOD)


def test_queries_1_and_2_on_spark(spark: SparkSession) -> None:
    bids = random_bids(5, FEW)
    frame = spark.createDataFrame(bids, "auction long, bidder long, price long, at long")
    stream = events(frame, key="auction", at="at", buckets=1)
    converted = stream.with_columns(euros=f"price * {USD_TO_EURO}D").apply(module(Passed, "euros"))
    selected = stream.where("auction % 7 = 0").apply(module(Passed, "price"))
    found = collect_together({"converted": converted, "selected": selected})
    prices = Counter((row["auction"], row["value"], row["lifetime"]["start"]) for row in found["converted"])
    assert prices == Counter((auction, euros, at) for auction, _, euros, at in prices_in_euros(bids).elements())
    assert Counter((row["auction"], row["value"]) for row in found["selected"]) == bids_for_some(bids, 7)
    assert found["selected"]
