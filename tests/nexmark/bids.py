"""The bids of an auction site in the manner of Nexmark: a few hot auctions, a few busy bidders, prices over decades."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from muntin import Event
from muntin.axis import INFINITY
from muntin.changes import Insertion, Punctuation
from muntin.testing import KeyedChange, Script
from muntin_engine.testing import band_disorder

SECOND = 1_000
"""Ticks are milliseconds."""


class Bid(NamedTuple):
    """A bid of a bidder for an auction; `at` is its time."""

    auction: int
    bidder: int
    price: int
    at: int


def random_bids(seed: int, count: int) -> list[Bid]:
    """Return bids in order of their times, the same for the same arguments.

    Half of the bids go to the auction that is hot just now; prices are spread over powers of ten and often equal;
    bursts and pauses alternate, some of them of exactly ten seconds.
    """
    random = Random(seed)
    bids: list[Bid] = []
    at = 0
    for number in range(count):
        at += random.choice((0, 1, 40, 200, 900, 2_500, 10 * SECOND)) if random.random() < 0.9 else 17 * SECOND
        hot = 1_000 + number // 40
        auction = hot if random.random() < 0.5 else random.randint(1_000, hot + 3)
        bidder = random.choice((1, 1, 1, 2, 2, *range(3, 10)))
        bids.append(Bid(auction, bidder, 10 ** random.randint(1, 3) * random.randint(1, 3), at))
    return bids


def stream_of(bids: list[Bid], *, by_bidder: bool = False, width: int = 8 * SECOND) -> Script:
    """Return the bids as a stream that arrives in a band of disorder, all of one key or with the bidder as the key."""
    changes = [
        KeyedChange(bid.bidder if by_bidder else None, Insertion(id, Event.point(bid.at, bid)))
        for id, bid in enumerate(bids)
    ]
    return band_disorder(Script((*changes, Punctuation(INFINITY))), width, seed=7, every=SECOND)
