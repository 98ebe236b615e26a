"""Two hours of a stream with lulls, a dead source and blocks in disorder (TH-63): all windows close, state is bounded.

A tick is a second, a micro-batch takes ten of them. Three sources send a row per second and key. `north` and `south`
send blocks of 30 seconds whose rows come in any order, and `north` punctuates after each. `west` comes late by up to 20
seconds, and dies after an hour. `south` rests for ten minutes, and once all of them do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

import pytest

from muntin import EARLIEST, tumbling
from muntin.progress import ProgressPolicy, bounded_delay
from muntin_engine.core.changes import InputChange, Progress
from muntin_engine.evaluators.general.bucket import Bucket
from muntin_engine.progress import Observation, ProgressTracker
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.codec import Codec
from tests.core.build import query

BATCH = 10
DURATION = 7200
RESTS = {"north": [(5000, 5600)], "south": [(2000, 2600), (5000, 5600)], "west": [(3600, DURATION)]}
SOURCES = tuple(RESTS)
KEYS = ("a", "b")
MOST_BYTES = 40_000
"""Two keys, three sources, a row per second, for the two minutes that a silent source is waited for and some more."""


class Arrival(NamedTuple):
    """A row, or watermark after a block."""

    at: int
    source: str
    key: str | None
    time: int


def arrivals(random: Random) -> Iterator[Arrival]:
    for source, rests in RESTS.items():
        for second in range(DURATION):
            if any(start <= second < end for start, end in rests):
                continue
            block = second // 30 * 30
            delivered = second + random.randint(0, 20) if source == "west" else block + random.randint(0, 29)
            yield from (Arrival(max(delivered, 0), source, key, second) for key in KEYS)
            if source == "north" and second == block + 29:
                yield Arrival(block + 30, source, None, block + 30)


def batches(random: Random) -> Mapping[int, list[Arrival]]:
    found: dict[int, list[Arrival]] = defaultdict(list)
    for arrival in arrivals(random):
        found[arrival.at // BATCH].append(arrival)
    return found


def observed(rows: Sequence[Arrival]) -> list[Observation]:
    return [
        Observation(row.source, watermark=row.time)
        if row.key is None
        else Observation(row.source, row.time, 1, (row.time,))
        for row in rows
    ]


def events_of(key: str, rows: Sequence[Arrival]) -> list[InputChange]:
    return [InputChange(None, row.time, row.time + 1, (1,)) for row in rows if row.key == key]


@pytest.mark.parametrize(
    "policy",
    [bounded_delay(45).with_idle(120, lag=90), bounded_delay(45).with_idle(120)],
    ids=["idle sources follow the clock", "idle sources are left out"],
)
def test_every_window_closes_and_the_state_stays_small(policy: ProgressPolicy) -> None:
    random = Random(7)
    cells, coming = MemoryCells(), batches(random)
    found: Counter[tuple[str, int]] = Counter()
    for number in range(DURATION // BATCH + 60):
        rows = coming.get(number, [])
        pairs = [((key,), events_of(key, rows)) for key in KEYS]
        clock = (number + 1) * BATCH
        starts = [row.time for row in rows if row.key is not None]
        newest = max(starts, default=EARLIEST)
        arrived = Progress(newest=newest, horizon=max(EARLIEST, newest + 1), clock=clock)
        bucket = Bucket(query(tumbling(60), has_ids=False), cells, Codec(), {}, [ProgressTracker(policy, SOURCES)])
        result = bucket.process(pairs, arrived, observed=observed(rows))
        assert not result.rejections
        assert result.progress.watermark <= clock
        for (key,), changes in result.output:
            found.update({(key, change.window.start): len(change.value[0]) for change in changes})
        assert sum(map(len, cells.cells.values())) < MOST_BYTES
    if policy.idle is not None and policy.idle.lag is None:
        assert result.progress.watermark == DURATION
    assert list(cells.cells) == ["metadata"]
    assert found == expected(random)


def expected(random: Random) -> Counter[tuple[str, int]]:
    rows = (row for row in arrivals(random) if row.key is not None)
    return Counter((str(row.key), row.time // 60 * 60) for row in rows)
