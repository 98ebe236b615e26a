"""Packets of networks whose hosts send very unevenly: the data sets DS1 to DS5 (thesis, section 6.3.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks.shapes.rows import Arrival
from muntin import INFINITY
from muntin_engine.core.changes import Progress

DATA_SETS: Final = {"DS1": 0.01, "DS2": 0.03, "DS3": 0.05, "DS4": 0.07, "DS5": 0.09}
"""The share of the packets that come from hosts that send one."""

MEDIUM_SHARE: Final = 0.20
"""The share of those from medium hosts; all others come from large ones."""

MEDIUM: Final = 15
"""How many packets a medium host sends during a window, on average."""

LARGE: Final = 300
"""How many a large one sends."""


@dataclass(frozen=True)
class Packets:
    """Packets in order of time.

    Medium and large hosts send in every stretch of time as long as a window; one that sends a single packet is never
    seen again.

    Attributes:
        small_share: The share of the packets that come from hosts that send one.
        per_window: How many packets there are in a stretch.
        window: How long it is, in ticks.
        windows: How many stretches there are.
        batches: How many micro-batches each is cut into.
        seed: For all that is random.
    """

    small_share: float
    per_window: int
    window: int
    windows: int
    batches: int
    seed: int = 1

    @property
    def medium(self) -> int:
        """The number of medium hosts."""
        return round(self.per_window * MEDIUM_SHARE / MEDIUM)

    @property
    def large(self) -> int:
        """The number of large hosts."""
        return round(self.per_window * (1 - MEDIUM_SHARE - self.small_share) / LARGE)

    @property
    def small(self) -> int:
        """The number of hosts that send a single packet in a stretch."""
        return round(self.per_window * self.small_share)

    def arrivals(self) -> Iterator[Arrival]:
        """Yield the micro-batches, and at last one without rows that ends the input."""
        random = np.random.default_rng(self.seed)
        for stretch in range(self.windows):
            yield from self._stretch(random, stretch)
        nothing = np.arange(0)
        yield Arrival(nothing, nothing, nothing, Progress(INFINITY))

    def _stretch(self, random: np.random.Generator, stretch: int) -> Iterator[Arrival]:
        hosts = np.repeat(*self._hosts(random, stretch))
        offsets = np.sort(random.integers(0, self.window, len(hosts)))
        hosts, lengths = random.permutation(hosts), random.integers(40, 1500, len(hosts)).astype(float)
        length = self.window // self.batches
        for batch in range(self.batches):
            start, stop = np.searchsorted(offsets, [batch * length, (batch + 1) * length])
            end = stretch * self.window + (batch + 1) * length
            ticks = stretch * self.window + offsets[start:stop]
            yield Arrival(ticks, hosts[start:stop], lengths[start:stop], Progress(end, end, end - 1))

    def _hosts(self, random: np.random.Generator, stretch: int) -> tuple[Any, Any]:
        """Return the hosts that send in a stretch, and how many packets each sends."""
        steady = self.medium + self.large
        first = steady + stretch * self.small
        sizes = [
            random.integers(1, 2 * MEDIUM, self.medium),
            random.integers(1, 2 * LARGE, self.large),
            np.ones(self.small, np.int64),
        ]
        return np.concatenate([np.arange(steady), np.arange(first, first + self.small)]), np.concatenate(sizes)
