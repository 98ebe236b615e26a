"""Modules that Nexmark needs beside those of muntin-stats: the hottest auctions, and the highest bids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from examples.nexmark.site import Bid
from muntin import IncrementalOperator, Operator


class HotItem(NamedTuple):
    """An auction with the most bids of a window, and how many these are."""

    auction: int
    num: int


class HotItems(IncrementalOperator[int, dict[int, int], HotItem]):
    """Return the auctions that occur most often; the state counts each."""

    name, version = "nexmark.hot_items", "1.0"

    def create_state(self) -> dict[int, int]:
        return {}

    def add_events(self, state: dict[int, int], payloads: Sequence[int]) -> dict[int, int]:
        return dict(Counter(state) + Counter(payloads))

    def remove_events(self, state: dict[int, int], payloads: Sequence[int]) -> dict[int, int]:
        return dict(Counter(state) - Counter(payloads))

    def combine(self, state: dict[int, int], other: dict[int, int]) -> dict[int, int]:
        return dict(Counter(state) + Counter(other))

    def compute_result(self, state: dict[int, int]) -> list[HotItem]:
        most = max(state.values(), default=0)
        return [HotItem(auction, num) for auction, num in sorted(state.items()) if num == most]


class HighestBids(Operator[Bid, Bid]):
    """Return all bids of the highest price."""

    name, version = "nexmark.highest_bids", "1.0"

    def compute_result(self, payloads: Sequence[Bid]) -> list[Bid]:
        highest = max(bid.price for bid in payloads)
        return sorted(bid for bid in payloads if bid.price == highest)
