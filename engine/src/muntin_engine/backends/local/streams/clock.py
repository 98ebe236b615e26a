"""The clock of this machine as a stream, with its reading in one micro-batch."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa

from muntin import Duration
from muntin_engine.backends.local.duckdb_types import INSTANT
from muntin_engine.backends.local.frames.local_stream import LocalStream
from muntin_engine.backends.planning.time_marks import period_of
from muntin_engine.wire.arrow_arrays import arrow_array

if TYPE_CHECKING:
    from muntin_engine.backends.local.frames.micro_batch import MicroBatch


def clock_stream(every: Duration, micro_batch: MicroBatch) -> LocalStream:
    """Return the reading of the clock as a stream with one column, `reading`, and one row.

    The reading is the current time, cut down to a whole number of periods since 1970.

    Args:
        every: The period.
        micro_batch: The micro-batch in which the clock is read.

    Raises:
        PolicyError: The period is not above zero, or a number without a unit.
        DurationError: The period cannot be read.
    """
    period = period_of(every)
    now = time.time_ns() // 1000
    readings = arrow_array([now // period * period], pa.int64()).cast(INSTANT)
    return LocalStream(pa.table({"reading": readings}), micro_batch)
