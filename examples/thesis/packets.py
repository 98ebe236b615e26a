"""Packets of three network links, one of which is almost silent, and how they arrive."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from random import Random
from typing import NamedTuple

from muntin import INFINITY, Event
from muntin.changes import Insertion, Punctuation
from muntin.testing import KeyedChange, Script
from muntin_engine.testing import band_disorder, block_disorder, source_skew

MINUTE = 60
"""Ticks are seconds."""

EDGES = (0, 10, MINUTE, 4 * MINUTE, 5 * MINUTE, 10 * MINUTE)
"""Times of packets that lie exactly a range of a query after the first one: on the edge of its extents."""


class Packet(NamedTuple):
    """A packet of a link; `at` is its time, `row` its place in the order of arrival, `rank` that among its source's."""

    link: str
    source: str
    length: int
    at: int
    row: int = 0
    rank: int = 0

    @property
    def is_fifth(self) -> bool:
        """True of every fifth packet, in the order of arrival."""
        return self.row % 5 == 4


def random_packets(seed: int, count: int = 120) -> list[Packet]:
    """Return packets in order of arrival; no two have one time, and some lie on the edges of extents."""
    random = Random(seed)
    times_between_edges = [at for at in range(25 * MINUTE) if at not in EDGES]
    times = sorted([*EDGES, *random.sample(times_between_edges, count - len(EDGES))])
    packets: list[Packet] = []
    for at in times:
        link = "control" if random.random() < 0.03 else random.choice(("main 1", "main 2"))
        host = min(random.randint(0, 5), random.randint(0, 5))  # the smaller of two: low numbers are more frequent
        packets.append(Packet(link, source=f"10.0.0.{host}", length=random.randint(40, 1500), at=at))
    arrived = [step.change.event.payload for step in _arriving(packets, seed).changes()]
    sources: list[str] = []
    for row, packet in enumerate(arrived):
        arrived[row] = packet._replace(row=row, rank=sources.count(packet.source))
        sources.append(packet.source)
    return arrived


def stream_of(
    packets: Sequence[Packet],
    seed: int,
    key: Callable[[Packet], Hashable] = lambda packet: None,
    at: Callable[[Packet], int] = lambda packet: packet.at,
) -> Script:
    """Return packets as a stream in a kind of disorder that the seed says, with a key and an axis."""
    script = _arriving(sorted(packets, key=at), seed, at)
    steps = [
        replace(step, key=key(step.change.event.payload)) if isinstance(step, KeyedChange) else step
        for step in script.steps
    ]
    return Script(tuple(steps))


def _arriving(packets: Sequence[Packet], seed: int, at: Callable[[Packet], int] = lambda packet: packet.at) -> Script:
    """Return packets in an order in which they might arrive: in disorder, in late blocks, or with slow sources."""
    changes = [
        KeyedChange(packet.link, Insertion(place, Event.point(at(packet), packet)))
        for place, packet in enumerate(packets)
    ]
    script = Script((*changes, Punctuation(INFINITY)))
    kinds: tuple[Callable[[], Script], ...] = (
        lambda: band_disorder(script, 40, seed, every=20),
        lambda: block_disorder(script, 2 * MINUTE, seed),
        lambda: source_skew(script, {"control": 90, "main 2": 20}, every=20),
    )
    return kinds[seed % len(kinds)]()
