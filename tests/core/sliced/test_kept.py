"""Decoded state in a process: only ever that of the very version that the state store holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from muntin import INFINITY, hopping, tumbling
from muntin.errors import ModuleFailedError
from muntin_engine.state.cells import MemoryCells
from muntin_engine.state.kept_stores import KeptStores
from tests.core.sliced.build import Answer, Feed, Members, Row, Total, sliced


def test_a_store_is_handed_out_once_and_for_its_own_version_alone() -> None:
    kept = KeptStores()
    kept.put(("q", 1), b"1", "store")
    assert kept.take(("q", 2), b"2") is None
    assert kept.take(("q", 1), b"1") == "store"
    assert kept.take(("q", 1), b"1") is None


@pytest.mark.parametrize("version", [b"2", b""])
def test_a_store_of_another_version_is_dropped(version: bytes) -> None:
    kept = KeptStores()
    kept.put(("q", 1), b"1", "store")
    assert kept.take(("q", 1), version) is None
    assert kept.take(("q", 1), b"1") is None


def test_no_version_is_no_version_to_compare() -> None:
    kept = KeptStores()
    kept.put(("q", 1), b"", "store")
    assert kept.take(("q", 1), b"") is None


KB = 1024


def version(query: str, number: int) -> bytes:
    """Return one that is never used for another store."""
    return f"{query} {number}".encode()


def names(kept: KeptStores, *buckets: tuple[str, int]) -> list[str]:
    """Return which of some buckets have a store."""
    return [f"{query}{number}" for query, number in buckets if kept.take((query, number), version(query, number))]


def test_what_is_kept_is_bounded_by_bytes_and_the_longest_unused_of_others_goes_first() -> None:
    kept = KeptStores(most=100 * KB)
    for query in "abc":
        kept.put((query, 1), version(query, 1), query, 30 * KB)
    kept.put(("a", 1), version("a", 1), kept.take(("a", 1), version("a", 1)), 30 * KB)
    kept.put(("d", 1), version("d", 1), "d", 30 * KB)
    assert kept.held_bytes <= 100 * KB
    assert names(kept, ("a", 1), ("b", 1), ("c", 1), ("d", 1)) == ["a1", "c1", "d1"]
    assert kept.held_bytes == 0


def test_a_query_that_is_too_much_by_itself_keeps_a_part() -> None:
    """Were the oldest to go, each batch would find none: it asks for them in the same order."""
    kept = KeptStores(most=100 * KB)
    kept.put(("other", 1), b"1", "store", 10 * KB)
    hits = 0
    for _ in range(5):
        for number in range(6):
            hits += kept.take(("q", number), version("q", number)) is not None
            kept.put(("q", number), version("q", number), "store", 28 * KB)
    assert hits == 4 * 3
    assert kept.held_bytes <= 100 * KB


def test_what_was_not_used_for_long_is_forgotten() -> None:
    now = 0.0
    kept = KeptStores(clock=lambda: now)
    for number in range(20):
        kept.put((f"start {number}", 0), version("start", number), "store", 16 * KB)
        now += 60
    assert kept.held_bytes < 4 * 20 * KB


def test_a_query_that_goes_on_from_the_checkpoint_of_another_takes_its_place() -> None:
    kept = KeptStores()
    for start in range(20):
        assert kept.take((start, 0), b"%d" % start) is None
        kept.put((start, 0), b"%d" % (start + 1), "store", 16 * KB)
    assert kept.held_bytes < 20 * KB


@dataclass
class Store:
    """The committed versions of a bucket's cells; a batch runs on a copy, as a task does."""

    versions: list[dict[str, bytes]]

    def run(self, feed: Feed, rows: list[Row], watermark: int, *, commits: bool = True) -> None:
        feed.cells = MemoryCells()
        feed.cells.cells = dict(self.versions[-1])
        feed.batch(rows, watermark)
        if commits:
            self.versions.append(feed.cells.cells)


def test_a_batch_that_failed_after_the_bucket_was_evaluated_runs_again_from_what_was_committed() -> None:
    """The hazards of spark-facts 1.9: a failed batch, the same batch twice, and an entry many batches old."""
    feed, store = Feed(sliced(hopping(10, 5), Members())), Store([{}])
    stale = feed.kept
    store.run(feed, [Row(("k",), 1, 1)], 0)
    store.run(feed, [Row(("k",), 2, 2)], 0, commits=False)
    store.run(feed, [Row(("k",), 2, 2)], 0)
    feed.kept = KeptStores()
    for tick in (3, 4):
        store.run(feed, [Row(("k",), tick, tick)], 0)
    feed.kept = stale
    store.run(feed, [], INFINITY)
    assert feed.output == [Answer(("k",), -1, ((1, 2, 3, 4),)), Answer(("k",), 0, ((1, 2, 3, 4),))]


def test_two_queries_in_one_process_do_not_meet() -> None:
    first, second = Feed(sliced(tumbling(10), Members())), Feed(sliced(tumbling(10), Members()))
    second.kept = first.kept
    for feed, payload in ((first, 1), (second, 2), (first, 3), (second, 4)):
        feed.batch([Row(("k",), 5, payload)])
    for feed in (first, second):
        feed.batch([], INFINITY)
    assert [feed.output[0].values for feed in (first, second)] == [((1, 3),), ((2, 4),)]


def test_a_store_whose_batch_failed_in_a_module_is_read_anew() -> None:
    class Fragile(Total):
        name = "test.fragile"
        breaks = False

        def compute_result(self, state: int) -> int:
            if self.breaks:
                raise ValueError("broken")
            return state

    module: Any = Fragile()
    feed = Feed(sliced(tumbling(10), module))
    feed.batch([Row(("k",), 5, 1)])
    module.breaks = True
    before = dict(feed.cells.cells)
    with pytest.raises(ModuleFailedError):
        feed.batch([Row(("k",), 5, 2)], INFINITY)
    assert feed.cells.cells == before
    module.breaks = False
    feed.batch([Row(("k",), 5, 2)], INFINITY)
    assert feed.output == [Answer(("k",), 0, (3,))]
