"""The buckets of keys, and their ids: equal keys share one, it never changes, and partitions get equally many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
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
"""A NaN with other bits than that of Python: it has a sign, and a payload."""

SO_MANY = 2**40
"""A number of buckets with which keys are in one bucket only if they have one hash."""


def buckets(key_type: pa.DataType, *keys: Any, count: int = 256) -> list[int]:
    """Return the bucket of each key, of so many buckets, where a key is one column."""
    buckets: list[int] = buckets_of([pa.array(keys, key_type)], len(keys), count).tolist()
    return buckets


@pytest.mark.parametrize(
    ("key_type", "keys", "expected"),
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
def test_the_bucket_of_a_key_is_the_same_for_ever(key_type: pa.DataType, keys: list[Any], expected: list[int]) -> None:
    """The numbers were written down once. Checkpoints depend on them: if one changes, old ones become unreadable."""
    assert buckets(key_type, *keys) == expected


@pytest.mark.parametrize(
    ("key_type", "key", "equal_key"),
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
def test_keys_that_spark_groups_together_share_a_bucket(key_type: pa.DataType, key: Any, equal_key: Any) -> None:
    bucket, bucket_of_equal = buckets(key_type, key, equal_key, count=SO_MANY)
    assert bucket == bucket_of_equal


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
    six_deviations = 6 * mean**0.5  # sizes of random buckets are nearly Poisson-distributed
    assert len(sizes) == count
    assert all(abs(size - mean) < six_deviations for size in sizes.values())


def test_the_order_of_key_columns_counts_and_null_is_a_value() -> None:
    first = pa.array([1, 2, None, None])
    second = pa.array([2, 1, 1, None])
    buckets = buckets_of([first, second], 4, SO_MANY).tolist()
    assert len(set(buckets)) == 4
    assert buckets_of([second, first], 4, SO_MANY).tolist() != buckets


@pytest.mark.parametrize(
    "column",
    [pa.array(["a", None, "b", "c"]), pa.array([1.5, None, 2.5, 3.5]), pa.array([[1], None, [2], [3]])],
    ids=["text", "float", "list"],
)
def test_a_slice_of_a_column_has_the_same_buckets(column: pa.Array) -> None:
    buckets = buckets_of([column], 4, SO_MANY).tolist()
    assert buckets_of([column.slice(1)], 3, SO_MANY).tolist() == buckets[1:]


def test_without_key_columns_all_rows_are_in_one_bucket() -> None:
    assert buckets_of([], length=3, count=16).tolist() == [0, 0, 0]


def test_a_single_bucket_has_the_rows_of_all_keys() -> None:
    keys = pa.array([{"a": b"\xff"}])
    assert buckets_of([keys], length=1, count=1).tolist() == [0]


def places_by_bucket(*tables: pa.Table) -> dict[int, list[int]]:
    """Distribute the rows of tables to four buckets, and return what each bucket has in the column `place`."""
    places: dict[int, list[int]] = {}
    for table in tables:
        for bucket, bucket_rows in by_bucket(table, ["k0"], count=4):
            places.setdefault(bucket, []).extend(bucket_rows.column("place").to_pylist())
    return places


def test_rows_of_a_key_stay_in_order_and_one_with_a_problem_may_hold_a_key_that_python_cannot_read() -> None:
    # Rows 0 and 3 have a problem; the key of row 0 is a time that Python cannot read.
    after_year_9999 = 2**62
    times = pa.array([after_year_9999, 0, 0, 0, 0], pa.int64()).cast(pa.timestamp("us"))
    rows = pa.table(
        {
            "problem": pa.array([9, None, None, 9, None], pa.int16()),
            "k0": pa.StructArray.from_arrays([times], ["at"]),
            "place": range(5),
        }
    )

    places = places_by_bucket(rows)
    assert sorted(chain.from_iterable(places.values())) == [0, 1, 2, 3, 4]
    (places_beside_row_1,) = [bucket_places for bucket_places in places.values() if 1 in bucket_places]
    good_places = [place for place in places_beside_row_1 if place in (1, 2, 4)]
    assert good_places == [1, 2, 4]


def test_no_bucket_gets_an_empty_table() -> None:
    no_rows = pa.table({"problem": pa.array([], pa.int16()), "k0": pa.array([], pa.string()), "place": range(0)})
    assert places_by_bucket(no_rows) == {}


@pytest.mark.parametrize("key_type", [pa.int64(), pa.string(), pa.timestamp("us"), pa.list_(pa.int64())], ids=str)
def test_a_row_with_a_problem_is_in_the_same_bucket_wherever_its_table_begins(key_type: pa.DataType) -> None:
    places = range(40)
    if pa.types.is_list(key_type):
        keys = pa.array([[2**62]] * 40, key_type)
    else:
        keys = pa.array(places, pa.int64()).cast(key_type)
    # Two of three rows have a problem, and every fifth one has no times.
    problems = pa.array([None if place % 3 == 0 else 1 for place in places], pa.int16())
    starts = pa.array([None if place % 5 == 0 else place for place in places], pa.int64())
    rows = pa.table({"problem": problems, "start": starts, "end": starts, "k0": keys, "place": places})

    places_of_whole_table = places_by_bucket(rows)
    assert places_by_bucket(rows.slice(0, 7), rows.slice(7)) == places_of_whole_table
    assert len(places_of_whole_table) > 1


# Buckets have ids that Spark's hash partitioner spreads over its partitions.


def buckets_by_partition(ids: Iterable[int], partitions: int) -> Counter[int]:
    """Return the number of buckets that each partition gets, as Spark places rows: by the hash of an id."""
    return Counter(murmur3(id) % partitions for id in ids)


@pytest.mark.parametrize(("value", "expected"), [(0, 933211791), (1, -559580957), (-1, -1604776387)])
def test_the_hash_is_that_of_spark(value: int, expected: int) -> None:
    """The expected values are those of `SELECT hash(value)` in Spark SQL."""
    assert murmur3(value) == expected


@pytest.mark.parametrize("partitions", [1, 2, 4, 8, 16, 32, 64])
def test_partitions_get_equally_many_buckets_if_their_number_is_a_power_of_two(partitions: int) -> None:
    for buckets_each in (1, 2, 4):
        ids = bucket_ids(buckets_each * partitions)
        assert buckets_by_partition(ids, partitions) == dict.fromkeys(range(partitions), buckets_each)


@pytest.mark.parametrize("partitions", [3, 5, 6, 7, 12])
def test_other_numbers_of_partitions_come_close(partitions: int) -> None:
    bucket_counts = buckets_by_partition(bucket_ids(256), partitions)
    assert len(bucket_counts) == partitions
    assert max(bucket_counts.values()) <= 1.5 * 256 / partitions


def test_ids_are_distinct_ints_and_a_smaller_query_has_the_first_of_them() -> None:
    ids = bucket_ids(MOST_BUCKETS)
    assert len(set(ids)) == MOST_BUCKETS
    assert all(0 <= id < 2**31 for id in ids)
    assert bucket_ids(16) == ids[:16]


def test_queries_of_one_pass_have_ids_of_their_own() -> None:
    ids = list(chain.from_iterable(bucket_ids(MOST_BUCKETS, place) for place in range(5)))
    assert len(set(ids)) == 5 * MOST_BUCKETS


def test_the_ids_of_each_query_of_a_pass_are_spread_evenly() -> None:
    for place in range(5):
        assert buckets_by_partition(bucket_ids(16, place), partitions=8) == dict.fromkeys(range(8), 2)


def test_the_only_buckets_of_five_queries_are_in_five_partitions() -> None:
    ids = [bucket_ids(1, place)[0] for place in range(5)]
    assert buckets_by_partition(ids, partitions=8).total() == len(buckets_by_partition(ids, partitions=8)) == 5
