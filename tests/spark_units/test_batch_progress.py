"""What a micro-batch did, out of what its buckets say."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import types as spark_types

from muntin import EARLIEST, INFINITY
from muntin_engine.spark.writing.batch_progress import COUNTED, progress_of

TIMESTAMP, NAIVE, TICKS = spark_types.TimestampType(), spark_types.TimestampNTZType(), spark_types.LongType()


def schema(time: spark_types.DataType) -> spark_types.StructType:
    return spark_types.StructType([spark_types.StructField("watermark", time)])


def test_counts_of_all_buckets_add_up_and_the_slowest_sets_the_punctuation() -> None:
    numbers = [("accepted", 3), ("output_watermark", 20), ("results", 2), ("results", 1), ("newest", 99)]
    numbers += [("accepted", 4), ("output_watermark", 10), ("late", 1), ("evaluate_us", 5)]
    numbers += [("windows_closed", 7), ("windows_closed", 2)]
    assert COUNTED == ("accepted", "late", "rejected", "results")
    assert progress_of(5, numbers, schema(TICKS)) == (5, 7, 1, 0, 3, 10, {"windows_closed": 9})


def test_a_micro_batch_without_a_row_says_nothing() -> None:
    assert progress_of(0, [], schema(TICKS)) == (0, 0, 0, 0, 0, None, {})


@pytest.mark.parametrize(
    ("tick", "time", "expected"),
    [
        (EARLIEST, TIMESTAMP, None),
        (1_000_000, TIMESTAMP, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
        (1_000_000, NAIVE, datetime(1970, 1, 1, 0, 0, 1)),  # noqa: DTZ001  # as such columns hold it
        (INFINITY, TIMESTAMP, datetime.max.replace(tzinfo=UTC)),
        (-(2**62), TIMESTAMP, datetime.min.replace(tzinfo=UTC)),
        (INFINITY, TICKS, INFINITY),
    ],
)
def test_punctuation_is_a_time_where_the_axis_is(tick: int, time: spark_types.DataType, expected: Any) -> None:
    assert progress_of(0, [("output_watermark", tick)], schema(time))[5] == expected
