"""The types of columns that row windows read."""

from __future__ import annotations

from typing import Final

from pyspark.sql import types as spark_types

from muntin.errors import PolicyError
from muntin.rows import DeltaPolicy, PartitionedRows, RowWindows
from muntin.schemas import Field, Scalar, ScalarKind
from muntin_engine.spark.types import check_no_collation, field_of

_TIMES: Final = (spark_types.TimestampType, spark_types.TimestampNTZType)
_EXACT: Final = (
    spark_types.IntegralType,
    spark_types.StringType,
    spark_types.DecimalType,
    spark_types.BooleanType,
    spark_types.DateType,
    spark_types.BinaryType,
)
_NUMBERS: Final = (spark_types.NumericType, *_TIMES)


def read_as(part: spark_types.StructField) -> Field:
    """Return the value read of a column: of a timestamp its ticks, anything else as it is."""
    if isinstance(part.dataType, _TIMES):
        return Field(part.name, Scalar(ScalarKind.INSTANT), is_nullable=True)
    return field_of(part.name, part.dataType)


def check_order(part: spark_types.StructField) -> None:
    """Refuse an order that does not say which of two rows comes first.

    Raises:
        PolicyError: The column is of another type.
    """
    if not isinstance(part.dataType, (*_EXACT, *_TIMES)):
        raise PolicyError(
            f"order={part.name!r} is of type {part.dataType.simpleString()}\n"
            "  expected: an integer, text, a decimal, a date or a timestamp, such as an offset"
        )
    check_no_collation(part, "the order")


def check_read(windows: RowWindows, expression: str, data_type: spark_types.DataType) -> None:
    """Refuse what row windows cannot read: a difference of text, a partition by a float, a number as a condition.

    Raises:
        PolicyError: An expression is of another type than it is used as.
        QueryError: Partitions are of text with a collation.
    """
    found = data_type.simpleString()
    if expression == windows.partition_by and not isinstance(data_type, _EXACT):
        raise PolicyError(
            f"partition({expression!r}) is of type {found}\n"
            "  expected: an integer, text, a decimal or a date; cast it, for example with 'cast(x as string)'"
        )
    if expression == windows.partition_by:
        check_no_collation(spark_types.StructField(expression, data_type), "the partition")
    for policy in windows.policies if isinstance(windows, PartitionedRows) else ():
        if isinstance(policy, DeltaPolicy) and policy.attribute == expression and not isinstance(data_type, _NUMBERS):
            raise PolicyError(f"delta({expression!r}, ...) is of type {found}\n  expected: a number or a timestamp")
    if expression in windows.conditions and not isinstance(data_type, spark_types.BooleanType):
        raise PolicyError(
            f"{windows} reads {expression!r}, which is of type {found}\n  expected: a condition, such as \"x = 'end'\""
        )
