"""Decoded state in a process: only ever that of the very version that the state store holds."""

from __future__ import annotations

import pytest

from muntin_engine.state.kept_stores import KeptStores


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
