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
    column = pa.array(values, arrow_type)
    assert table.codes(pa.table({"k0": column})).tolist() == codes
    first = pa.array([codes.index(code) for code in range(len(table))])
    assert table.table().column("k0").to_pylist()[0] == column.take(first).to_pylist()[0]
    assert table.codes(pa.table({"k0": column})).tolist() == codes


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
def test_a_key_is_kept_as_every_evaluator_writes_it(arrived_key: Any, stored_key: Any, arrow_type: pa.DataType) -> None:
    table = KeyTable()
    table.codes(pa.table({"k0": pa.array([arrived_key], arrow_type)}))
    assert repr(table.table().column("k0").to_pylist()) == repr([stored_key])
    assert table.table().schema.field("k0").type == arrow_type


def test_values_that_python_has_no_word_for_are_keys_too() -> None:
    far = pa.array([2**62, -(2**62), 2**62]).cast(pa.timestamp("us"))
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")]
    )
    assert KeyTable().codes(pa.table({"k0": far})).tolist() == [0, 1, 0]
    assert KeyTable().codes(pa.table({"k0": text})).tolist() == [0]


def test_keys_of_several_columns_and_of_none() -> None:
    table = KeyTable()
    assert table.codes(pa.table({"k0": [1, 1, 2], "k1": ["a", "b", "a"]})).tolist() == [0, 1, 2]
    assert KeyTable().codes(pa.table({"none": pa.nulls(3)})).tolist() == [0, 0, 0]


def test_forgotten_keys_come_back_under_another_code() -> None:
    table = KeyTable()
    table.codes(pa.table({"k0": ["a", "b", "c", "d"]}))
    assert table.keep(np.array([1, 3])).tolist() == [-1, 0, -1, 1]
    assert table.take(np.array([1, 0])).column("k0").to_pylist() == ["d", "b"]
    assert table.codes(pa.table({"k0": ["d", "a"]})).tolist() == [1, 2]
    assert table.take(np.array([2])).column("k0").to_pylist() == ["a"]
