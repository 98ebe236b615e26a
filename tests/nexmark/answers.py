"""The answers to Nexmark's window queries, from all bids at once and without windows of ours.

Each is a multiset of rows. Times are where windows start, except where a query has none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from tests.nexmark.bids import Bid

Rows = Counter[tuple[Any, ...]]


def hot_items(bids: Sequence[Bid], size: int, period: int) -> Rows:
    """Return (start, auction, bids) of the auctions with the most bids in each window (query 5)."""
    rows: Rows = Counter()
    first, last = min(bid.at for bid in bids), max(bid.at for bid in bids)
    for start in range(first // period * period - size, last + 1, period):
        auctions = [bid.auction for bid in bids if start <= bid.at < start + size]
        found = {(auctions.count(auction), auction) for auction in auctions}
        most = max(found, default=(0, 0))[0]
        rows.update((start, auction, count) for count, auction in found if count == most)
    return rows


def highest_bids(bids: Sequence[Bid], size: int) -> Rows:
    """Return the bids at the highest price of each window, with its start (query 7)."""
    return Counter(
        (bid.at - bid.at % size, *bid)
        for bid in bids
        if not any(other.at // size == bid.at // size and other.price > bid.price for other in bids)
    )


def bids_per_session(bids: Sequence[Bid], gap: int) -> Rows:
    """Return (bidder, start, last bid, bids) of each session: a bid a gap or more after another one begins anew."""
    times: dict[int, list[int]] = defaultdict(list)
    for bid in bids:
        times[bid.bidder].append(bid.at)
    rows: Rows = Counter()
    for bidder, some in times.items():
        starts = [at for at in sorted(set(some)) if not any(at - gap < other < at for other in some)]
        for start, after in zip(starts, [*starts[1:], max(some) + 1], strict=True):
            inside = [at for at in some if start <= at < after]
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
