"""A column of each Arrow type that has a meaning in a query, with the type and the values that a query reads of it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

MOMENT: Final = datetime(2024, 5, 1, 8, 30, tzinfo=UTC)
INSTANTS: Final = pa.timestamp("us", "UTC")
DAY: Final = timedelta(days=1)


DICTIONARY: Final = pa.dictionary(pa.int8(), pa.string())


class ColumnCase(NamedTuple):
    """A column of a value and a null, the type in which a query reads it, and the value that it reads."""

    column: pa.Array
    read_type: pa.DataType
    read_value: Any


_CASES: Final[dict[str, tuple[pa.Array, pa.DataType, Any]]] = {
    "int8": (pa.array([1, None], pa.int8()), pa.int8(), 1),
    "int64": (pa.array([1, None], pa.int64()), pa.int64(), 1),
    "uint8": (pa.array([255, None], pa.uint8()), pa.int16(), 255),
    "uint16": (pa.array([65_535, None], pa.uint16()), pa.int32(), 65_535),
    "uint32": (pa.array([2**32 - 1, None], pa.uint32()), pa.int64(), 2**32 - 1),
    "uint64": (pa.array([2**64 - 1, None], pa.uint64()), pa.decimal128(20, 0), Decimal(2**64 - 1)),
    "float16": (pa.array([np.float16(1.5), None], pa.float16()), pa.float32(), 1.5),
    "float32": (pa.array([1.5, None], pa.float32()), pa.float32(), 1.5),
    "float64": (pa.array([1.1, None]), pa.float64(), 1.1),
    "boolean": (pa.array([True, None]), pa.bool_(), True),
    "string": (pa.array(["ä", None]), pa.string(), "ä"),
    "large_string": (pa.array(["ä", None], pa.large_string()), pa.string(), "ä"),
    "string_view": (pa.array(["ä", None], pa.string_view()), pa.string(), "ä"),
    "dictionary": (pa.array(["ä", None]).dictionary_encode(), pa.string(), "ä"),
    "dictionary of numbers": (pa.array([7, None]).dictionary_encode(), pa.int64(), 7),
    "run ends": (pa.RunEndEncodedArray.from_arrays([1, 2], ["ä", None]), pa.string(), "ä"),
    "binary": (pa.array([b"\x00", None]), pa.binary(), b"\x00"),
    "large_binary": (pa.array([b"\x00", None], pa.large_binary()), pa.binary(), b"\x00"),
    "binary_view": (pa.array([b"\x00", None], pa.binary_view()), pa.binary(), b"\x00"),
    "fixed_size_binary": (pa.array([b"\x00", None], pa.binary(1)), pa.binary(), b"\x00"),
    "date32": (pa.array([date(1960, 2, 29), None]), pa.date32(), date(1960, 2, 29)),
    "date64": (pa.array([date(1960, 2, 29), None], pa.date64()), pa.date32(), date(1960, 2, 29)),
    "timestamp[s]": (pa.array([MOMENT, None], pa.timestamp("s", "UTC")), INSTANTS, MOMENT),
    "timestamp[ms]": (pa.array([MOMENT, None], pa.timestamp("ms", "Europe/Berlin")), INSTANTS, MOMENT),
    "timestamp[ns]": (
        pa.array([1_999, None], pa.timestamp("ns")),
        pa.timestamp("us"),
        datetime.fromisoformat("1970-01-01 00:00:00.000001"),
    ),
    "time without a zone": (
        pa.array([MOMENT.replace(tzinfo=None), None]),
        pa.timestamp("us"),
        MOMENT.replace(tzinfo=None),
    ),
    "duration[s]": (pa.array([-DAY, None], pa.duration("s")), pa.duration("us"), -DAY),
    "duration[us]": (
        pa.array([timedelta(microseconds=-5), None]),
        pa.duration("us"),
        timedelta(microseconds=-5),
    ),
    "duration[ns]": (pa.array([1_999, None], pa.duration("ns")), pa.duration("us"), timedelta(microseconds=1)),
    "decimal32": (pa.array([Decimal("1.50"), None], pa.decimal32(5, 2)), pa.decimal128(5, 2), Decimal("1.50")),
    "decimal128": (pa.array([Decimal("1.50"), None], pa.decimal128(38, 2)), pa.decimal128(38, 2), Decimal("1.50")),
    "decimal256": (pa.array([Decimal("1.50"), None], pa.decimal256(38, 2)), pa.decimal128(38, 2), Decimal("1.50")),
    "list": (pa.array([[1, None], None], pa.list_(pa.uint8())), pa.list_(pa.int16()), [1, None]),
    "large_list": (pa.array([[1], None], pa.large_list(pa.int32())), pa.list_(pa.int32()), [1]),
    "fixed_size_list": (pa.array([[1, 2], None], pa.list_(pa.int32(), 2)), pa.list_(pa.int32()), [1, 2]),
    "list of float16": (pa.array([[np.float16(1.5)], None], pa.list_(pa.float16())), pa.list_(pa.float32()), [1.5]),
    "list of dictionary": (pa.array([["a"], None], pa.list_(DICTIONARY)), pa.list_(pa.string()), ["a"]),
    "list of nanoseconds": (
        pa.array([[-1], None], pa.list_(pa.timestamp("ns"))),
        pa.list_(pa.timestamp("us")),
        [datetime.fromisoformat("1969-12-31 23:59:59.999999")],
    ),
    "struct": (
        pa.array([{"a": 1, "wait": DAY}, None], pa.struct([("a", pa.uint32()), ("wait", pa.duration("ms"))])),
        pa.struct([("a", pa.int64()), ("wait", pa.duration("us"))]),
        {"a": 1, "wait": DAY},
    ),
    "map": (
        pa.array([[("a", DAY)], None], pa.map_(pa.string(), pa.duration("us"))),
        pa.map_(pa.string(), pa.duration("us")),
        [("a", DAY)],
    ),
}

COLUMNS: Final = {name: ColumnCase(*case) for name, case in _CASES.items()}
"""By name, a column of each type."""

NOT_IN_POLARS: Final = frozenset({"run ends", "decimal256"})
"""The columns of types that Polars does not have."""
