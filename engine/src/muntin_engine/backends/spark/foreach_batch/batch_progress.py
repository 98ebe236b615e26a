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
"""The counts that have columns; the other counts are in the column `metrics`."""

_FIRST_DATETIME: Final = -62_135_596_800_000_000
_LAST_DATETIME: Final = 253_402_300_799_999_999
"""The years 1 to 9999 in microseconds since the epoch, which is as far as Python's datetime goes."""


def progress_schema(query: PlannedQuery) -> spark_types.StructType:
    """Return the columns of the output `metrics` of a query, which has a row for each micro-batch."""
    schema = spark_types.StructType()
    for name in ("batch_id", *COUNTED):
        schema.add(name, spark_types.LongType())
    schema.add("watermark", result_time_type(query))
    schema.add("metrics", spark_types.MapType(spark_types.StringType(), spark_types.LongType()))
    return schema


def progress_of(
    batch_id: int, metrics: Iterable[tuple[str, int]], schema: spark_types.StructType
) -> tuple[int | datetime | Decimal | dict[str, int] | None, ...]:
    """Return the row of the output `metrics` for a micro-batch, as a tuple of its columns.

    Args:
        batch_id: The number of the micro-batch.
        metrics: The metrics of all buckets, as pairs of a name and a number. The counts are added up, and of the output
            watermarks the least is taken; other metrics are left out.
        schema: The columns of the row, see `progress_schema`.
    """
    counts: Counter[str] = Counter()
    watermarks: list[int] = []
    for name, number in metrics:
        if name == OUTPUT_WATERMARK:
            watermarks.append(number)
        elif is_count(name):
            counts[name] += number
    column_counts = [counts.pop(name, 0) for name in COUNTED]  # popped, as the column `metrics` has only the others
    watermark = _time(min(watermarks, default=EARLIEST), schema["watermark"].dataType)
    return batch_id, *column_counts, watermark, dict(counts)


def _time(tick: int, data_type: spark_types.DataType) -> Any:
    """Return a tick as a value of a column with times; None for `EARLIEST`, the watermark before any progress.

    Args:
        tick: The tick.
        data_type: The type of the column: a timestamp, a timestamp without a zone, a long or a decimal.
    """
    if tick <= EARLIEST:
        return None
    if isinstance(data_type, spark_types.LongType):
        return tick
    if isinstance(data_type, spark_types.DecimalType):
        return decimal_of(tick, data_type.scale)
    time = moment(max(_FIRST_DATETIME, min(tick, _LAST_DATETIME)))
    if time is None or isinstance(data_type, spark_types.TimestampType):
        return time
    return time.replace(tzinfo=None)
