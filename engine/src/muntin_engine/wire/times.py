"""Times as ticks, and back: integers as they are, timestamps in microseconds, decimals in units of their last place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from muntin.columnar.arrays import IntArray
from muntin_engine.time.changes import LATEST
from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar, numpy_array
from muntin_engine.wire.task_payload import TaskPayload

_WORDS: Final = 2
"""The number of 64-bit words of a decimal in Arrow's memory; the lower word comes first."""


def as_ticks(times: pa.Array) -> pa.Array:
    """Return times as ticks. A decimal that lies further away than ticks reach becomes `LATEST` or `-LATEST`.

    No row with such a tick is accepted.

    Example:
        >>> from decimal import Decimal
        >>> as_ticks(pa.array([Decimal("1.25"), None, Decimal("-0.5")], pa.decimal128(10, 2))).to_pylist()
        [125, None, -50]
    """
    if not pa.types.is_decimal(times.type) or not len(times):
        return times.cast(pa.int64())
    # A decimal is two words in memory, the lower one first.
    buffer = np.frombuffer(times.buffers()[1], np.int64)
    words = buffer[_WORDS * times.offset :][: _WORDS * len(times)]
    low = words[::_WORDS]
    high = words[1::_WORDS]
    fits = high == low >> 63  # then the upper word only repeats the sign of the lower one
    nearest_too_far = np.where(high < 0, -LATEST, LATEST)
    ticks = np.where(fits, low, nearest_too_far)
    return arrow_array(ticks, mask=numpy_array(times.is_null()))


def far_times_column(name: str, times: pa.Array, ticks: pa.Array) -> dict[str, pa.Array]:
    """Return the decimals that lie further away than ticks reach, as a column for the side output of rejected rows.

    Args:
        name: The name of the column of times.
        times: The times as decimals.
        ticks: The same times as ticks, as `as_ticks` returns them; for ends, INFINITY in place of null.

    Returns:
        One column by its name, null for times that ticks reach; no column if ticks reach all of them.
    """
    # A null end is INFINITY among the ticks: it lasts forever and is not too far.
    is_far = pc.and_(pc.greater_equal(pc.abs(ticks), arrow_scalar(LATEST)), times.is_valid())
    if not pc.any(is_far).as_py():
        return {}
    return {far_time_name(name): pc.if_else(is_far, times, arrow_scalar(None, times.type))}


def far_time_name(name: str) -> str:
    """Return the name of the column for times of another column that lie further away than ticks reach."""
    return f"far_{name}"


def as_times(ticks: pa.Array, time_type: pa.DataType) -> pa.Array:
    """Return ticks as times, or as lengths, of an Arrow type.

    Example:
        >>> as_times(pa.array([125, None]), pa.decimal128(19, 2)).to_pylist()
        [Decimal('1.25'), None]
    """
    if not pa.types.is_decimal(time_type):
        return ticks.cast(time_type)
    numbers = numpy_array(ticks.cast(pa.int64()), nulls=0)
    # A decimal is two words in memory, the lower one first.
    words = np.empty(_WORDS * len(numbers), np.int64)
    words[::_WORDS] = numbers
    words[1::_WORDS] = numbers >> 63  # the upper word only repeats the sign
    validity = arrow_array(numpy_array(ticks.is_valid()), pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(time_type, len(numbers), [validity, pa.py_buffer(words)], ticks.null_count)


Ticks: TypeAlias = IntArray | Sequence[int | None] | pa.Array


def extents(task: TaskPayload, starts: Ticks, ends: Ticks) -> pa.Array:
    """Return windows or lifetimes as a column of structs with the fields `start` and `end`.

    Args:
        task: The query, which has the type of times.
        starts: The starts as ticks.
        ends: The ends as ticks; null for a lifetime that never ends.
    """
    time_type = task.time_type
    fields = [pa.field("start", time_type), pa.field("end", time_type)]
    columns = [as_times(arrow_array(starts), time_type), as_times(arrow_array(ends), time_type)]
    return pa.StructArray.from_arrays(columns, fields=fields)
