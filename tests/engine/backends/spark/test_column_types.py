"""Column types between Spark and Arrow."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import types as T

from muntin.errors import QueryError
from muntin.schemas import spell
from muntin_engine.backends.spark.column_types import (
    arrow_schema_of,
    arrow_type_of,
    input_column,
    spark_schema_of,
    spark_type_of,
)

NTZ = T.TimestampNTZType()
LONG = T.LongType()

NESTED = T.StructType(
    [
        T.StructField("a", T.ArrayType(T.IntegerType(), containsNull=False)),
        T.StructField("m", T.MapType(T.StringType(), T.DecimalType(9, 3), valueContainsNull=False), nullable=False),
        T.StructField("s", T.StructType([T.StructField("at", T.TimestampType()), T.StructField("local", NTZ)])),
    ]
)


@pytest.mark.parametrize(
    ("spark_type", "spelled"),
    [
        (T.ByteType(), "integer"),
        (T.FloatType(), "float"),
        (T.DecimalType(9, 3), "decimal"),
        (T.CharType(3), "string"),
        (NTZ, "timestamp"),
        (T.DayTimeIntervalType(), "interval"),
        (T.ArrayType(T.IntegerType()), "list[integer | None]"),
        (T.MapType(T.StringType(), T.DecimalType(9, 3)), "map[string | None, decimal | None]"),
        (T.YearMonthIntervalType(), "any"),
        (T.ArrayType(T.VariantType()), "list[any | None]"),
    ],
)
def test_a_column_of_spark_is_described_as_a_field(spark_type: T.DataType, spelled: str) -> None:
    column = input_column(T.StructField("x", spark_type))
    assert spell(column.field) == f"{spelled} | None"
    assert (column.name, column.spelled_type) == ("x", spark_type.simpleString())


@pytest.mark.parametrize(
    "spark_type",
    [
        *(T.BooleanType(), T.ByteType(), T.ShortType(), T.IntegerType(), LONG, T.FloatType(), T.DoubleType()),
        *(T.StringType(), T.BinaryType(), T.DateType(), T.TimestampType(), NTZ, T.DayTimeIntervalType()),
        *(T.DecimalType(9, 3), NESTED, T.ArrayType(NESTED)),
    ],
)
def test_a_type_comes_back_from_arrow(spark_type: T.DataType) -> None:
    assert spark_type_of(arrow_type_of(spark_type)) == spark_type


@pytest.mark.parametrize(
    ("spark_type", "refused_part"),
    [
        (T.YearMonthIntervalType(), "interval year to month"),
        (T.VariantType(), "variant"),
        (T.ArrayType(T.NullType()), "void"),
        (T.MapType(T.StringType(), T.VariantType()), "variant"),
    ],
)
def test_a_type_that_no_value_of_python_has_is_refused(spark_type: T.DataType, refused_part: str) -> None:
    with pytest.raises(QueryError, match=f"a column of type {refused_part} cannot be .*; cast it first"):
        arrow_type_of(spark_type)


def test_a_collation_is_found_at_any_depth() -> None:
    collated_text = T.StringType("UTF8_LCASE")
    struct = T.StructType([T.StructField("a", T.ArrayType(collated_text))])
    assert input_column(T.StructField("x", struct)).collation == "UTF8_LCASE"
    assert input_column(T.StructField("x", T.StringType())).collation is None


def test_a_schema_of_arrow_has_the_nullability_of_sparks_and_comes_back_as_it() -> None:
    schema = T.StructType(
        [T.StructField("a", T.ArrayType(T.IntegerType(), containsNull=False)), T.StructField("b", LONG, nullable=False)]
    )
    arrow_schema = pa.schema(
        [
            pa.field("a", pa.list_(pa.field("element", pa.int32(), nullable=False))),
            pa.field("b", pa.int64(), nullable=False),
        ]
    )
    assert arrow_schema_of(schema) == arrow_schema
    assert spark_schema_of(arrow_schema) == schema
