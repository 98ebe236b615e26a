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
from muntin_engine.evaluators.arrays.array_bucket import ArrayBucket
from muntin_engine.evaluators.arrays.grid_store import GridStore
from muntin_engine.evaluators.arrays.key_table import FEW_KEYS
from muntin_engine.evaluators.arrays.stretch_table import STATE, Part, StretchTable
from muntin_engine.evaluators.batch import InputReport
from muntin_engine.progress import ProgressTracker
from muntin_engine.state.compatibility import Compatibility
from muntin_engine.state.log import MOST_BYTES, StoredEntry
from tests.core.sliced.build import (
    Answer,
    DeductingMembers,
    Feed,
    Members,
    Row,
    SlicedQuery,
    Total,
    all_answers,
    blobs_of,
    expected,
    sliced,
)


def restored(
    query: SlicedQuery, writer: GridStore, delta: StretchTable | None, first_live: int = -NEVER
) -> list[Answer]:
    """Return what a fresh store makes of what was written."""
    assert delta is not None
    return all_answers(query, writer.write(delta, first_live))


def test_states_of_slices_are_not_changed_by_making_windows() -> None:
    query = sliced([hopping(50, 10), tumbling(10), hopping(30, 20)], Members(), DeductingMembers())
    store = query.store()
    rows = [Row((f"k{tick % 3}",), tick, tick) for tick in range(0, 300)]
    store.take(blobs_of(query, rows), -NEVER)
    before = deepcopy(states(store))
    for last in range(-2, 30, 3):
        for place in range(3):
            store.close(place, -NEVER if last == -2 else last - 3, last)
    assert states(store) == before


def states(store: GridStore) -> list[Any]:
    """Return all states that a store holds, by module."""
    return [[piece.parts[Part(place, STATE)].objects.tolist() for piece in store._held._pieces] for place in range(2)]


def test_what_a_batch_brought_is_written_without_what_is_late_or_dead() -> None:
    query = sliced(hopping(30, 10), Members())
    rows = [Row((f"k{tick % 4}",), tick, tick) for tick in range(0, 100)]
    random = Random(1)
    for first_legal, first_live in [(-NEVER, -NEVER), (3, -NEVER), (3, 5), (5, 3), (0, 9), (9, 9)]:
        store = query.store()
        delta, taken = store.take(blobs_of(query, rows, random, 3), first_legal)
        legal = [row for row in rows if row.tick // 10 >= first_legal]
        live = [row for row in legal if row.tick // 10 >= first_live]
        assert (taken.accepted, taken.late) == (len(legal), len(rows) - len(legal))
        assert sorted(restored(query, store, delta, first_live)) == expected(
            hopping(30, 10), [Members()], live, INFINITY
        )


def test_a_batch_of_which_nothing_is_merged_brings_nothing() -> None:
    query = sliced(hopping(3, 8), Members())
    late, gap = Row(("k",), 1, 1), Row(("k",), 12, 1)
    for rows, first_legal, counts in (
        ([], 0, (0, 0)),
        ([late], 2, (0, 1)),
        ([gap], 2, (1, 0)),
        ([gap], -NEVER, (1, 0)),
    ):
        delta, taken = query.store().take(blobs_of(query, rows), first_legal)
        assert (delta, taken.accepted, taken.late) == (None, *counts)


def test_a_delta_is_what_the_batch_brought_and_not_what_the_store_had() -> None:
    query = sliced(tumbling(10), Members())
    store = query.store()
    store.take(blobs_of(query, [Row(("k",), 1, 1)]), -NEVER)
    delta, _ = store.take(blobs_of(query, [Row(("k",), 2, 2)]), -NEVER)
    store.close(0, -NEVER, 1)
    assert restored(query, store, delta) == [Answer(("k",), 0, ((2,),))]


def test_merged_entries_say_the_same() -> None:
    windows = hopping(30, 10)
    query = sliced(windows, Members(), Total())
    random = Random(2)
    rows = [Row((f"k{random.randrange(4)}",), random.randrange(200), tick) for tick in range(300)]
    store = query.store()
    entries = []
    for start in range(0, 300, 20):
        delta, _ = store.take(blobs_of(query, rows[start : start + 20]), -NEVER)
        assert delta is not None
        entries += store.write(delta, -NEVER)
    (merged,) = store.compact([StoredEntry(entry.data) for entry in entries], 7)
    assert (merged.first, merged.last) == (7, 19)
    found = sorted(all_answers(query, [merged]))
    assert found == expected(windows, [Members(), Total()], [row for row in rows if row.tick >= 70], INFINITY)


def test_entries_are_of_a_few_megabytes_at_most() -> None:
    query = sliced(tumbling(10), Members())
    rows = [Row(("key" + "x" * 200, key), 10 * (key // 1000), key) for key in range(40_000)]
    store = query.store()
    delta, _ = store.take(blobs_of(query, rows), -NEVER)
    assert delta is not None
    written = store.write(delta, -NEVER)
    entries = store.compact([StoredEntry(entry.data) for entry in written], -NEVER)
    for some in (written, entries):
        assert all(len(entry.data) < 2 * MOST_BYTES for entry in some)
        assert len(some) > 2
        assert max(entry.last for entry in some) == 39


def test_a_key_that_is_in_no_slice_any_more_is_forgotten() -> None:
    query = sliced(hopping(20, 10), Members())
    feed = Feed(query)
    for tick in range(0, 30 * FEW_KEYS, 10):
        feed.batch([Row((tick,), tick, 1)], tick)
    ((_, store, *_),) = feed.kept._stores.values()
    assert len(store._held.keys()) <= 3
    assert len(store._entries.keys) <= FEW_KEYS + 1
    assert len(store._entries._windows[0]._queues[0]) <= 3


def test_another_query_is_refused() -> None:
    feed = Feed(sliced(tumbling(10), Members()))
    feed.batch([Row(("k",), 1, 1)])
    bucket = ArrayBucket(
        feed.query.in_buckets(),
        [ProgressTracker()],
        feed.cells,
        feed.query.codec,
        Compatibility({"query": "x"}),
        feed.kept,
        "b",
    )
    with pytest.raises(StateMismatchError):
        bucket.process([], [InputReport(Progress())])


def test_nothing_is_read_or_decided_before_the_first_punctuation() -> None:
    feed = Feed(sliced(hopping(20, 10), Members()))
    feed.batch([Row(("k",), -50, 1)], EARLIEST)
    feed.batch([Row(("k",), -5000, 2)], EARLIEST)
    assert feed.output == []
    feed.batch([], INFINITY)
    assert len(feed.output) == 4
