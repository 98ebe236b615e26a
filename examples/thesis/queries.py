"""The numbered queries of *Window Queries over Data Streams* over the packets of one network link.

A query is a sentence of the thesis, the windows and the module that answer it, and what a packet's key and place on the
axis are. Numbers are those of the thesis; queries that differ only in a length stand in one line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from examples.thesis.packets import MINUTE, Packet, stream_of
from muntin import IncrementalOperator, hopping, landmark, trailing, tumbling
from muntin.rows import elapsed, last, on_row
from muntin.testing import Computation, OutputEvent, WindowedQuery
from muntin_stats import Count, Max, Sum


class HeavyHitters(IncrementalOperator[str, dict[str, int], str]):
    """Return the values that make up at least a share of all; the state counts each."""

    name, version = "thesis.heavy_hitters", "1.0"

    def __init__(self, percent: int = 5) -> None:
        self.percent = percent

    def create_state(self) -> dict[str, int]:
        return {}

    def add_events(self, state: dict[str, int], payloads: Sequence[str]) -> dict[str, int]:
        return dict(Counter(state) + Counter(payloads))

    def remove_events(self, state: dict[str, int], payloads: Sequence[str]) -> dict[str, int]:
        return dict(Counter(state) - Counter(payloads))

    def combine(self, state: dict[str, int], other: dict[str, int]) -> dict[str, int]:
        return dict(Counter(state) + Counter(other))

    def compute_result(self, state: dict[str, int]) -> list[str]:
        total = sum(state.values())
        return sorted(value for value, count in state.items() if 100 * count >= self.percent * total)


def of_all(packet: Packet) -> Hashable:
    """Return the one key that all packets have."""
    return None


def of_source(packet: Packet) -> Hashable:
    """Return the source of a packet."""
    return packet.source


def every_packet(packet: Packet) -> bool:
    """Return True: the query asks about all packets."""
    return True


def of_two_sources(packet: Packet) -> bool:
    """Return whether a packet is on the first main link and from one of two sources."""
    return packet.link == "main 1" and packet.source in ("10.0.0.0", "10.0.0.1")


def by_time(packet: Packet) -> int:
    """Return when a packet was sent."""
    return packet.at


def by_row(packet: Packet) -> int:
    """Return the number of a packet among all, in the order of arrival."""
    return packet.row


def by_rank(packet: Packet) -> int:
    """Return the number of a packet among those of its source, in the order of arrival."""
    return packet.rank


@dataclass(frozen=True)
class Question:
    """A numbered query.

    Attributes:
        asks: The query in a sentence.
        query: Its windows and its module.
        key: Packets of one key share windows.
        at: The place of a packet on the axis of the windows.
        where: Whether the query asks about a packet.
    """

    asks: str
    query: WindowedQuery
    key: Callable[[Packet], Hashable] = of_all
    at: Callable[[Packet], int] = by_time
    where: Callable[[Packet], bool] = every_packet

    def run(self, packets: Sequence[Packet], seed: int) -> list[tuple[Hashable, OutputEvent]]:
        """Return the key and the row of each result, over packets that arrive in a kind of disorder."""
        chosen_packets = [packet for packet in packets if self.where(packet)]
        stream = stream_of(chosen_packets, seed, key=self.key, at=self.at)
        results: list[tuple[Hashable, OutputEvent]] = []
        for key, rows in stream.run(self.query).items():
            results += [(key, row) for row in rows]
        return results


COUNT: Final = Computation(Count(), lambda packet: packet.length)
LONGEST: Final = Computation(Max(), lambda packet: packet.length)
SIZE: Final = Computation(Sum(), lambda packet: packet.length)
HEAVY: Final = Computation(HeavyHitters(5), lambda packet: packet.source)

ROWS: Final = 20
"""The number of rows of a window for which the thesis has a thousand."""

EVERY: Final = ROWS // 5
"""The number of rows by which a window moves on."""

QUESTIONS: Final[Mapping[str, Question]] = {
    "1-1": Question(
        "Count each source's packets of the past ten minutes, every minute (also 5-1 and 6-1)",
        WindowedQuery(hopping(10 * MINUTE, MINUTE), [COUNT]),
        key=of_source,
    ),
    "1-2": Question(
        "Count the packets of all three links, one of which is almost silent, per minute",
        WindowedQuery(tumbling(MINUTE), [COUNT]),
    ),
    "2-1": Question(
        "Count the packets of two sources on one link, each per minute",
        WindowedQuery(tumbling(MINUTE), [COUNT]),
        key=of_source,
        where=of_two_sources,
    ),
    "5-2": Question(
        "Find the longest of the last packets of each source, whenever it has sent some more",
        WindowedQuery(hopping(ROWS, EVERY), [LONGEST]),
        key=of_source,
        at=by_rank,
    ),
    "5-3": Question(
        "Find the longest packet of each source among the last packets of all, whenever some more have come",
        WindowedQuery(hopping(ROWS, EVERY), [LONGEST]),
        key=of_source,
        at=by_row,
    ),
    "5-4": Question(
        "Count each source's packets since the start, every minute",
        WindowedQuery(landmark(MINUTE), [COUNT]),
        key=of_source,
    ),
    "5-5": Question(
        "Find the longest packet of the past five minutes, at every packet",
        WindowedQuery(trailing(5 * MINUTE), [LONGEST]),
    ),
    "5-6": Question(
        "Count the packets of the past five minutes, at every fifth packet in the order of their times",
        WindowedQuery(trailing(5 * MINUTE, every=5), [COUNT]),
    ),
    "5-6 by arrival": Question(
        "Count the packets of the past five minutes, at every fifth packet in the order of arrival (section 5.1.5)",
        WindowedQuery(last(elapsed(5 * MINUTE - 1)).trigger(on_row("is_fifth")), [COUNT]),
    ),
    "6-2": Question(
        "Find the longest packet of the past four minutes, every minute",
        WindowedQuery(hopping(4 * MINUTE, MINUTE), [LONGEST]),
    ),
    "6-3": Question(
        "Count each source's packets of the past four minutes, every minute",
        WindowedQuery(hopping(4 * MINUTE, MINUTE), [COUNT]),
        key=of_source,
    ),
    "6-4": Question(
        "Find the sources of at least 5 % of the packets of the past ten minutes, every minute",
        WindowedQuery(hopping(10 * MINUTE, MINUTE), [HEAVY]),
    ),
    "6-5": Question(
        "Count each source's packets of the past five minutes, every minute",
        WindowedQuery(hopping(5 * MINUTE, MINUTE), [COUNT]),
        key=of_source,
    ),
    "6-6": Question(
        "Add up the sizes of each source's packets of the past ten seconds, every second (also 6-7)",
        WindowedQuery(hopping(10, 1), [SIZE]),
        key=of_source,
    ),
    "6-8": Question(
        "Count each source's packets on all three links in the past ten seconds, every second",
        WindowedQuery(hopping(10, 1), [COUNT]),
        key=of_source,
    ),
}
