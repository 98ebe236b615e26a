"""The cache of stores: what is handed out, and what has to go."""

from __future__ import annotations

import pytest

from muntin_engine.state.store_cache import StoreCache


def test_a_store_is_handed_out_once_and_for_its_own_version_alone() -> None:
    cache = StoreCache()
    cache.put(("q", 1), b"1", "store")
    assert cache.take(("q", 2), b"2") is None
    assert cache.take(("q", 1), b"1") == "store"
    assert cache.take(("q", 1), b"1") is None


@pytest.mark.parametrize("version", [b"2", b""])
def test_a_store_of_another_version_is_dropped(version: bytes) -> None:
    cache = StoreCache()
    cache.put(("q", 1), b"1", "store")
    assert cache.take(("q", 1), version) is None
    assert cache.take(("q", 1), b"1") is None


def test_no_version_is_no_version_to_compare() -> None:
    cache = StoreCache()
    cache.put(("q", 1), b"", "store")
    assert cache.take(("q", 1), b"") is None


KB = 1024


def version(query: str, number: int) -> bytes:
    """Return a version that is never used for another store."""
    return f"{query} {number}".encode()


def names(cache: StoreCache, *buckets: tuple[str, int]) -> list[str]:
    """Return which of some buckets have a store."""
    return [f"{query}{number}" for query, number in buckets if cache.take((query, number), version(query, number))]


def test_what_is_kept_is_bounded_by_bytes_and_the_longest_unused_of_others_goes_first() -> None:
    cache = StoreCache(most=100 * KB)
    for query in "abc":
        cache.put((query, 1), version(query, 1), query, 30 * KB)
    cache.put(("a", 1), version("a", 1), cache.take(("a", 1), version("a", 1)), 30 * KB)
    cache.put(("d", 1), version("d", 1), "d", 30 * KB)
    assert cache.held_bytes <= 100 * KB
    assert names(cache, ("a", 1), ("b", 1), ("c", 1), ("d", 1)) == ["a1", "c1", "d1"]
    assert cache.held_bytes == 0


def test_a_query_that_is_too_much_by_itself_keeps_a_part() -> None:
    """Were the oldest to go, each batch would find none: it asks for them in the same order."""
    cache = StoreCache(most=100 * KB)
    cache.put(("other", 1), b"1", "store", 10 * KB)
    hits = 0
    for _ in range(5):
        for number in range(6):
            hits += cache.take(("q", number), version("q", number)) is not None
            cache.put(("q", number), version("q", number), "store", 28 * KB)
    assert hits == 4 * 3
    assert cache.held_bytes <= 100 * KB


class PartlyDecoded:
    """A store whose decoded states can be dropped."""

    def __init__(self, records: int, decoded: int) -> None:
        self.records = records
        self.decoded = decoded

    @property
    def memory(self) -> int:
        return self.records + self.decoded

    def forget_decoded(self, to_free: int) -> int:
        freed = max(0, min(to_free, self.decoded))
        self.decoded -= freed
        return freed


def test_the_decoded_states_of_a_large_store_leave_room_for_the_records_of_others() -> None:
    """As `write_store` does it: a store first drops what does not fit of its own decoded states."""
    cache = StoreCache(most=1000 * KB)
    for batch in range(3):
        hits = 0
        for number in range(8):
            hits += cache.take(("q", number), version("q", number)) is not None
            store = PartlyDecoded(100 * KB, 900 * KB) if number == 0 else PartlyDecoded(20 * KB, 180 * KB)
            store.forget_decoded(store.memory - cache.room(("q", number)))
            assert cache.put(("q", number), version("q", number), store, store.memory)
            assert cache.held_bytes <= 1000 * KB
        assert hits == (8 if batch else 0)


def test_a_store_that_is_idle_takes_no_room() -> None:
    now = 0.0
    cache = StoreCache(most=100 * KB, clock=lambda: now)
    cache.put(("q", 1), version("q", 1), "store", 60 * KB)
    assert cache.room(("q", 2)) < 40 * KB
    now += 1000
    assert cache.room(("q", 2)) > 90 * KB


def test_what_was_not_used_for_long_is_forgotten() -> None:
    now = 0.0
    cache = StoreCache(clock=lambda: now)
    for number in range(20):
        cache.put((f"start {number}", 0), version("start", number), "store", 16 * KB)
        now += 60
    assert cache.held_bytes < 4 * 20 * KB


def test_a_query_that_goes_on_from_the_checkpoint_of_another_takes_its_place() -> None:
    cache = StoreCache()
    for start in range(20):
        assert cache.take((start, 0), b"%d" % start) is None
        cache.put((start, 0), b"%d" % (start + 1), "store", 16 * KB)
    assert cache.held_bytes < 20 * KB
