"""The cache of stores: what is handed out, and what has to go."""

from __future__ import annotations

import pytest

from muntin_engine.state.store_cache import StoreCache

KB = 1024


def test_a_store_is_handed_out_once_and_for_its_own_bucket_alone() -> None:
    cache = StoreCache()
    cache.put(bucket=("q", 1), version=b"1", store="store")
    assert cache.take(bucket=("q", 2), version=b"2") is None
    assert cache.take(bucket=("q", 1), version=b"1") == "store"
    assert cache.take(bucket=("q", 1), version=b"1") is None


@pytest.mark.parametrize("asked_for", [b"2", b""])
def test_a_store_of_another_version_is_dropped(asked_for: bytes) -> None:
    cache = StoreCache()
    cache.put(bucket=("q", 1), version=b"1", store="store")
    assert cache.take(bucket=("q", 1), version=asked_for) is None
    assert cache.take(bucket=("q", 1), version=b"1") is None


def test_a_store_without_a_version_equals_no_state() -> None:
    cache = StoreCache()
    cache.put(bucket=("q", 1), version=b"", store="store")
    assert cache.take(bucket=("q", 1), version=b"") is None


def version_of(bucket: tuple[str, int]) -> bytes:
    """Return the version of the state of a bucket, which no other store has; it is the same in all batches."""
    query, number = bucket
    return f"{query} {number}".encode()


def evaluate_bucket(cache: StoreCache, bucket: tuple[str, int], size: int) -> bool:
    """Take the store of a bucket out of the cache, as a batch does, and put one back; return whether there was one."""
    store = cache.take(bucket, version_of(bucket))
    cache.put(bucket, version_of(bucket), store or "store", size)
    return store is not None


def test_what_is_kept_is_bounded_by_bytes_and_the_longest_unused_of_other_queries_goes_first() -> None:
    cache = StoreCache(most=100 * KB)
    for query in "abc":
        evaluate_bucket(cache, (query, 1), 30 * KB)
    evaluate_bucket(cache, ("a", 1), 30 * KB)  # now b is the longest unused
    evaluate_bucket(cache, ("d", 1), 30 * KB)
    assert cache.held_bytes <= 100 * KB

    buckets = [(query, 1) for query in "abcd"]
    kept_buckets = [bucket for bucket in buckets if cache.take(bucket, version_of(bucket)) is not None]
    assert kept_buckets == [("a", 1), ("c", 1), ("d", 1)]
    assert cache.held_bytes == 0, "all were taken out"


def test_a_query_that_is_too_much_by_itself_keeps_a_part() -> None:
    """Were the oldest to go, each batch would find none: it asks for them in the same order."""
    cache = StoreCache(most=100 * KB)
    evaluate_bucket(cache, ("other", 1), 10 * KB)
    hits = 0
    for _batch in range(5):
        for number in range(6):
            hits += evaluate_bucket(cache, ("q", number), 28 * KB)
    assert hits == 4 * 3, "in each batch but the first, three of six stores of 28 kB, as many as fit into 100 kB"
    assert cache.held_bytes <= 100 * KB


class PartlyDecoded:
    """A store of records whose decoded states can be dropped.

    Attributes:
        records: The bytes of its records.
        decoded: The bytes of its decoded states.
    """

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
    buckets = [("q", number) for number in range(8)]
    for batch in range(3):
        hits = 0
        for bucket in buckets:
            hits += cache.take(bucket, version_of(bucket)) is not None
            # The first one alone would fill the cache; its records and those of the others fit in.
            if bucket == ("q", 0):
                store = PartlyDecoded(records=100 * KB, decoded=900 * KB)
            else:
                store = PartlyDecoded(records=20 * KB, decoded=180 * KB)
            store.forget_decoded(store.memory - cache.room(bucket))
            assert cache.put(bucket, version_of(bucket), store, store.memory)
            assert cache.held_bytes <= 1000 * KB

        expected_hits = 0 if batch == 0 else len(buckets)
        assert hits == expected_hits


def test_a_store_that_is_idle_takes_no_room() -> None:
    now = 0.0
    cache = StoreCache(most=100 * KB, clock=lambda: now)
    cache.put(("q", 1), b"1", "store", 60 * KB)
    assert cache.room(("q", 2)) < 40 * KB
    now += 1000
    assert cache.room(("q", 2)) > 90 * KB


def test_what_was_not_used_for_long_is_forgotten() -> None:
    now = 0.0
    cache = StoreCache(clock=lambda: now)
    for number in range(20):  # a query each minute, while a store is idle after two
        cache.put((f"query {number}", 0), b"%d" % number, "store", 16 * KB)
        now += 60
    assert cache.held_bytes < 4 * 20 * KB


def test_a_query_that_goes_on_from_the_checkpoint_of_another_takes_its_place() -> None:
    cache = StoreCache()
    for number in range(20):
        previous_version = b"%d" % number  # the query before has put its store under it
        assert cache.take((f"query {number}", 0), previous_version) is None
        cache.put((f"query {number}", 0), b"%d" % (number + 1), "store", 16 * KB)
    assert cache.held_bytes < 20 * KB, "one store"
