"""Decoded state in a process: only ever that of the very version that the state store holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from muntin import INFINITY, ModuleFailedError, hopping, tumbling
from muntin_engine.core.cells import MemoryCells
from muntin_engine.core.sliced.kept import KeptStores
from tests.core.sliced.build import Answer, Feed, Members, Row, Total, sliced


def test_a_store_is_handed_out_once_and_for_its_own_version_alone() -> None:
    kept = KeptStores()
    kept.put("bucket", b"1", "store")
    assert kept.take("other", b"1") is None
    assert kept.take("bucket", b"1") == "store"
    assert kept.take("bucket", b"1") is None


@pytest.mark.parametrize("version", [b"2", b""])
def test_a_store_of_another_version_is_dropped(version: bytes) -> None:
    kept = KeptStores()
    kept.put("bucket", b"1", "store")
    assert kept.take("bucket", version) is None
    assert kept.take("bucket", b"1") is None


def test_no_version_is_no_version_to_compare() -> None:
    kept = KeptStores()
    kept.put("bucket", b"", "store")
    assert kept.take("bucket", b"") is None


def test_the_store_that_was_not_used_for_the_longest_time_goes_first() -> None:
    kept = KeptStores(most=2)
    for name in ("a", "b"):
        kept.put(name, b"1", name)
    kept.put("a", b"2", kept.take("a", b"1"))
    kept.put("c", b"1", "c")
    assert [kept.take(name, version) for name, version in [("a", b"2"), ("b", b"1"), ("c", b"1")]] == ["a", None, "c"]


@dataclass
class Store:
    """The committed versions of a bucket's cells; a batch runs on a copy, as a task does."""

    versions: list[dict[str, bytes]]

    def run(self, feed: Feed, rows: list[Row], punctuation: int, *, commits: bool = True) -> None:
        feed.cells = MemoryCells()
        feed.cells.cells = dict(self.versions[-1])
        feed.batch(rows, punctuation)
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
