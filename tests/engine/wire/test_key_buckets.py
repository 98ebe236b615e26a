"""The buckets of keys, and their ids: equal keys share one, it never changes, and partitions get equally many."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import chain
from math import copysign, inf, nan
from struct import unpack
from typing import Any

import pyarrow as pa
import pytest

from muntin_engine.plan import MOST_BUCKETS
from muntin_engine.wire.bucket_ids import bucket_ids, murmur3
from muntin_engine.wire.key_buckets import buckets_of, by_bucket

POINT = pa.struct([("x", pa.float64()), ("name", pa.string())])
OTHER_NAN = unpack("<d", bytes([1, 0, 0, 0, 0, 0, 0xF8, 0xFF]))[0]


def buckets(kind: pa.DataType, *keys: Any, count: int = 256) -> list[int]:
    buckets: list[int] = buckets_of([pa.array(keys, kind)], len(keys), count).tolist()
    return buckets


@pytest.mark.parametrize(
    ("kind", "keys", "expected"),
    [
        (pa.int64(), [0, 1, -1, 2**62, None], [0, 89, 101, 204, 93]),
        (pa.int16(), [0, 1, -1, None], [0, 89, 101, 93]),
        (pa.bool_(), [True, False, None], [89, 0, 93]),
        (pa.float64(), [0.0, 1.5, inf, nan, None], [0, 201, 95, 98, 93]),
        (pa.string(), ["", "a", "käse", None], [0, 94, 118, 93]),
        (pa.binary(), [b"", b"a", b"\xff"], [0, 94, 254]),
        (pa.date32(), [date(1970, 1, 1), date(2024, 2, 29), None], [0, 10, 93]),
        (
            pa.timestamp("us", "UTC"),
            [datetime(1970, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, 12, tzinfo=UTC)],
            [0, 170],
        ),
        (pa.decimal128(10, 2), [Decimal("0.00"), Decimal("1.10"), Decimal("-7.25"), None], [239, 177, 59, 93]),
        (pa.list_(pa.int64()), [[], [1, 2], None], [68, 241, 93]),
        (POINT, [{"x": 1.0, "name": "a"}, {"x": None, "name": None}, None], [221, 2, 93]),
    ],
    ids=str,
)
def test_the_bucket_of_a_key_is_the_same_for_ever(kind: pa.DataType, keys: list[Any], expected: list[int]) -> None:
    assert buckets(kind, *keys) == expected


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (pa.float64(), 0.0, -0.0),
        (pa.float32(), 0.0, -0.0),
        (pa.float64(), nan, OTHER_NAN),
        (pa.float32(), nan, copysign(nan, -1)),
        (pa.list_(pa.float64()), [0.0, nan], [-0.0, OTHER_NAN]),
        (POINT, {"x": 0.0, "name": "a"}, {"x": -0.0, "name": "a"}),
    ],
    ids=str,
)
def test_keys_that_spark_groups_together_share_a_bucket(kind: pa.DataType, one: Any, other: Any) -> None:
    first, second = buckets(kind, one, other, count=2**40)
    assert first == second


@pytest.mark.parametrize(
    "column",
    [
        pa.array(range(20_000)),
        pa.array(range(0, 20_000 * 4096, 4096)),
        pa.array([number / 7 for number in range(20_000)]),
        pa.array([f"customer-{number}" for number in range(20_000)]),
        pa.array(range(20_000), pa.timestamp("us")),
    ],
    ids=lambda column: str(column.type),
)
@pytest.mark.parametrize("count", [3, 16, 256])
def test_keys_are_spread_evenly(column: pa.Array, count: int) -> None:
    sizes = Counter(buckets_of([column], len(column), count).tolist())
    mean = len(column) / count
    assert len(sizes) == count
    assert all(abs(size - mean) < 6 * mean**0.5 for size in sizes.values())


def test_several_columns_count_in_their_order_and_null_is_a_value() -> None:
    first = pa.array([1, 2, None, None])
    second = pa.array([2, 1, 1, None])
    buckets = buckets_of([first, second], 4, 2**40).tolist()
    assert len(set(buckets)) == 4
    assert buckets_of([second, first], 4, 2**40).tolist() != buckets


def test_a_part_of_a_column_has_the_same_buckets() -> None:
    for column in (pa.array(["a", None, "b", "c"]), pa.array([1.5, None, 2.5, 3.5]), pa.array([[1], None, [2], [3]])):
        whole = buckets_of([column], 4, 2**40).tolist()
        assert buckets_of([column.slice(1)], 3, 2**40).tolist() == whole[1:]


def test_without_keys_and_with_one_bucket_all_rows_are_together() -> None:
    assert buckets_of([], 3, 16).tolist() == [0, 0, 0]
    assert buckets_of([pa.array([{"a": b"\xff"}])], 1, 1).tolist() == [0]


def test_rows_keep_their_order_and_one_with_a_problem_may_hold_any_key() -> None:
    never = pa.array([2**62, 0, 0, 0, 0], pa.int64()).cast(pa.timestamp("us"))
    keys = pa.StructArray.from_arrays([never], ["at"])  # the first one has no counterpart in Python
    rows = pa.table({"problem": pa.array([9, None, None, 9, None], pa.int16()), "k0": keys, "place": range(5)})
    places_by_bucket: dict[int, list[int]] = {}
    for bucket, bucket_rows in by_bucket(rows, ["k0"], 4):
        places_by_bucket[bucket] = bucket_rows.column("place").to_pylist()
    good = [places for places in places_by_bucket.values() if 1 in places]
    assert sorted(chain.from_iterable(places_by_bucket.values())) == [0, 1, 2, 3, 4]
    assert [place for place in good[0] if place in (1, 2, 4)] == [1, 2, 4]
    assert list(by_bucket(rows.slice(0, 0), ["k0"], 4)) == []


@pytest.mark.parametrize("key", [pa.int64(), pa.string(), pa.timestamp("us"), pa.list_(pa.int64())], ids=str)
def test_a_row_with_a_problem_is_in_the_same_bucket_wherever_its_table_begins(key: pa.DataType) -> None:
    keys = pa.array([[2**62]] * 40, key) if pa.types.is_list(key) else pa.array(range(40), pa.int64()).cast(key)
    starts = pa.array([None if place % 5 == 0 else place for place in range(40)], pa.int64())
    problems = pa.array([None if place % 3 == 0 else 1 for place in range(40)], pa.int16())
    rows = pa.table({"problem": problems, "start": starts, "end": starts, "k0": keys, "place": range(40)})
    whole: dict[int, list[int]] = {}
    cut: dict[int, list[int]] = {}
    for tables, places in (([rows], whole), ([rows.slice(0, 7), rows.slice(7)], cut)):
        for table in tables:
            for bucket, bucket_rows in by_bucket(table, ["k0"], 4):
                places.setdefault(bucket, []).extend(bucket_rows.column("place").to_pylist())
    assert whole == cut
    assert len(whole) > 1


# Bucket ids that a hash partitioner spreads.


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
    ids = list(chain.from_iterable(bucket_ids(MOST_BUCKETS, place) for place in places))
    assert len(set(ids)) == 5 * MOST_BUCKETS
    for place in places:
        spread = Counter(murmur3(id) % 8 for id in bucket_ids(16, place))
        assert spread == dict.fromkeys(range(8), 2)
    assert len({murmur3(bucket_ids(1, place)[0]) % 8 for place in places}) == 5
