"""What a bucket holds stays bounded while the input goes on, however long events last and however many keys come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest

from muntin import (
    INFINITY,
    ClipPolicy,
    EmitPolicy,
    count_by_end,
    count_by_start,
    early,
    hopping,
    landmark,
    snapshot,
    trailing,
    tumbling,
)
from muntin.progress import ProgressPolicy, bounded_delay
from muntin.triggers import every_count
from tests.modules.every_shape import SHAPES
from tests.scenarios.feed import Feed, Result, Row, Total, at, query, revision, row
from tests.scenarios.query import Query

(ENDS,) = SHAPES["time-sensitive aggregate"]
"""A module that reads the ends of events: without a clip, a window waits for those of all its members."""

EARLY = early(every_count(1), refinement="retract")


def feed_of(window: Any, *modules: Any, **policies: Any) -> Feed:
    """Return a feed of the general evaluator."""
    return Feed(query(window, *modules, **policies), "general")


def held_count(result: Result) -> int:
    """Return how many events and windows a bucket holds after a micro-batch."""
    return result.counts["events_held"] + result.counts["windows_revisable"]


def held_counts(feed: Feed, batches: int, *, are_endless: bool = False) -> Iterator[int]:
    """Feed a point at 10, 20, 30 and so on, or an event without an end; yield how much is held after each."""
    for number in range(1, batches + 1):
        start = 10 * number
        end = None if are_endless else start + 1
        result = feed.batch(row(number, start=start, end=end, value=number), watermark=start + 5)
        yield held_count(result)


@pytest.mark.parametrize(
    ("window", "lifetimes", "are_endless", "most"),
    [
        (count_by_end(1), "intervals", True, 0),  # an event that never ends is in no window over ends
        (count_by_end(3), "intervals", True, 0),
        (count_by_end(1), "named", True, 20),  # one that may yet end is
        (hopping(3, 100), "intervals", False, 0),  # an event in a gap
        (hopping(3, 8), "named", False, 0),
        (tumbling(10), "named", False, 1),
    ],
    ids=str,
)
def test_an_event_is_held_while_a_window_may_have_it(window: Any, lifetimes: Any, are_endless: bool, most: int) -> None:
    feed = feed_of(window, lifetimes=lifetimes)
    assert max(held_counts(feed, 20, are_endless=are_endless)) == most
    feed.batch(watermark=INFINITY)
    assert feed.is_empty


@pytest.mark.parametrize("emit", [*EmitPolicy, EARLY], ids=str)
@pytest.mark.parametrize("clip", [ClipPolicy.NONE, ClipPolicy.LEFT])
@pytest.mark.parametrize("count", [1, 3])
def test_an_event_without_an_end_holds_the_windows_that_it_is_in_and_no_others(
    count: int, clip: ClipPolicy, emit: Any
) -> None:
    feed = feed_of(count_by_start(count), ENDS, clip=clip, emit=emit)
    feed.batch(row(0, start=5), watermark=6)
    counts = list(held_counts(feed, 30))
    assert max(counts) <= 6 * count
    assert counts[-1] == counts[10], "it does not grow any more"


def test_many_events_without_an_end_each_hold_their_own_windows() -> None:
    """
                  5   10  20  30  40  50  60  70  ...
    endless       [------------------------------>          windows 5-10
                              [------------------>          windows 20-30, 30-40
    """
    feed = feed_of(count_by_start(2), ENDS)
    complete_windows: list[tuple[int, int]] = []
    feed.batch(row(0, start=5), watermark=6)
    for number in range(1, 20):
        start = 10 * number
        end = None if start == 30 else start + 1
        complete_windows += extents(feed.batch(row(number, start=start, end=end), watermark=start + 5))
    assert complete_windows == [(10, 21), *((start, start + 11) for start in range(40, 190, 10))]

    # The endless events end, and the first of them is complete when the watermark has passed its end.
    ends = [revision(0, start=5, end=INFINITY, new_end=400), revision(3, start=30, end=INFINITY, new_end=500)]
    assert extents(feed.batch(*ends, watermark=450)) == [(5, 11)]
    result = feed.batch(watermark=501)
    assert extents(result) == [(20, 31), (30, 41)]
    assert result.counts["events_held"] == 1  # the last start, with which a window may begin


def extents(result: Result) -> list[tuple[int, int]]:
    """Return the windows of results."""
    return [(row["window"]["start"], row["window"]["end"]) for row in result.rows]


@pytest.mark.parametrize("window", [tumbling(10), snapshot()], ids=str)
@pytest.mark.parametrize(("clip", "most"), [(ClipPolicy.NONE, 21), (ClipPolicy.RIGHT, 2)])
def test_windows_over_the_axis_all_have_an_event_that_never_ends(window: Any, clip: ClipPolicy, most: int) -> None:
    """Each later window waits for its end, so there is nothing to forget; a clip frees them."""
    feed = feed_of(window, ENDS, clip=clip)
    feed.batch(row(0, start=5), watermark=6)
    *_, last_count = held_counts(feed, 20)
    assert last_count <= most


# Keys that are silent for ten ticks


@pytest.mark.cases(6)
@pytest.mark.parametrize("lifetimes", ["points", "named"])
@pytest.mark.parametrize("emit", EmitPolicy)
@pytest.mark.parametrize("window", [landmark(10), count_by_start(3, every=3), trailing(5, every=2)], ids=str)
def test_keys_that_come_once_leave_a_state_that_does_not_grow(window: Any, emit: EmitPolicy, lifetimes: Any) -> None:
    """Each of fifty micro-batches brings ten keys that do not come again."""
    feed = feed_of(window, Total(), emit=emit, lifetimes=lifetimes, forget_keys_after=10)
    stored_bytes: list[int] = []
    forgotten_keys = 0
    for batch in range(50):
        start = 10 * batch
        rows = [row(number, start=start, end=start + 1, value=1, key=f"{batch} {number}") for number in range(10)]
        forgotten_keys += feed.batch(*rows, watermark=start).counts["keys_forgotten"]
        stored_bytes.append(feed.bytes)
    assert max(stored_bytes[25:]) <= 1.1 * max(stored_bytes[:25])
    assert forgotten_keys >= 450
    forgotten_keys += feed.batch(watermark=10_000).counts["keys_forgotten"]
    assert forgotten_keys == 500
    assert feed.is_empty


@pytest.mark.parametrize("emit", EmitPolicy)
def test_a_key_that_is_silent_again_and_again_has_a_state_that_does_not_grow(emit: EmitPolicy) -> None:
    """Its rows come at 0, 3, 6, 9 and 12 of every 40 ticks: it is forgotten before each batch but the first."""
    feed = feed_of(landmark(10), Total(), emit=emit, lifetimes="points", forget_keys_after=10)
    times_forgotten = 0
    for batch in range(100):
        first = 40 * batch
        rows = [at(tick) for tick in range(first, first + 15, 3)]
        result = feed.batch(*rows, watermark=first)
        times_forgotten += result.counts["keys_forgotten"]
        assert held_count(result) <= 20
        assert feed.bytes < 6000, "the log of the bucket is merged and rewritten now and then"
    assert times_forgotten == 99


def test_an_event_that_has_not_ended_keeps_its_key() -> None:
    feed = feed_of(count_by_start(2), Total(), forget_keys_after=10)
    feed.batch(row(1, start=0, end=None, value=1), watermark=0)
    assert feed.batch(watermark=1000).counts["keys_forgotten"] == 0
    assert feed.batch(revision(1, start=0, end=INFINITY, new_end=1000), watermark=1000).counts["keys_forgotten"] == 0
    assert feed.batch(watermark=1009).counts["keys_forgotten"] == 0
    assert feed.batch(watermark=1010).counts["keys_forgotten"] == 1


# Two hours of a stream with lulls, a dead source and blocks in disorder (thesis, chapter 5). A tick is a second, and a
# micro-batch takes thirty. Each source sends a row per second. `a` and `b` send blocks of 30 seconds in any order; `a`
# punctuates after each. `c` comes late by up to 20 seconds and dies after an hour. `b` rests for ten minutes, and once
# all of them do.

DURATION = 7200
RESTS: Mapping[str, list[tuple[int, int]]] = {
    "a": [(5000, 5600)],
    "b": [(2000, 2600), (5000, 5600)],
    "c": [(3600, DURATION)],
}


def arrivals(random: Random) -> Iterator[tuple[int, Row]]:
    """Yield the second at which a row arrives, and the row."""
    for source, rests in RESTS.items():
        for second in range(DURATION):
            if any(start <= second < end for start, end in rests):
                continue
            block = second // 30 * 30
            arrival_second = second + random.randint(0, 20) if source == "c" else block + random.randint(0, 29)
            yield arrival_second, at(second) | {"source": source}
            if source == "a" and second == block + 29:
                yield block + 30, {"change": "punctuate", "start": block + 30, "source": source, "payload": None}


@pytest.mark.cases(1)
@pytest.mark.parametrize("lag", [90, None], ids=["idle sources follow the clock", "idle sources are left out"])
def test_in_two_hours_every_window_closes_and_the_state_stays_small(lag: int | None) -> None:
    """Rows of three sources, one of which dies, are counted by minute; a micro-batch takes thirty seconds."""
    policy: ProgressPolicy = bounded_delay(45).with_idle(120)
    if lag is not None:
        policy = bounded_delay(45).with_idle(120, lag=lag)
    per_minute = Query(tumbling(60), (Total(),), lifetimes="points", progress=policy, sources=((), (), ()))
    feed = Feed(per_minute, "general")

    rows_by_batch: dict[int, list[Row]] = {}
    expected_counts: Counter[int] = Counter()
    for arrival_second, arrival in arrivals(Random(7)):
        rows_by_batch.setdefault(arrival_second // 30, []).append(arrival)
        if arrival["change"] == "insert":
            expected_counts[arrival["start"] // 60 * 60] += 1

    counts: Counter[int] = Counter()
    for number in range(DURATION // 30 + 20):  # ten minutes more, in which the last windows close
        result = feed.batch(*rows_by_batch.get(number, []), clock=(number + 1) * 30)
        assert not result.refused
        for window_row in result.rows:
            counts[window_row["window"]["start"]] += window_row["result"]
        assert feed.bytes < 40_000
    assert feed.is_empty
    assert counts == expected_counts
