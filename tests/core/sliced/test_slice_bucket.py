"""A bucket over slices gives what the reference evaluator gives, however its rows arrive."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from muntin import EARLIEST, INFINITY, hopping, tumbling
from muntin.windows import HoppingWindows
from tests.core.sliced.build import (
    Answer,
    DeductingMembers,
    Feed,
    Members,
    Row,
    Total,
    blobs_of,
    expected,
    sliced,
)

WINDOWS = st.builds(hopping, st.integers(1, 12), st.integers(1, 12), st.integers(-7, 7))
MODULES = st.sampled_from([(Members,), (DeductingMembers,), (Members, Total, DeductingMembers)])
ROWS = st.lists(
    st.builds(Row, st.sampled_from([("a",), ("b",), ("c",)]), st.integers(-25, 40), st.integers(0, 9)), max_size=40
)


@settings(max_examples=100)
@given(st.lists(WINDOWS, min_size=1, max_size=3), MODULES, ROWS, st.integers(0, 2**32))
def test_any_stream_gives_what_the_reference_gives(
    specifications: list[HoppingWindows], kinds: Any, rows: list[Row], seed: int
) -> None:
    random = Random(seed)
    modules = [kind() for kind in kinds]
    feed = Feed(sliced(specifications, *modules))
    legal, late = play(feed, rows, random)
    wanted = [
        answer
        for place, windows in enumerate(specifications)
        for answer in expected(windows, modules, legal, INFINITY, place)
    ]
    assert sorted(feed.output) == sorted(wanted)
    assert (feed.accepted, feed.late) == (len(legal), late)
    assert feed.entries == []


def play(feed: Feed, rows: list[Row], random: Random) -> tuple[list[Row], int]:
    """Feed rows about in order of their ticks, in batches of any size; return those that are legal, and how many not.

    Watermark is drawn freely, so some rows are late; the engine may restart between any two batches.
    """
    grids = feed.query.grids
    arriving = sorted(rows, key=lambda row: row.tick + random.randint(0, 15))
    legal: list[Row] = []
    late, watermark = 0, EARLIEST
    while arriving:
        size = random.choice([0, 1, 1, 2, 5, 20])
        batch, arriving = arriving[:size], arriving[size:]
        first = max(grid.first_legal(grid.windows.first_open(watermark)) for grid in grids)
        good = [row for row in batch if grids[0].slice_at(row.tick) >= first]
        legal, late = legal + good, late + len(batch) - len(good)
        if random.random() < 0.5:
            watermark = max(watermark, random.randint(-30, 45))
        if random.random() < 0.3:
            feed.restart()
        feed.batch(batch, watermark, blobs_of(feed.query, batch, random, random.choice([1, 1, 3])))
    feed.batch([], INFINITY)
    return legal, late


def test_a_row_is_in_every_window_over_it_and_each_window_comes_once() -> None:
    """
              0    3    6    9    12   15
    rows        1      7
    windows   [-------------)                    size 9, hop 6: a slice is 3 wide
                        [-------------)
    """
    windows = hopping(9, 6)
    feed = Feed(sliced(windows, Members()))
    feed.batch([Row(("k",), 1, 10), Row(("k",), 7, 70)], watermark=9)
    assert feed.output == [Answer(("k",), -1, ((10,),)), Answer(("k",), 0, ((10, 70),))]
    feed.batch([], INFINITY)
    assert feed.output[2:] == [Answer(("k",), 1, ((70,),))]


@pytest.mark.parametrize("module", [Members, DeductingMembers])
def test_rows_in_a_gap_count_as_accepted_and_leave_nothing(module: Any) -> None:
    """
              0    4    8    12   16
    windows   [--)      [--)      [--)           3 long every 8
    rows       1   5     8
    """
    feed = Feed(sliced(hopping(3, 8), module()))
    feed.batch([Row(("k",), 1, 1), Row(("k",), 5, 5), Row(("k",), 8, 8)])
    feed.batch([Row(("k",), 6, 6)])
    assert len(feed.entries) == 1
    feed.batch([], INFINITY)
    assert feed.output == [Answer(("k",), 0, ((1,),)), Answer(("k",), 1, ((8,),))]
    assert (feed.accepted, feed.late) == (4, 0)


def test_a_row_is_late_when_a_window_over_it_is_complete() -> None:
    """
              0    5    10   15   20
    windows   [---------)                        complete at 10
                   [---------)                   open, and 7 is in both
    """
    feed = Feed(sliced(hopping(10, 5), Members()))
    feed.batch([Row(("k",), 2, 2)], watermark=10)
    feed.batch([Row(("k",), 7, 7), Row(("k",), 9, 9), Row(("k",), 10, 10)])
    assert (feed.accepted, feed.late) == (2, 2)
    feed.batch([], INFINITY)
    assert feed.output[2:] == [Answer(("k",), 1, ((10,),)), Answer(("k",), 2, ((10,),))]


def test_with_several_windows_a_row_is_late_for_all_of_them_or_for_none() -> None:
    """
              0    4         10        20
    a         [---)                              complete: a row at 3 is late
    b         [--------------------------)       open: alone it takes the row
    """
    batches = [([Row(("k",), 1, 1)], 5), ([Row(("k",), 3, 3), Row(("k",), 9, 9)], 5), ([Row(("k",), 6, 6)], INFINITY)]
    specifications = {0: tumbling(4), 1: tumbling(20)}

    def run(*windows: HoppingWindows, without: int = -1) -> Feed:
        feed = Feed(sliced(windows, Members()))
        for rows, watermark in batches:
            feed.batch([row for row in rows if row.payload != without], watermark)
        return feed

    together = run(*specifications.values())
    assert (together.accepted, together.late) == (3, 1)
    assert [run(window).late for window in specifications.values()] == [1, 0]
    for place, window in specifications.items():
        alone = run(window, without=3)
        assert [answer._replace(place=0) for answer in together.output if answer.place == place] == alone.output


def test_the_rows_of_a_batch_are_late_by_earlier_batches_alone() -> None:
    feed = Feed(sliced(tumbling(10), Members()))
    feed.batch([Row(("k",), 3, 3), Row(("k",), 25, 25)], watermark=20)
    assert (feed.accepted, feed.late) == (2, 0)
    assert feed.output == [Answer(("k",), 0, ((3,),))]


@pytest.mark.parametrize("windows", [tumbling(10), hopping(10, 5), hopping(5, 10)], ids=str)
def test_an_aeon_between_two_rows_costs_nothing(windows: HoppingWindows) -> None:
    far = 10**15
    module = Members()
    feed = Feed(sliced(windows, module))
    feed.batch([Row(("k",), 0, 1)])
    feed.batch([Row(("k",), far, 2), Row(("k",), -far, 3)])
    feed.batch([], far + 100)
    rows = [Row(("k",), 0, 1), Row(("k",), far, 2), Row(("k",), -far, 3)]
    assert sorted(feed.output) == expected(windows, [module], rows, INFINITY)
    assert sum(module.calls.values()) < 60


def test_a_key_that_comes_back_starts_anew() -> None:
    feed = Feed(sliced(hopping(10, 5), DeductingMembers()))
    feed.batch([Row(("k",), 1, 1)], watermark=30)
    assert len(feed.entries) == 0
    feed.batch([Row(("k",), 31, 2)], watermark=60)
    assert feed.output[2:] == [Answer(("k",), 5, ((2,),)), Answer(("k",), 6, ((2,),))]


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_restored_equals_what_was_kept(kept: bool) -> None:
    random = Random(11)
    windows = hopping(12, 3)
    rows = [Row((f"k{random.randrange(5)}",), tick, random.randrange(100)) for tick in range(0, 200)]
    feed = Feed(sliced(windows, Members(), DeductingMembers()))
    for start in range(0, 200, 4):
        feed.batch(rows[start : start + 4], watermark=start)
        if not kept:
            feed.restart()
    feed.batch([], INFINITY)
    assert sorted(feed.output) == expected(windows, [Members(), DeductingMembers()], rows, INFINITY)


@pytest.mark.parametrize(
    ("first", "second"),
    [((0.0,), (-0.0,)), ((float("nan"),), (float("nan"),)), (([{"x": float("nan")}],), ([{"x": float("nan")}],))],
    ids=repr,
)
def test_equal_keys_meet(first: Any, second: Any) -> None:
    feed = Feed(sliced(tumbling(10), Total()))
    feed.batch([Row(first, 1, 1)])
    feed.restart()
    feed.batch([Row(second, 2, 2), Row(first, 3, 4)])
    feed.batch([], INFINITY)
    assert [answer.values for answer in feed.output] == [(7,)]


def test_keys_that_are_equal_in_one_blob_meet_too() -> None:
    feed = Feed(sliced(tumbling(10), Total()))
    feed.batch([Row((0.0, "a"), 1, 1), Row((-0.0, "a"), 2, 2)])
    feed.batch([], INFINITY)
    assert feed.output == [Answer((0.0, "a"), 0, (3,))]
