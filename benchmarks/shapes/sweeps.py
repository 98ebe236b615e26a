"""Disorder against order (thesis, figures 7-6, 8-8 and 8-10): what waits, over skew, late rows and the width of a band.

An in-order system sorts what it reads, and what it puts out. Here its buffers are put before and after the same
evaluators of the engine, which read rows as they come: so a difference is what the buffers hold.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from benchmarks.shapes.packet_modules import TotalLength
from benchmarks.shapes.panels import Panel
from benchmarks.shapes.rows import Arrival
from benchmarks.shapes.ways import Answers, run_states
from muntin import INFINITY, JoinKind, tumbling
from muntin.progress import Punctuated
from muntin_engine.core.changes import InputChange, Key, Progress
from muntin_engine.core.evaluator_query import EvaluatorQuery
from muntin_engine.core.window_grid import NEVER
from muntin_engine.evaluators.arrays.array_bucket import BatchOutcome
from muntin_engine.evaluators.arrays.stores import GridStore
from muntin_engine.evaluators.arrays.stretch_table import StretchTable
from muntin_engine.evaluators.joins.join_run import JoinRun
from muntin_engine.evaluators.joins.matching import JoinQuery
from muntin_engine.evaluators.keyed.bucket import KeyedBucket
from muntin_engine.progress import ProgressTracker
from muntin_engine.progress.report import InputReport as Reported
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec

IN_ORDER: Final = "in order"
AS_THEY_COME: Final = "as they come"

SKEWS: Final = (0, 10, 20, 30, 40)
DELAYS: Final = (0, 5, 10, 20, 40)
_STATE_BYTES: Final = 9
"""What a sum takes when it is written."""

BANDS: Final = (1, 3, 5, 7, 9)


@dataclass(frozen=True)
class SkewedSources:
    """Packets of two links, each in order, one behind the other; a tick is a second (figure 8-8).

    Attributes:
        skew: By how much the second link is behind.
        is_sorted: True if the rows of the first link wait for those of the second.
        seconds: How long the stream is.
        per_second: How many packets of a link come in a second.
        hosts: How many hosts send them.
    """

    skew: int
    is_sorted: bool
    seconds: int
    per_second: int
    hosts: int = 400

    def arrivals(self) -> Iterator[Arrival]:
        """Yield a micro-batch for each second, and one that ends the input."""
        random = np.random.default_rng(1)
        first, second = random.integers(0, self.hosts, (2, self.seconds, self.per_second))
        for now in range(self.seconds + self.skew):
            ahead = now - self.skew if self.is_sorted else now
            parts = [(link[at], at) for link, at in ((first, ahead), (second, now - self.skew)) if 0 <= at < len(link)]
            hosts = np.concatenate([keys for keys, _ in parts]) if parts else np.arange(0)
            ticks = np.concatenate([np.full(len(keys), at) for keys, at in parts]) if parts else np.arange(0)
            complete = max(0, now - self.skew + 1)
            yield Arrival(ticks, hosts, np.ones(len(hosts)), Progress(complete, ahead + 1, ahead))
        yield Arrival(np.arange(0), np.arange(0), np.ones(0), Progress(INFINITY))

    def buffered(self) -> int:
        """Return the bytes of the rows that wait, when written as the engine writes values."""
        row = len(Codec().pack([self.seconds, self.hosts, 1.0]))
        return self.skew * self.per_second * row if self.is_sorted else 0


def over_skew(skews: Sequence[int], seconds: int, per_second: int = 100) -> Panel:
    """Count the packets of each host of two links per minute, one link behind the other."""
    held: dict[str, list[float]] = {IN_ORDER: [], AS_THEY_COME: []}
    for skew in skews:
        sources = {name: SkewedSources(skew, name == IN_ORDER, seconds, per_second) for name in held}
        found = {name: _states(source) for name, source in sources.items()}
        assert found[IN_ORDER].answers == found[AS_THEY_COME].answers
        for name, (_, most) in found.items():
            held[name].append((most * _STATE_BYTES + sources[name].buffered()) / 1e3)
    return Panel("count per host and minute, two links", "skew of a link, s", "most memory, KB", skews, held)


class States(NamedTuple):
    """The results over packets.

    Attributes:
        answers: They, by host and window.
        most: The most states that waited for their windows at a time.
    """

    answers: Answers
    most: int


def _states(source: SkewedSources) -> States:
    most = [0]

    class Watched(GridStore):
        """A store that takes note of how many states it held."""

        def take(
            self, blobs: Iterable[bytes], first_legal: int, watermark: int
        ) -> tuple[StretchTable | None, BatchOutcome]:
            taken = super().take(blobs, first_legal, watermark)
            whole = self._held.settle(-NEVER, NEVER)
            most.append(0 if whole is None else len(whole))
            return taken

    return States(run_states(tumbling(60), TotalLength(), source.arrivals(), Watched), max(most))


class Row(NamedTuple):
    """A packet that joins others."""

    at: int
    number: int
    host: int


class Held(NamedTuple):
    """What a join had when it had most.

    Attributes:
        rows: Rows that wait or are kept, and results that wait.
        pairs: The pairs that it found.
    """

    rows: int
    pairs: frozenset[tuple[int, int]]


def packets(seed: int, seconds: int, per_second: int, hosts: int) -> list[Row]:
    """Return packets in order; a tick is a second."""
    drawn = np.random.default_rng(seed).integers(0, hosts, seconds * per_second).tolist()
    return [Row(number // per_second, number, host) for number, host in enumerate(drawn)]


def join_of_late(delay: int, *, is_sorted: bool, seconds: int) -> Held:
    """Join a link with the union of two, one of which is late, per ten seconds (Q8-4).

    Where rows are sorted, those of the link that is in time wait for those of the late one.
    """
    left, in_time, late = (packets(seed, seconds, rate, 100) for seed, rate in ((1, 20), (2, 20), (3, 2)))
    late = [row._replace(number=row.number + len(in_time)) for row in late]
    join, window, waiting = _Join(), 10, list[Row]()
    most = 0
    for now in range(seconds + delay):
        waiting += [row for row in in_time if row.at == now]
        complete = now - delay + 1
        released = [row for row in waiting if row.at < complete or not is_sorted]
        waiting = [row for row in waiting if row not in released] if is_sorted else []
        released += [row for row in late if row.at == now - delay]
        aligned = [(row, row.at // window * window, row.at // window * window + window) for row in released]
        lefts = [(row, row.at // window * window, row.at // window * window + window) for row in left if row.at == now]
        join.take(lefts, aligned, (now + 1) // window * window, max(0, complete) // window * window)
        most = max(most, join.held + len(waiting))
    return Held(most, frozenset(join.pairs))


def join_of_band(width: int, *, is_sorted: bool, seconds: int) -> Held:
    """Join two links whose packets are at most a width apart (Q7-2); where results are sorted, by the left packet."""
    left, right = (packets(seed, seconds, 20, 40) for seed in (1, 2))
    join, most = _Join(), 0
    waiting: list[int] = []
    for now in range(seconds):
        sides = [[(row, now, now + width + 1) for row in link if row.at == now] for link in (left, right)]
        found = join.take(sides[0], sides[1], now + 1, now + 1)
        if is_sorted:
            waiting = [at for at in [*waiting, *(left[one].at for one, _ in found)] if at >= now + 1 - width]
        most = max(most, join.held + len(waiting))
    return Held(most, frozenset(join.pairs))


class _Join:
    """The engine's join of two inputs by host.

    Attributes:
        held: The number of rows that it keeps.
        pairs: What it has found, by the numbers of the rows.
    """

    def __init__(self) -> None:
        side = EvaluatorQuery(tumbling(1), (), has_ids=False)
        query = JoinQuery(JoinKind.INNER, (side, side), ((0, 0), (1, 0)))
        trackers = [ProgressTracker(Punctuated()) for _ in range(2)]
        self._bucket = KeyedBucket(JoinRun, query, MemoryCells(), Codec(), {}, trackers)
        self.held = 0
        self.pairs: list[tuple[int, int]] = []

    def take(
        self, left: Sequence[tuple[Row, int, int]], right: Sequence[tuple[Row, int, int]], *complete: int
    ) -> list[tuple[int, int]]:
        """Take rows with their lifetimes, and the watermarks of both sides; return the pairs that they make."""
        changes: dict[Key, list[InputChange]] = defaultdict(list)
        for side, some in enumerate((left, right)):
            for row, start, end in some:
                changes[(row.host,)].append(InputChange(None, start, end, (row.number,), side=side))
        result = self._bucket.run_batch(changes.items(), [Reported(Progress(tick, tick, tick)) for tick in complete])
        assert not result.rejections
        found = [(change.value[0], change.value[1]) for _, some in result.output for change in some]
        self.pairs += found
        self.held = result.held.events
        return found


def measure(*, is_quick: bool) -> Iterator[Panel]:
    """Yield what waits and is kept, over each kind of disorder."""
    yield over_skew(SKEWS, 120 if is_quick else 300)
    seconds = 30 if is_quick else 60
    for title, across, places, join in (
        ("join per 10 s, some rows late", "delay of late rows, s", DELAYS, join_of_late),
        ("join of a band", "width of the band, s", BANDS, join_of_band),
    ):
        found = {
            name: [join(place, is_sorted=name == IN_ORDER, seconds=seconds) for place in places]
            for name in (IN_ORDER, AS_THEY_COME)
        }
        assert [held.pairs for held in found[IN_ORDER]] == [held.pairs for held in found[AS_THEY_COME]]
        series = {name: [float(held.rows) for held in some] for name, some in found.items()}
        yield Panel(title, across, "most rows and results", places, series)
