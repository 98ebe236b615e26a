"""A clock as a stream of Spark, so that time passes and micro-batches happen without data."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from muntin import Duration, moment
from muntin_engine.backends.planning.time_marks import period_of
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.backends.spark.session.kinds import AnySession

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
else:
    try:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
    except ImportError:  # PySpark 4.1, where Spark itself has every source end
        SupportsTriggerAvailableNow = object

_PERIOD: Final = "period"


@in_session()
def clock_stream(spark: AnySession, every: Duration = "10 seconds") -> DataFrame:
    """Return the readings of a clock as a stream of one column, `reading`.

    There is a reading each time that a period has passed. With the trigger `availableNow` the clock is read once, when
    the query starts. A query that is started again goes on after the last reading.

    Args:
        spark: The session.
        every: The period.

    Raises:
        PolicyError: The period is not above zero, or a number without a unit.
        DurationError: The period cannot be read.
    """
    period = period_of(every)
    spark.dataSource.register(ClockSource)
    return spark.readStream.format(ClockSource.name()).option(_PERIOD, str(period)).load()


class ClockSource(DataSource):
    """The clock of the machine that runs the driver; a subclass may be another one."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the source in Spark."""
        return f"muntin_{cls.__name__}"

    def now(self) -> int:
        """Return the time, in microseconds since the epoch."""
        return time.time_ns() // 1000

    def schema(self) -> str:
        """Return the schema of the readings."""
        return "reading timestamp"

    def streamReader(self, schema: Any) -> ClockReader:
        """Return the reader of the clock."""
        return ClockReader(self.now, int(self.options.get(_PERIOD, "10000000")))


class _Reading(InputPartition):
    """The partition of a micro-batch: its attribute `value` is the one reading."""


class ClockReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a clock; its offset is the latest reading, a multiple of the period."""

    def __init__(self, now: Any, period: int) -> None:
        """Create the reader.

        Args:
            now: A function that returns the time, in microseconds since the epoch.
            period: The period of the readings, in microseconds.
        """
        self._now = now
        self._period = period
        self._final_reading: int | None = None  # with `availableNow`, the reading at which the stream ends
        self._newest = 0

    def prepareForTriggerAvailableNow(self) -> None:
        """Set the reading at which a stream with `availableNow` ends: the present one."""
        self._final_reading = self._read()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit that has Spark read up to the latest reading, whatever came before."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable

        return ReadAllAvailable()

    def initialOffset(self) -> dict[str, int]:
        """Return the offset before the first reading."""
        return {"reading": 0}

    def latestOffset(self, start: Mapping[str, int] | None = None, limit: ReadLimit | None = None) -> dict[str, int]:
        """Return the latest reading as an offset. It never goes back, even if the clock of the machine is set back.

        PySpark 4.1 calls this method without `start`. So the first reading after a restart may be before the last
        reading of the previous run: `partitions` has nothing to read until the clock has passed that reading.

        Args:
            start: The offset at which the micro-batch starts; None if PySpark does not say it.
            limit: Spark's limit on the rows of a micro-batch, which is not used.
        """
        reading = self._read() if self._final_reading is None else self._final_reading
        self._newest = max(self._newest, reading, start["reading"] if start else 0)
        return {"reading": self._newest}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """Return the one partition of a micro-batch; none if no time has passed."""
        return [_Reading(end["reading"])] if end["reading"] > start["reading"] else []

    def read(self, partition: InputPartition) -> Iterator[tuple[datetime | None]]:
        """Yield the reading."""
        yield (moment(partition.value),)

    def _read(self) -> int:
        """Read the clock, in microseconds since the epoch, rounded down to a multiple of the period."""
        reading: int = self._now()
        return reading // self._period * self._period
