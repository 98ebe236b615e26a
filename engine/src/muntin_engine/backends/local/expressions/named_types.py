"""The types that text in Spark's SQL names, as sqlglot reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from sqlglot import exp

from muntin_engine.backends.local.duckdb_types import INSTANT, LOCAL_TIME
from muntin_engine.backends.planning.field_types import MOST_DIGITS

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

DECIMAL_DIGITS: Final = "expected: 1 to 38 digits, and no more of them behind the point, such as decimal(38, 2)"
"""The advice for a decimal that Spark does not have."""

_BINARY: Final = "UTF8_BINARY"
"""The collation that text has by default: two texts are equal if all their bytes are."""


def decimal_named(node: exp.DataType) -> pa.DataType | None:
    """Return the Arrow type of a decimal; None if Spark has no decimal of these digits.

    Args:
        node: The type as it is written: `decimal`, `decimal(12)` or `decimal(12, 2)`. `decimal` alone has ten digits,
            all of them before the point.
    """
    digits = [str(part.this.this) for part in node.expressions]
    if len(digits) > 2 or not all(number.isdecimal() for number in digits):
        return None
    precision = int(digits[0]) if digits else 10
    scale = int(digits[1]) if len(digits) == 2 else 0
    if not 1 <= precision <= MOST_DIGITS or scale > precision:
        return None
    return pa.decimal128(precision, scale)


def has_collation(node: exp.Expr) -> bool:
    """True if a type, or a column with its type, has text in it that Spark compares by other rules than its bytes.

    Args:
        node: The type as it is written, or the definition of a column or of a field of a struct.
    """
    collations: list[exp.Expr] = []
    for part in node.walk():
        if isinstance(part, exp.DataType) and part.args.get("collate") is not None:  # `array<string collate ...>`
            collations.append(part.args["collate"])
        if isinstance(part, exp.CollateColumnConstraint):  # `name string collate ...`
            collations.append(part.this)
    return any(collation.name.upper() != _BINARY for collation in collations)
