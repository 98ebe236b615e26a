"""A stream whose time is the number of a row: of each key one row per tick (`WATTR = row-num`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from muntin import INFINITY
from muntin_engine.core.changes import Progress
from muntin_engine.evaluators.arrays.lifting import Rows


class Arrival(NamedTuple):
    """A micro-batch.

    Attributes:
        ticks: When each row is.
        keys: Its key.
        payloads: Its payload.
        progress: What the batch says of the progress of the input.
    """

    ticks: Any
    keys: Any
    payloads: Any
    progress: Progress

    def since(self, start: int, stop: int) -> Arrival:
        """Return some neighbouring rows."""
        return Arrival(self.ticks[start:stop], self.keys[start:stop], self.payloads[start:stop], self.progress)


@dataclass(frozen=True)
class NumberedRows:
    """Rows in order, with random payloads.

    Attributes:
        count: How many rows there are.
        batch: How many of them make a micro-batch.
        keys: How many keys they have.
        seed: For the payloads.
    """

    count: int
    batch: int
    keys: int = 1
    seed: int = 1

    def arrivals(self) -> Iterator[Arrival]:
        """Yield the micro-batches, and at last one without rows that ends the input."""
        payloads = np.random.default_rng(self.seed).random(self.count)
        for first in range(0, self.count, self.batch):
            numbers = np.arange(first, min(first + self.batch, self.count))
            ticks = numbers // self.keys
            begun = int(ticks[-1])
            ended = begun + 1 if (numbers[-1] + 1) % self.keys == 0 else begun
            yield Arrival(ticks, numbers % self.keys, payloads[numbers], Progress(ended, begun + 1, begun))
        nothing = np.arange(0)
        yield Arrival(nothing, nothing, payloads[:0], Progress(INFINITY))


def rows_of(arrival: Arrival, *, are_ranges: bool = False) -> Rows:
    """Return the rows of a micro-batch as the map side lifts them, all for one bucket."""
    ends = arrival.ticks + 1 if are_ranges else None
    return Rows(1, arrival.ticks, ends, [pa.array(arrival.keys)], [pa.array(arrival.payloads)])
