"""The metrics of a micro-batch, as one row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import types as spark_types

from muntin import EARLIEST, moment
from muntin.axis import decimal_of
from muntin_engine.backends.spark.dataframes.result_schemas import result_time_type
from muntin_engine.plan.metrics import is_count
from muntin_engine.tasks.output_blobs import ACCEPTED, LATE, OUTPUT_WATERMARK, REJECTED, RESULTS

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery

COUNTED: Final = (ACCEPTED, LATE, REJECTED, RESULTS)
"""The counts that have a column of their own."""

_CALENDAR: Final = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The years 1 to 9999, which is as far as Python's datetime goes."""


def progress_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the columns of the progress of a query."""
    time = result_time_type(query)
    others = spark_types.MapType(spark_types.StringType(), spark_types.LongType())
    metrics = [spark_types.StructField(name, spark_types.LongType()) for name in ("batch_id", *COUNTED)]
    added = [spark_types.StructField("watermark", time), spark_types.StructField("metrics", others)]
    return spark_types.StructType([*metrics, *added])


def progress_of(
    batch_id: int, metrics: Iterable[tuple[str, int]], schema: spark_types.StructType
) -> tuple[int | datetime | Decimal | dict[str, int] | None, ...]:
    """Return the row of a micro-batch.

    Args:
        batch_id: Its number.
        metrics: The metrics of the buckets, by name; the counts among them and the output watermark are used.
        schema: See `progress_schema`.
    """
    counts: Counter[str] = Counter()
    watermark: list[int] = []
    for name, number in metrics:
        if name == OUTPUT_WATERMARK:
            watermark.append(number)
        elif is_count(name):
            counts[name] += number
    own = [counts.pop(name, 0) for name in COUNTED]
    return batch_id, *own, _time(min(watermark, default=EARLIEST), schema["watermark"].dataType), dict(counts)


def _time(tick: int, data_type: spark_types.DataType) -> Any:
    if tick <= EARLIEST:
        return None
    if isinstance(data_type, spark_types.LongType):
        return tick
    if isinstance(data_type, spark_types.DecimalType):
        return decimal_of(tick, data_type.scale)
    first, last = _CALENDAR
    at = moment(max(first, min(tick, last)))
    is_zoned = isinstance(data_type, spark_types.TimestampType)
    return at if is_zoned or at is None else at.replace(tzinfo=None)
