"""The types that text in Spark's SQL names, as sqlglot reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import INSTANT, LOCAL_TIME

PLAIN_TYPES: Final[Mapping[exp.DType, pa.DataType]] = {
    exp.DType.TINYINT: pa.int8(),
    exp.DType.SMALLINT: pa.int16(),
    exp.DType.INT: pa.int32(),
    exp.DType.BIGINT: pa.int64(),
    exp.DType.FLOAT: pa.float32(),
    exp.DType.DOUBLE: pa.float64(),
    exp.DType.BOOLEAN: pa.bool_(),
    exp.DType.TEXT: pa.string(),
    exp.DType.DATE: pa.date32(),
    exp.DType.TIMESTAMP: INSTANT,
    exp.DType.TIMESTAMPTZ: INSTANT,
    exp.DType.TIMESTAMPNTZ: LOCAL_TIME,
}
"""The types without parts that columns have and casts make."""

COLUMN_TYPES: Final[Mapping[exp.DType, pa.DataType]] = {
    **PLAIN_TYPES,
    exp.DType.BINARY: pa.binary(),
    exp.DType.TIMESTAMPLTZ: INSTANT,
}
"""The types without parts that columns have."""


def decimal_named(node: exp.DataType) -> pa.DataType:
    """Return the Arrow type of a decimal; `decimal` alone has ten digits, all of them before the point.

    Args:
        node: The type as it is written: `decimal`, `decimal(12)` or `decimal(12, 2)`.
    """
    digits = [int(str(part.this.this)) for part in node.expressions]
    precision = digits[0] if digits else 10
    scale = digits[1] if len(digits) > 1 else 0
    return pa.decimal128(precision, scale)
