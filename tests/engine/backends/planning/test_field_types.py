"""Column types between the SDK and Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import pyarrow as pa
import pytest

from muntin import Instant
from muntin.errors import QueryError
from muntin.schemas import Field, bind, describe, spell
from muntin_engine.backends.planning.field_types import carried_type, field_of, result_type

V = TypeVar("V")
CLOCK = pa.timestamp("us")
MOMENT = pa.timestamp("us", tz="UTC")
DECIMAL = pa.decimal128(9, 3)


def array(element: pa.DataType) -> pa.DataType:
    """Return a list type as Spark names its parts."""
    return pa.list_(pa.field("element", element))


def mapping(key: pa.DataType, value: pa.DataType) -> pa.DataType:
    """Return a map type as Spark names its parts."""
    return pa.map_(pa.field("key", key, nullable=False), pa.field("value", value))


@dataclass
class When:
    b: list[Instant]
    a: Instant


@pytest.mark.parametrize(
    ("column_type", "spelled"),
    [
        (pa.int8(), "integer"),
        (pa.float32(), "float"),
        (DECIMAL, "decimal"),
        (pa.string(), "string"),
        (CLOCK, "timestamp"),
        (MOMENT, "timestamp"),
        (pa.duration("us"), "interval"),
        (array(pa.int32()), "list[integer | None]"),
        (mapping(pa.string(), DECIMAL), "map[string | None, decimal | None]"),
        (pa.null(), "any"),
    ],
)
def test_a_column_type_is_described_as_a_field_that_may_be_null(column_type: pa.DataType, spelled: str) -> None:
    assert spell(field_of("x", column_type)) == f"{spelled} | None"


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (bool, pa.bool_()),
        (int, pa.int64()),
        (float, pa.float64()),
        (Decimal, pa.decimal128(38, 18)),
        (Instant, CLOCK),
        (list[dict[str, Instant | None]], array(mapping(pa.string(), CLOCK))),
        (When, pa.struct([("b", array(CLOCK)), ("a", CLOCK)])),
    ],
)
def test_the_annotation_of_a_result_gives_its_column_a_type(annotation: Any, expected: pa.DataType) -> None:
    assert result_type(describe(annotation), CLOCK) == expected


@pytest.mark.parametrize(
    ("column_type", "expected"),
    [
        (pa.int32(), pa.int64()),
        (pa.float32(), pa.float64()),
        (DECIMAL, pa.decimal128(38, 3)),
        (CLOCK, CLOCK),
        (MOMENT, MOMENT),
        (mapping(pa.string(), DECIMAL), mapping(pa.string(), pa.decimal128(38, 3))),
    ],
)
def test_a_result_whose_type_depends_on_a_column_keeps_the_scale_and_the_zone_of_that(
    column_type: pa.DataType, expected: pa.DataType
) -> None:
    list_of_column = bind(describe(list[V]), {"V": field_of("x", column_type)})  # type: ignore[valid-type]
    assert result_type(list_of_column, pa.int64()) == array(expected)


def test_a_result_of_unknown_type_is_refused() -> None:
    with pytest.raises(QueryError, match="'m' is not known"):
        result_type(describe(Any, "m"), pa.int64())


@pytest.mark.parametrize(
    ("declared_type", "column_type", "expected"),
    [
        (Any, pa.int32(), pa.int32()),
        (int, pa.int16(), pa.int16()),
        (float, DECIMAL, pa.float64()),
        (Instant, CLOCK, pa.int64()),
        (Any, MOMENT, MOMENT),
        (list[float], array(pa.int32()), pa.list_(pa.float64())),
        (dict[str, float], mapping(pa.string(), DECIMAL), pa.map_(pa.string(), pa.float64())),
    ],
)
def test_a_column_travels_as_a_module_reads_it(
    declared_type: Any, column_type: pa.DataType, expected: pa.DataType
) -> None:
    assert carried_type(describe(declared_type), column_type) == expected


def test_the_fields_of_a_struct_travel_as_the_fields_of_their_name_are_read() -> None:
    struct = pa.struct([("a", MOMENT), ("b", array(CLOCK))])
    ticks = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.int64()))])
    assert carried_type(describe(When), struct) == ticks
    assert carried_type(describe(tuple[Instant, list[Instant]]), struct) == ticks
    assert carried_type(describe(Any), struct) == struct


def test_a_described_field_keeps_its_name() -> None:
    assert isinstance(field_of("x", pa.int64()), Field)
    assert field_of("x", pa.int64()).name == "x"
