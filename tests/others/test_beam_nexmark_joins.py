# mypy: disable-error-code="misc, name-defined, no-untyped-def, no-any-return"
"""Nexmark's queries without windows, and those that join, by Beam itself, on the site of `examples/nexmark`.

`make test-others` runs this where Beam is installed. `make test` compares the engine with the same answers.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from examples.nexmark.site import SECOND, Auction, Bid, Person, Site, random_site
from muntin import INFINITY, Event
from muntin.changes import Insertion, Punctuation
from muntin.testing import KeyedChange, Script
from muntin_engine.testing import band_disorder, split
from tests.examples.nexmark_answers import (
    bids_for_some,
    local_items,
    price_per_category,
    price_per_seller,
    prices_in_euros,
    sellers_who_are_new,
    winning_bids,
)

pytest.importorskip("apache_beam", reason="apache-beam is not installed")

from tests.others.test_beam_nexmark import beam, by_beam, instant, model, nexmark, test_stream, ticks

query0, query1, query2, query3, query4, query6, query8, query9, query10 = (
    pytest.importorskip(f"{nexmark}.queries.query{number}", reason="apache-beam is not installed")
    for number in (0, 1, 2, 3, 4, 6, 8, 9, 10)
)
winning = pytest.importorskip(f"{nexmark}.queries.winning_bids", reason="apache-beam is not installed")

SIZE = 20 * SECOND
PERIOD = 10 * SECOND
SEEDS = pytest.mark.parametrize("seed", [5, 6])
AUCTIONS = 60


def of_beam(happened: Person | Auction | Bid, *, in_ticks: bool = False) -> Any:
    """Return an occurrence as Beam has it, at its time; its field `date_time` is a number if so asked."""
    at = happened.at if in_ticks else instant(happened.at)
    match happened:
        case Person(id, name, city, state, _):
            occurrence = model.Person(id, name, "", "", city, state, at, "")
        case Auction(id, seller, category, reserve, _, expires):
            occurrence = model.Auction(id, "", "", 0, reserve, at, instant(expires), seller, category, "")
        case Bid(auction, bidder, price, _):
            occurrence = model.Bid(auction, bidder, price, at, "")
    return beam.window.TimestampedValue(occurrence, instant(happened.at))


def occurrences_on(site: Site) -> list[Person | Auction | Bid]:
    """Return all that happens on a site."""
    return [*site.people, *site.auctions, *site.bids]


class AtOnce(beam.PTransform):
    """The input of a pipeline in which all that happens on a site is there from the start."""

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.occurrences = occurrences_on(site)

    def expand(self, pipeline):
        return pipeline | beam.Create(self.occurrences) | beam.Map(of_beam)


def arriving(site: Site, *, in_ticks: bool = False, with_watermarks: bool = True) -> Any:
    """Return the occurrences on a site as Beam's test stream, in disorder of up to eight seconds.

    Args:
        site: The site.
        in_ticks: True if the field `date_time` of an occurrence is a number.
        with_watermarks: True if the stream has watermarks before its end.
    """
    in_order = sorted(occurrences_on(site), key=lambda occurrence: occurrence.at)
    changes = [
        KeyedChange(None, Insertion(id, Event.point(occurrence.at, occurrence)))
        for id, occurrence in enumerate(in_order)
    ]
    script = band_disorder(Script((*changes, Punctuation(INFINITY))), 8 * SECOND, seed=7, every=SECOND)
    stream = test_stream.TestStream()
    for batch in split(script, 7, cuts=0.05).batches():
        stream.add_elements([of_beam(step.change.event.payload, in_ticks=in_ticks) for step in batch.changes])
        if with_watermarks and batch.punctuation not in (None, INFINITY):
            stream.advance_watermark_to(instant(batch.punctuation))
    return stream.advance_watermark_to_infinity()


@SEEDS
def test_query_0_passes_everything_on(seed: int, tmp_path: Path) -> None:
    site = random_site(seed, AUCTIONS)
    results = by_beam(query0, {}, arriving(site), tmp_path)
    bids = Counter(tuple(row) for *_, row in results if isinstance(row, list))
    assert bids == Counter(site.bids)
    ids = Counter(row["id"] for *_, row in results if isinstance(row, dict))
    people_and_auctions: list[Person | Auction] = [*site.people, *site.auctions]
    assert ids == Counter(occurrence.id for occurrence in people_and_auctions)


@SEEDS
def test_query_1_converts_prices(seed: int, tmp_path: Path) -> None:
    site = random_site(seed, AUCTIONS)
    results = by_beam(query1, {}, arriving(site), tmp_path)
    assert Counter(tuple(row) for *_, row in results) == prices_in_euros(site.bids)


@SEEDS
def test_query_2_selects_auctions(seed: int, tmp_path: Path) -> None:
    site = random_site(seed, AUCTIONS)
    results = by_beam(query2, {"auction_skip": 7}, arriving(site), tmp_path)
    assert Counter((row["auction_id"], row["price"]) for *_, row in results) == bids_for_some(site.bids, 7)


@SEEDS
def test_query_3_finds_auctions_whose_sellers_live_in_the_west(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beam keeps events to itself until there are thirty of a seller; here it passes each on."""
    triggers = query3.trigger
    triggers_of_one = SimpleNamespace(**vars(triggers) | {"AfterCount": lambda count: triggers.AfterCount(1)})
    monkeypatch.setattr(query3, "trigger", triggers_of_one)
    site = random_site(seed, AUCTIONS)
    results = by_beam(query3, {"max_auction_waiting_time": 1_000}, AtOnce(site), tmp_path, at_once=True)
    rows = Counter((row["name"], row["city"], row["state"], row["auction_id"]) for *_, row in results)
    assert rows == local_items(site)


