"""What a column of an input can be: an axis, a number of places, a value that travels."""

from __future__ import annotations

import pyarrow as pa
import pytest

from muntin import Axis
from muntin.errors import QueryError
from muntin_engine.backends.planning.input_column import InputColumn


def column(data_type: pa.DataType) -> InputColumn:
    return InputColumn(name="at", type=data_type, spelled_type=str(data_type))


@pytest.mark.parametrize(
    ("data_type", "axis"),
    [
        (pa.timestamp("us", tz="UTC"), Axis.TIME),
        (pa.timestamp("us"), Axis.TIME),
        (pa.int64(), Axis.TICKS),
        (pa.int16(), Axis.TICKS),
        (pa.decimal128(9, 3), Axis.TICKS),
    ],
)
def test_timestamps_integers_and_decimals_are_axes(data_type: pa.DataType, axis: Axis) -> None:
    assert column(data_type).axis == axis


@pytest.mark.parametrize(
    ("data_type", "advice"),
    [
        (pa.date32(), "cast it, for example to timestamp"),
        (pa.string(), "text that is a time"),
        (pa.float64(), "a float has no next one"),
        (pa.decimal128(38, 30), "a float has no next one"),
        (pa.null(), "cast it, for example to timestamp"),
    ],
)
def test_other_types_are_no_axes(data_type: pa.DataType, advice: str) -> None:
    with pytest.raises(QueryError, match=f"the time column at is of type(.|\n)*{advice}"):
        _ = column(data_type).axis


def test_only_decimals_have_places() -> None:
    assert column(pa.decimal128(9, 3)).decimal_places == 3
    assert column(pa.int64()).decimal_places is None


def test_a_type_without_a_word_in_arrow_cannot_travel() -> None:
    with pytest.raises(QueryError, match="a column of type variant cannot be a key, an id or an input; cast it first"):
        _ = InputColumn("v", pa.null(), "variant", part_without_type="variant").travelling_type
