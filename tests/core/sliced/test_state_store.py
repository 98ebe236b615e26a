"""What a bucket of Python states keeps and writes."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

import pytest

from muntin import EARLIEST, INFINITY, hopping, tumbling
from muntin_engine.core.changes import Progress
from muntin_engine.core.window_grid import NEVER
from muntin_engine.errors import StateMismatchError
from muntin_engine.evaluators.arrays.slice_bucket import SliceBucket
from muntin_engine.evaluators.slices.states import Delta, StateStore
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.log import MOST_BYTES, StoredEntry
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


def restored(query: Any, delta: Delta | None, first_live: int = -NEVER) -> list[Answer]:
    """Return what a fresh store makes of what was written."""
    assert delta is not None
    store = StateStore(query)
    for entry in StateStore(query).write(delta, first_live):
        store.restore(StoredEntry(entry.data))
    return [Answer(*row) for runs in store.close(0, -NEVER, NEVER) for row in runs.rows()]


def test_states_of_slices_are_not_changed_by_making_windows() -> None:
    query = sliced([hopping(50, 10), tumbling(10), hopping(30, 20)], Members(), DeductingMembers(), mode="eager")
    store = StateStore(query)
    rows = [Row((f"k{tick % 3}",), tick, tick) for tick in range(0, 300)]
    store.take(blobs_of(query, rows), -NEVER)
    before = {number: deepcopy(held.states) for number, held in store._slices.by_number.items()}
    for last in range(-2, 30, 3):
        for place in range(3):
            store.close(place, -NEVER if last == -2 else last - 3, last)
    assert {number: held.states for number, held in store._slices.by_number.items()} == before


def test_what_a_batch_brought_is_written_without_what_is_late_or_dead() -> None:
    query = sliced(hopping(30, 10), Members())
    rows = [Row((f"k{tick % 4}",), tick, tick) for tick in range(0, 100)]
    random = Random(1)
    for first_legal, first_live in [(-NEVER, -NEVER), (3, -NEVER), (3, 5), (5, 3), (0, 9), (9, 9)]:
        taken = StateStore(query).take(blobs_of(query, rows, random, 3), first_legal)
        legal = [row for row in rows if row.tick // 10 >= first_legal]
        live = [row for row in legal if row.tick // 10 >= first_live]
        assert (taken.accepted, taken.late) == (len(legal), len(rows) - len(legal))
        assert sorted(restored(query, taken.delta, first_live)) == expected(
            hopping(30, 10), [Members()], live, INFINITY
        )


def test_a_batch_of_which_nothing_is_merged_brings_nothing() -> None:
    query = sliced(hopping(3, 8), Members())
    assert StateStore(query).take([], 0).delta is None
    late = StateStore(query).take(blobs_of(query, [Row(("k",), 1, 1)]), 2)
    assert (late.delta, late.accepted, late.late) == (None, 0, 1)
    gap = StateStore(query).take(blobs_of(query, [Row(("k",), 12, 1)]), 2)
    assert (gap.delta, gap.accepted, gap.late) == (None, 1, 0)
    assert StateStore(query).take(blobs_of(query, [Row(("k",), 12, 1)]), -NEVER).delta is None


def test_a_delta_does_not_change_with_the_store_it_was_merged_into() -> None:
    query = sliced(tumbling(10), Members(), mode="eager")
    store = StateStore(query)
    first = store.take(blobs_of(query, [Row(("k",), 1, 1)]), -NEVER).delta
    store.take(blobs_of(query, [Row(("k",), 2, 2)]), -NEVER)
    assert restored(query, first) == [Answer(("k",), 0, ((1,),))]


def test_merged_entries_say_the_same() -> None:
    windows = hopping(30, 10)
    query = sliced(windows, Members(), Total())
    random = Random(2)
    rows = [Row((f"k{random.randrange(4)}",), random.randrange(200), tick) for tick in range(300)]
    store = StateStore(query)
    entries = []
    for start in range(0, 300, 20):
        delta = store.take(blobs_of(query, rows[start : start + 20]), -NEVER).delta
        assert delta is not None
        entries += store.write(delta, -NEVER)
    (merged,) = store.compact([StoredEntry(entry.data) for entry in entries], 7)
    assert (merged.first, merged.last) == (7, 19)
    other = StateStore(query)
    other.restore(StoredEntry(merged.data))
    found = sorted(Answer(*row) for runs in other.close(0, -NEVER, NEVER) for row in runs.rows())
    assert found == expected(windows, [Members(), Total()], [row for row in rows if row.tick >= 70], INFINITY)


def test_entries_are_of_a_few_megabytes_and_only_the_last_is_small() -> None:
    query = sliced(tumbling(10), Total(), mode="lazy")
    rows = [Row(("key" + "x" * 200, key), 10 * (key // 1000), key) for key in range(60_000)]
    store = StateStore(query)
    delta = store.take(blobs_of(query, rows), -NEVER).delta
    assert delta is not None
    written = store.write(delta, -NEVER)
    assert all(len(entry.data) < 2 * MOST_BYTES for entry in written)
    entries = store.compact([StoredEntry(entry.data) for entry in written], -NEVER)
    sizes = [len(entry.data) for entry in entries]
    assert len(sizes) > 4
    assert all(MOST_BYTES <= size < 2 * MOST_BYTES for size in sizes[:-1])
    again = store.compact([StoredEntry(entry.data) for entry in entries], -NEVER)
    assert len(again) == len(entries)
    assert max(entry.last for entry in entries) == 59


def test_a_key_that_is_in_no_slice_any_more_is_forgotten() -> None:
    query = sliced(hopping(20, 10), Members())
    feed = Feed(query)
    for tick in range(0, 1000, 10):
        feed.batch([Row((tick,), tick, 1)], tick)
    ((_, store, *_),) = feed.kept._stores.values()
    assert len(store._slices.by_number) <= 3
    assert len(store._closings[0]._queues) <= 3


def test_another_query_is_refused() -> None:
    feed = Feed(sliced(tumbling(10), Members()))
    feed.batch([Row(("k",), 1, 1)])
    bucket: Any = SliceBucket(
        feed.query.grids,
        lambda: StateStore(feed.query),
        feed.cells,
        feed.query.codec,
        Compatibility({"query": "x"}),
        feed.kept,
        "b",
    )
    with pytest.raises(StateMismatchError):
        bucket.process([], Progress())


def test_nothing_is_read_or_decided_before_the_first_punctuation() -> None:
    feed = Feed(sliced(hopping(20, 10), Members()))
    feed.batch([Row(("k",), -50, 1)], EARLIEST)
    feed.batch([Row(("k",), -5000, 2)], EARLIEST)
    assert feed.output == []
    feed.batch([], INFINITY)
    assert len(feed.output) == 4
