"""What a bucket holds stays bounded while the input goes on, however long some events of it last."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from muntin import (
    INFINITY,
    ClipPolicy,
    EarlyEmission,
    EmitPolicy,
    count_by_end,
    count_by_start,
    early,
    hopping,
    snapshot,
    tumbling,
)
from muntin.triggers import every_count
from muntin.windows import WindowKind
from muntin_engine.evaluators.keyed.bucket import BatchResult
from tests.core.build import Feed, Lengths, output, query, revision, row, spelled

EARLY = early(every_count(1), refinement="retract")


def held(feed: Feed, batches: int, end: int | None = None) -> Iterator[int]:
    """Feed a point at 10, 20, 30 and so on, or an event that ends elsewhere; yield how much is held after each."""
    for number in range(1, batches + 1):
        start = 10 * number
        until = start + 1 if end is None else end
        id = number if feed.query.has_ids else None
        result = feed.batch(row(id, start, until, number), watermark=start + 5)
        yield result.held.events + result.held.windows


@pytest.mark.parametrize("window", [count_by_end(1), count_by_end(3)])
def test_an_event_that_never_ends_is_no_part_of_windows_over_ends(window: WindowKind) -> None:
    feed = Feed(query(window, has_ids=False))
    assert set(held(feed, 20, end=INFINITY)) == {0}
    assert feed.states == []


def test_an_event_that_may_yet_end_is_kept_for_windows_over_ends() -> None:
    feed = Feed(query(count_by_end(1)))
    assert list(held(feed, 4, end=INFINITY)) == [1, 2, 3, 4]
    assert spelled(feed.batch(revision(2, 20, INFINITY, 50), watermark=60)) == ["+1 [50,51) (2,)"]


def test_an_event_between_two_windows_is_not_taken_in_if_nothing_can_move_it() -> None:
    feed = Feed(query(hopping(3, 100), has_ids=False))
    assert set(held(feed, 9)) == {0}


@pytest.mark.parametrize("emit", [*EmitPolicy, EARLY])
@pytest.mark.parametrize("clip", [ClipPolicy.NONE, ClipPolicy.LEFT])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_an_event_without_an_end_holds_the_windows_that_it_is_in_and_no_others(
    count: int, clip: ClipPolicy, emit: EmitPolicy | EarlyEmission
) -> None:
    feed = Feed(query(count_by_start(count), Lengths(), clip=clip, emit=emit))
    feed.batch(row("first", 5), watermark=6)
    sizes = list(held(feed, 60))
    assert max(sizes) <= 6 * count
    assert sizes[-1] == sizes[10]


def test_many_events_without_an_end_each_hold_their_own_windows() -> None:
    """
                  5   10  20  30  40  50  60  70  ...
    endless       [------------------------------>          windows 5-10
                              [------------------>          windows 20-30, 30-40
    """
    feed = Feed(query(count_by_start(2), Lengths()))
    feed.batch(row("first", 5), watermark=6)
    results = []
    for number in range(1, 20):
        end = INFINITY if number == 3 else 10 * number + 1
        results += extents(feed.batch(row(number, 10 * number, end), watermark=10 * number + 5))
    assert results == [(10, 21), *((start, start + 11) for start in range(40, 190, 10))]
    result = feed.batch(revision("first", 5, INFINITY, 400), revision(3, 30, INFINITY, 500), watermark=450)
    assert extents(result) == [(5, 11)]
    result = feed.batch(watermark=501)
    assert extents(result) == [(20, 31), (30, 41)]
    assert result.held.events == 1  # the last start, with which a window may begin


def extents(result: BatchResult) -> list[tuple[int, int]]:
    return [(change.start, change.end) for change in output(result)]


def test_an_event_that_may_yet_end_is_kept_where_no_window_counts_it() -> None:
    feed = Feed(query(count_by_end(2), Lengths()))
    feed.batch(row("a", 5), row("b", 6, 8), watermark=100)
    result = feed.batch(revision("a", 5, INFINITY, 110), watermark=120)
    assert spelled(result) == ["+1 [8,111) (2, 105)"]


@pytest.mark.parametrize("window", [tumbling(10), snapshot()])
def test_windows_over_the_axis_all_have_an_event_that_never_ends(window: WindowKind) -> None:
    """Each later window waits for its end, so there is nothing to forget; a clip frees them."""
    feed = Feed(query(window, Lengths()))
    feed.batch(row("first", 5), watermark=6)
    assert list(held(feed, 20))[-1] == 21
    feed = Feed(query(window, Lengths(), clip=ClipPolicy.RIGHT))
    feed.batch(row("first", 5), watermark=6)
    assert list(held(feed, 20))[-1] <= 2