@SEEDS
def test_query_4_averages_the_prices_of_each_category(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runner gives a pair the later one of two times: the end of the auction, and that of the bid's own window.

    Here a bid's own window lasts a second, and so ends before its auction.
    """

    class WithShortWindowsOfBids(winning.WinningBids):
        def __init__(self):
            super().__init__()
            bid_window_seconds = 1
            self.auction_or_bid_windowFn = winning.AuctionOrBidWindowFn(bid_window_seconds)

    monkeypatch.setattr(query4.winning_bids, "WinningBids", WithShortWindowsOfBids)
    site = random_site(seed, AUCTIONS)
    metadata = {"window_size_sec": SIZE // SECOND, "window_period_sec": PERIOD // SECOND}
    results = by_beam(query4, metadata, arriving(site, with_watermarks=False), tmp_path)
    rows = {(start, row["category"]): row["price"] for start, _, row in results}
    expected = {(start, category): mean for start, category, mean in price_per_category(site, SIZE, PERIOD)}
    assert rows == pytest.approx(expected, rel=1e-12)
    assert len(results) == len(rows)


@SEEDS
def test_query_6_averages_the_prices_of_the_last_auctions_of_each_seller(seed: int, tmp_path: Path) -> None:
    """Beam cuts the mean to a whole number, and its last auctions are those of the latest bids."""
    site = random_site(seed, AUCTIONS)
    results = by_beam(query6, {}, arriving(site, in_ticks=True), tmp_path)
    last_rows = {row["seller"]: row["price"] for *_, row in results}
    assert last_rows == {seller: int(mean) for seller, mean in price_per_seller(site, by_bids=True)}


@SEEDS
def test_query_8_finds_people_who_sell_in_the_window_in_which_they_come(seed: int, tmp_path: Path) -> None:
    site = random_site(seed, AUCTIONS)
    results = by_beam(query8, {"window_size_sec": PERIOD // SECOND}, arriving(site), tmp_path)
    rows = Counter((row["id"], row["name"], row["reserve"]) for *_, row in results)
    assert rows == sellers_who_are_new(site, PERIOD)


@SEEDS
def test_query_9_finds_the_winning_bids(seed: int, tmp_path: Path) -> None:
    site = random_site(seed, AUCTIONS)
    results = by_beam(query9, {}, arriving(site), tmp_path)
    rows = Counter((row["auction"]["id"], row["bid"]["price"], row["bid"]["date_time"]) for *_, row in results)
    assert rows == Counter((auction.id, bid.price, bid.at) for auction, bid in winning_bids(site))


@SEEDS
def test_query_10_logs_each_event_once_in_a_file_of_its_window(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ListingItsFiles(query10.WriteEventDoFn):
        """Notes each file that it writes: the start of the window, the shard, the pane, and the times of its events."""

        files = str(tmp_path / "files")

        def process(self, element, options, window=beam.DoFn.WindowParam, pane_info=beam.DoFn.PaneInfoParam):
            shard, events = element
            file = (ticks(window.start), shard, pane_info.index, [ticks(event.date_time) for event in events])
            with open(self.files, "a") as files:
                files.write(json.dumps(file) + "\n")
            return super().process(element, options, window, pane_info)

    monkeypatch.setattr(query10, "WriteEventDoFn", ListingItsFiles)
    site = random_site(seed, AUCTIONS)
    by_beam(query10, {"window_size_sec": PERIOD // SECOND, "max_log_events": 4}, arriving(site), tmp_path)

    files = [json.loads(line) for line in (tmp_path / "files").read_text().splitlines()]
    names = {(start, shard, pane) for start, shard, pane, _times in files}
    assert len(names) == len(files)
    logged: Counter[tuple[int, int]] = Counter()
    for start, _shard, _pane, times in files:
        logged.update((start, at) for at in times)
    assert logged == Counter((event.at - event.at % PERIOD, event.at) for event in occurrences_on(site))
