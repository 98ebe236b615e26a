"""The answers to Nexmark's queries, from all events at once and without windows or joins of ours.

Each is a multiset of rows. Times are where windows start, except where a query has none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from typing import Any

from examples.nexmark.site import Auction, Bid, Site

Rows = Counter[tuple[Any, ...]]

USD_TO_EURO = 0.89


def prices_in_euros(bids: Sequence[Bid]) -> Rows:
    """Return the bids, with their prices in dollars converted (query 1)."""
    return Counter((bid.auction, bid.bidder, bid.price * USD_TO_EURO, bid.at) for bid in bids)


def bids_for_some(bids: Sequence[Bid], skip: int) -> Rows:
    """Return (auction, price) of the bids for each auction whose number is a multiple of `skip` (query 2)."""
    return Counter((bid.auction, bid.price) for bid in bids if bid.auction % skip == 0)


def hot_items(bids: Sequence[Bid], size: int, period: int) -> Rows:
    """Return (start, auction, bids) of the auctions with the most bids in each window (query 5)."""
    rows: Rows = Counter()
    first = min(bid.at for bid in bids)
    last = max(bid.at for bid in bids)
    for start in range(first // period * period - size, last + 1, period):
        counts = Counter(bid.auction for bid in bids if start <= bid.at < start + size)
        most = max(counts.values(), default=0)
        for auction, count in counts.items():
            if count == most:
                rows[start, auction, count] += 1
    return rows


def highest_bids(bids: Sequence[Bid], size: int) -> Rows:
    """Return the bids at the highest price of each window, with its start (query 7)."""
    highest_prices: dict[int, int] = {}
    for bid in bids:
        start = bid.at - bid.at % size
        highest_prices[start] = max(bid.price, highest_prices.get(start, bid.price))
    rows: Rows = Counter()
    for bid in bids:
        start = bid.at - bid.at % size
        if bid.price == highest_prices[start]:
            rows[start, *bid] += 1
    return rows


def bids_per_session(bids: Sequence[Bid], gap: int) -> Rows:
    """Return (bidder, start, last bid, bids) of each session: a bid a gap or more after another one begins anew."""
    times: dict[int, list[int]] = defaultdict(list)
    for bid in bids:
        times[bid.bidder].append(bid.at)
    rows: Rows = Counter()
    for bidder, bid_times in times.items():
        starts: list[int] = []
        previous_time: int | None = None
        for time in sorted(set(bid_times)):
            if previous_time is None or time >= previous_time + gap:
                starts.append(time)
            previous_time = time
        for start, next_start in zip(starts, [*starts[1:], max(bid_times) + 1], strict=True):
            inside = [time for time in bid_times if start <= time < next_start]
            rows[bidder, start, max(inside), len(inside)] += 1
    return rows


def bids_per_period(arrivals: Sequence[tuple[int, Bid]], length: int) -> Rows:
    """Return (bidder, arrival, bids) of each period: it begins with a bid, and lasts so long by the clock (query 12).

    Args:
        arrivals: The bids in order of arrival, with the clock at their arrival.
        length: How long a period is.
    """
    rows: Rows = Counter()
    for bidder in {bid.bidder for _, bid in arrivals}:
        clocks = [clock for clock, bid in arrivals if bid.bidder == bidder]
        while clocks:
            inside = [clock for clock in clocks if clock < clocks[0] + length]
            rows[bidder, inside[0], len(inside)] += 1
            clocks = clocks[len(inside) :]
    return rows


def local_items(site: Site) -> Rows:
    """Return (name, city, state, auction) of auctions of category 10 whose sellers live in the west (query 3)."""
    rows: Rows = Counter()
    for auction, person in product(site.auctions, site.people):
        is_local = person.state in ("OR", "ID", "CA")
        if auction.seller == person.id and auction.category == 10 and is_local:
            rows[person.name, person.city, person.state, auction.id] += 1
    return rows


def winning_bids(site: Site) -> list[tuple[Auction, Bid]]:
    """Return each auction that was won, with the bid that did: the highest while it was open, or the first of them (9).

    No bid below the reserve wins.
    """
    won: list[tuple[Auction, Bid]] = []
    for auction in site.auctions:
        valid_bids = []
        for bid in site.bids:
            is_in_time = auction.at <= bid.at < auction.expires
            if bid.auction == auction.id and is_in_time and bid.price >= auction.reserve:
                valid_bids.append(bid)
        if valid_bids:
            won.append((auction, max(valid_bids, key=lambda bid: (bid.price, -bid.at))))
    return won


def price_per_category(site: Site, size: int, period: int) -> Rows:
    """Return (start, category, mean price) of what was won in each window, by the last moment of auctions (query 4)."""
    prices: dict[tuple[int, int], list[int]] = defaultdict(list)
    for auction, bid in winning_bids(site):
        last = auction.expires - 1
        for start in range(last // period * period, last - size, -period):
            prices[start, auction.category].append(bid.price)
    rows: Rows = Counter()
    for (start, category), category_prices in prices.items():
        rows[start, category, sum(category_prices) / len(category_prices)] += 1
    return rows


def price_per_seller(site: Site, *, by_bids: bool = False) -> Rows:
    """Return (seller, mean price) of the last ten auctions that each seller sold (query 6).

    Args:
        site: Persons, auctions and bids.
        by_bids: True if the last are those of the latest bids, as Beam has it; by the ends of auctions otherwise.
    """
    sold: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # what sales are ordered by, and the price
    for auction, bid in winning_bids(site):
        order = (bid.at, bid.price) if by_bids else (auction.expires, auction.id)
        sold[auction.seller].append((*order, bid.price))
    rows: Rows = Counter()
    for seller, sales in sold.items():
        prices = [price for _, _, price in sorted(sales)[-10:]]
        rows[seller, sum(prices) / len(prices)] += 1
    return rows


def sellers_who_are_new(site: Site, size: int) -> Rows:
    """Return (person, name, reserve) of auctions that people opened in the window in which they came (query 8)."""
    rows: Rows = Counter()
    for person, auction in product(site.people, site.auctions):
        if auction.seller == person.id and auction.at // size == person.at // size:
            rows[person.id, person.name, auction.reserve] += 1
    return rows
