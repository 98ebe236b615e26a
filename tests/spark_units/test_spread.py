"""Bucket ids that a hash partitioner spreads."""

from __future__ import annotations

from collections import Counter

import pytest

from muntin_engine.exchange.task_payload import bucket_ids, murmur3
from muntin_engine.plan import MOST_BUCKETS


@pytest.mark.parametrize(("value", "expected"), [(0, 933211791), (1, -559580957), (-1, -1604776387)])
def test_the_hash_is_sparks(value: int, expected: int) -> None:
    assert murmur3(value) == expected


@pytest.mark.parametrize("partitions", [1, 2, 4, 8, 16, 32, 64])
def test_every_partition_gets_equally_many_buckets(partitions: int) -> None:
    for buckets in (partitions, 2 * partitions, 4 * partitions):
        spread = Counter(murmur3(id) % partitions for id in bucket_ids(buckets))
        assert spread == dict.fromkeys(range(partitions), buckets // partitions)


@pytest.mark.parametrize("partitions", [3, 5, 6, 7, 12])
def test_other_numbers_of_partitions_come_close(partitions: int) -> None:
    spread = Counter(murmur3(id) % partitions for id in bucket_ids(256))
    assert len(spread) == partitions
    assert max(spread.values()) <= 1.5 * 256 / partitions


def test_ids_are_distinct_ints_and_a_smaller_query_has_the_first_of_them() -> None:
    ids = bucket_ids(MOST_BUCKETS)
    assert len(set(ids)) == MOST_BUCKETS
    assert all(0 <= id < 2**31 for id in ids)
    assert bucket_ids(16) == ids[:16]


def test_queries_of_one_pass_have_ids_of_their_own_that_are_spread_as_well() -> None:
    places = range(5)
    ids = [id for place in places for id in bucket_ids(MOST_BUCKETS, place)]
    assert len(set(ids)) == 5 * MOST_BUCKETS
    for place in places:
        spread = Counter(murmur3(id) % 8 for id in bucket_ids(16, place))
        assert spread == dict.fromkeys(range(8), 2)
    assert len({murmur3(bucket_ids(1, place)[0]) % 8 for place in places}) == 5
