"""An auction site in the manner of Nexmark: bids, a few hot auctions and busy bidders, and people who open auctions."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

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
        hot_auction = 1_000 + number // 40  # another one after each 40 bids
        auction = hot_auction if random.random() < 0.5 else random.randint(1_000, hot_auction + 3)
        bidder = random.choice((1, 1, 1, 2, 2, *range(3, 10)))
        bids.append(Bid(auction, bidder, 10 ** random.randint(1, 3) * random.randint(1, 3), at))
    return bids


MOST_OPEN = 16 * SECOND
"""For how long an auction is open at most."""

STATES = ("OR", "ID", "CA", "WA", "NY")


class Person(NamedTuple):
    """A person who came to the site; `at` is when."""

    id: int
    name: str
    city: str
    state: str
    at: int


class Auction(NamedTuple):
    """An auction, open from `at` until `expires`."""

    id: int
    seller: int
    category: int
    reserve: int
    at: int
    expires: int


class Site(NamedTuple):
    """All that happened on the site, in the order of its times."""

    people: list[Person]
    auctions: list[Auction]
    bids: list[Bid]


def random_site(seed: int, auctions: int) -> Site:
    """Return the events around auctions; equal arguments give equal events.

    Some sellers never appear, some only after their auctions. Some auctions get no bid, or none that is high enough;
    bids may come at the very start or end of an auction, after it, or for an auction that does not exist.
    """
    random = Random(seed)
    people = [
        Person(
            id=id,
            name=f"n{id}",
            city=random.choice("xyz"),
            state=random.choice(STATES),
            at=random.randrange(60 * SECOND),
        )
        for id in range(12)
    ]
    opened = [_random_auction(random, id=1_000 + number) for number in range(auctions)]
    bids: list[Bid] = []
    for auction in opened:
        bids += _random_bids_for(random, auction)
    bids.append(Bid(auction=5, bidder=1, price=1_000, at=30 * SECOND))  # there is no auction 5
    # Of equal bids of one time only the first stays: no query could say which bidder was first.
    distinct_bids: dict[tuple[int, int, int], Bid] = {}
    for bid in bids:
        distinct_bids.setdefault((bid.auction, bid.price, bid.at), bid)
    return Site(
        sorted(people, key=lambda person: person.at),
        sorted(opened, key=lambda auction: auction.at),
        sorted(distinct_bids.values(), key=lambda bid: bid.at),
    )


def _random_auction(random: Random, id: int) -> Auction:
    """Return a random auction; half of them are of seller 3, and sellers 12 and 13 are not among the people."""
    seller = random.choice((3, random.randrange(14)))
    category = random.choice((10, 11))
    reserve = random.choice((0, 50, 5_000))
    at = random.randrange(60 * SECOND)
    duration = random.choice((1, 2 * SECOND, 11 * SECOND, MOST_OPEN))
    return Auction(id, seller, category, reserve, at, expires=at + duration)


def _random_bids_for(random: Random, auction: Auction) -> list[Bid]:
    """Return bids at the edges of an auction, and some while it is open."""
    edges = (auction.at, auction.expires - 1, auction.expires, auction.expires + 5)
    times = random.choices(range(auction.at, auction.expires), k=random.choice((0, 1, 6)))
    bids: list[Bid] = []
    for at in (*times, *edges):
        bidder = random.randrange(9)
        price = random.choice((10, 50, 60, 900, 7_000))
        bids.append(Bid(auction.id, bidder, price, at))
    return bids
