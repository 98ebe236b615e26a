"""Numbering keys of every type."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable

NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "arrow_type", "codes"),
    [
        ([5, None, 5, 6], pa.int64(), [0, 1, 0, 2]),
        (["b", "a", None, "b"], pa.string(), [0, 1, 2, 0]),
        ([0.0, -0.0, NAN, NAN, 1.0], pa.float64(), [0, 0, 1, 1, 2]),
        ([[1.0], [-0.0], [0.0], None], pa.list_(pa.float64()), [0, 1, 1, 2]),
        ([{"a": 1}, {"a": 2}, {"a": 1}], pa.struct([("a", pa.int64())]), [0, 1, 0]),
        ([datetime(2024, 5, 1, tzinfo=UTC)] * 2, pa.timestamp("us", tz="UTC"), [0, 0]),
        ([True, False, True], pa.bool_(), [0, 1, 0]),
    ],
)
def test_equal_keys_have_one_code(values: list[Any], arrow_type: pa.DataType, codes: list[int]) -> None:
    table = KeyTable()
    keys = pa.table({"k0": pa.array(values, arrow_type)})
    assert table.codes(keys).tolist() == codes
    assert table.codes(keys).tolist() == codes, "known keys have the codes that they got"
    assert len(table) == len(set(codes))
    assert table.table().column("k0").to_pylist()[0] == values[0]


@pytest.mark.parametrize(
    ("arrived_key", "stored_key", "arrow_type"),
    [
        (-0.0, 0.0, pa.float64()),
        (-0.0, 0.0, pa.float32()),
        ([1.0, -0.0], [1.0, 0.0], pa.list_(pa.float64())),
        ({"x": -0.0}, {"x": 0.0}, pa.struct([("x", pa.float32())])),
        (-NAN, NAN, pa.float64()),
    ],
)
def test_negative_zero_and_nan_are_stored_as_every_evaluator_writes_them(
    arrived_key: Any, stored_key: Any, arrow_type: pa.DataType
) -> None:
    table = KeyTable()
    table.codes(pa.table({"k0": pa.array([arrived_key], arrow_type)}))
    assert repr(table.table().column("k0").to_pylist()) == repr([stored_key])
    assert table.table().schema.field("k0").type == arrow_type


def test_values_that_python_cannot_hold_are_keys_too() -> None:
    beyond_the_calendar = pa.array([2**62, -(2**62), 2**62]).cast(pa.timestamp("us"))
    offsets = pa.py_buffer(np.array([0, 1], np.int32))
    no_unicode = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff")])
    assert KeyTable().codes(pa.table({"k0": beyond_the_calendar})).tolist() == [0, 1, 0]
    assert KeyTable().codes(pa.table({"k0": no_unicode})).tolist() == [0]


def test_keys_of_several_columns_are_equal_if_all_columns_are() -> None:
    keys = pa.table({"k0": [1, 1, 2, 1], "k1": ["a", "b", "a", "a"]})
    assert KeyTable().codes(keys).tolist() == [0, 1, 2, 0]


def test_without_key_columns_all_rows_have_one_code() -> None:
    three_rows = pa.table({"none": pa.nulls(3)})
    assert KeyTable().codes(three_rows).tolist() == [0, 0, 0]


def test_forgotten_keys_come_back_under_another_code() -> None:
    table = KeyTable()
    assert table.codes(pa.table({"k0": ["a", "b", "c", "d"]})).tolist() == [0, 1, 2, 3]

    new_codes = table.keep(np.array([1, 3]))
    assert new_codes.tolist() == [-1, 0, -1, 1], "b is 0 and d is 1 from now on"
    assert table.take(np.array([1, 0])).column("k0").to_pylist() == ["d", "b"]

    assert table.codes(pa.table({"k0": ["d", "a"]})).tolist() == [1, 2]
    assert table.take(np.array([2])).column("k0").to_pylist() == ["a"]
