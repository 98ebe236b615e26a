"""Arrays of values of Python and NumPy: the same as pyarrow makes them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin_engine.wire.arrow_arrays import arrow_array, arrow_scalar, arrow_table, empty_table, numpy_array

OBJECTS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "booleans": st.booleans(),
    "integers": st.integers(-(2**63), 2**63 - 1),
    "floats": st.floats(),
    "texts": st.text(),
    "bytes": st.binary(),
    "nothing": st.none(),
    "times": st.datetimes(),
    "dicts": st.fixed_dictionaries({"a": st.integers(0, 9)}),
    "lists": st.lists(st.none() | st.integers(0, 9)),
}

TYPES: Final[dict[str, pa.DataType]] = {
    "booleans": pa.bool_(),
    "integers": pa.int64(),
    "floats": pa.float64(),
    "texts": pa.string(),
    "bytes": pa.binary(),
    "nothing": pa.list_(pa.string()),
    "times": pa.timestamp("us"),
    "dicts": pa.struct([("a", pa.int64())]),
    "lists": pa.list_(pa.int64()),
}


def are_alike(left: pa.Array, right: pa.Array) -> bool:
    """True if arrays have the same values; NaN is like NaN."""
    left.validate(full=True)
    return bool(left.type == right.type and repr(left.to_pylist()) == repr(right.to_pylist()))


@pytest.mark.parametrize("kind", list(OBJECTS))
@given(data=st.data())
def test_python_objects_become_what_pyarrow_makes_of_them(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(OBJECTS[kind] | st.none(), max_size=20), "values")
    data_type = TYPES[kind]

    assert are_alike(arrow_array(values, data_type), pa.array(values, data_type))
    assert are_alike(arrow_array(values), pa.array(values))

    for value in values:
        scalar = arrow_scalar(value, data_type)
        expected = pa.scalar(value, data_type)
        assert scalar.type == data_type
        assert repr(scalar.as_py()) == repr(expected.as_py())  # by repr, since NaN is not equal to itself


@pytest.mark.parametrize("kind", list(OBJECTS))
@given(data=st.data())
def test_masked_python_objects_become_null(kind: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(OBJECTS[kind] | st.none(), max_size=20), "values")
    mask = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)), "mask")
    data_type = TYPES[kind]

    values_or_null = [None if is_masked else value for value, is_masked in zip(values, mask, strict=True)]
    assert are_alike(arrow_array(values, data_type, mask=np.array(mask, np.bool_)), pa.array(values_or_null, data_type))


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float32, np.float64, np.bool_, np.str_, np.object_]
)
@given(numbers=st.lists(st.integers(0, 100), max_size=20), step=st.sampled_from([1, 2, -1]))
def test_numpy_arrays_become_what_pyarrow_makes_of_them_and_back(dtype: Any, numbers: list[int], step: int) -> None:
    # A step other than 1 makes a view whose values do not lie side by side in memory.
    values = np.array(numbers, dtype)[::step]
    mask = np.array(numbers, np.int64)[::step] % 3 == 0

    assert are_alike(arrow_array(values), pa.array(values))
    assert are_alike(arrow_array(values, mask=mask), pa.array(values, mask=mask))
    assert are_alike(arrow_array(np.ma.masked_array(values, mask)), pa.array(values, mask=mask))

    array = pa.array(values)
    assert np.array_equal(numpy_array(array), array.to_numpy(zero_copy_only=False))
    assert np.array_equal(numpy_array(array[1:]), array[1:].to_numpy(zero_copy_only=False))
    two_chunks = pa.chunked_array([array, array])
    assert np.array_equal(numpy_array(two_chunks), np.concatenate([values, values]))


def test_numbers_are_copied_neither_to_arrow_nor_back() -> None:
    values = np.arange(5)
    array = arrow_array(values)
    assert np.shares_memory(numpy_array(array), values)


def test_nulls_become_a_number_that_is_named_or_else_nan() -> None:
    assert numpy_array(pa.array([1, None, 3], pa.int32()), nulls=7).tolist() == [1, 7, 3]
    assert np.isnan(numpy_array(pa.array([1.0, None]))[1])


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        pytest.param([1, "a"], None, id="mixed types"),
        pytest.param([2**70], None, id="integer beyond 64 bits"),
        pytest.param([300], pa.int8(), id="integer beyond 8 bits"),
        pytest.param([[1, 300]], pa.list_(pa.int8()), id="in a list"),
        pytest.param(["\ud800"], None, id="lone surrogate"),
        pytest.param(["1"], pa.int64(), id="text for an integer"),
    ],
)
def test_values_that_do_not_fit_raise_the_errors_of_pyarrow(values: list[Any], data_type: pa.DataType | None) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  # whatever it is
        pa.array(values, data_type)
    with pytest.raises(type(expected.value)) as error:
        arrow_array(values, data_type)
    assert str(error.value) == str(expected.value)


def test_tables_are_those_of_pyarrow() -> None:
    columns = {"n": np.arange(3), "text": ["a", None, "c"], "array": pa.array([1.0, 2.0, 3.0])}
    arrays = {name: pa.array(column) for name, column in columns.items()}
    assert arrow_table(columns).equals(pa.table(arrays))
    assert arrow_table({}).equals(pa.table({}))


def test_an_empty_table_is_that_of_pyarrow() -> None:
    schema = pa.schema([("key", pa.dictionary(pa.int32(), pa.string())), ("n", pa.list_(pa.int64()))])
    assert empty_table(schema).equals(schema.empty_table())
