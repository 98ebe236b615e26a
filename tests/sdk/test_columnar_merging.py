"""Components as array functions: merging, identities, inverses, collected values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from muntin import Component
from muntin.columnar import Ragged, fold_rows, identities, inverter, merge, merger
from muntin.errors import ModuleContractError

NAN = math.nan
LOW, HIGH = -(2**63), 2**63 - 1


def fold(component: Component, values: Any) -> Any:
    """Return the one value that values fold to, as plain data."""
    folded = fold_rows(component, np.asarray(values, component.dtype))
    assert folded.shape == (1, *component.shape)
    assert folded.dtype == component.dtype
    return folded.tolist()[0]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 100])
def test_folding_merges_all_rows_once(size: int) -> None:
    assert fold(Component.sum("int64"), range(size)) == sum(range(size))
    assert fold(Component.merged(np.add, 0, "int64"), range(size)) == sum(range(size))
    assert fold(Component.sum("int64", (2,)), np.ones((size, 2))) == [size, size]


def test_folding_by_a_function_calls_it_a_few_times() -> None:
    calls = []

    def add(first: Any, second: Any) -> Any:
        calls.append(len(first))
        return first + second

    assert fold(Component.merged(add, 0, "int64"), range(1000)) == 499500
    assert len(calls) == 10
    assert sum(calls) == 999


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        ([1.0, NAN, -2.0], -2.0, NAN),
        ([NAN, NAN], NAN, NAN),
        ([math.inf, NAN], math.inf, NAN),
        ([-math.inf, 0.0], -math.inf, 0.0),
        ([5e-324, 1.7e308], 5e-324, 1.7e308),
        ([], NAN, -math.inf),
    ],
)
def test_nan_is_larger_than_any_number(values: list[float], least: float, most: float) -> None:
    np.testing.assert_equal(fold(Component.min(), values), least)
    np.testing.assert_equal(fold(Component.max(), values), most)


def test_the_ends_of_a_type_take_part_as_any_value() -> None:
    assert fold(Component.min("int64"), [LOW, HIGH, 0]) == LOW
    assert fold(Component.max("int64"), [LOW, HIGH, 0]) == HIGH
    assert fold(Component.min("int64"), [HIGH]) == HIGH
    assert fold(Component.max("int64"), [LOW]) == LOW
    assert fold(Component.min("uint64"), [2**64 - 1]) == 2**64 - 1
    assert fold(Component.bit_and("uint64"), [2**64 - 1, 2**63]) == 2**63


def test_integers_wrap_around_and_an_inverse_takes_that_back() -> None:
    total, undo = Component.sum("int64"), inverter(Component.sum("int64"))
    assert fold(total, [HIGH, 1]) == LOW
    assert undo is not None
    assert undo(np.array([LOW]), np.array([1])).tolist() == [HIGH]


def test_floats_overflow_without_a_warning() -> None:
    assert fold(Component.sum(), [1.7e308, 1.7e308]) == math.inf
    assert math.isnan(fold(Component.sum(), [math.inf, -math.inf]))
    assert fold(Component.product(), [1e200, 1e200]) == math.inf


def test_a_sum_of_many_floats_loses_little() -> None:
    assert fold(Component.sum(), [0.1] * 10_000) == pytest.approx(1000, rel=1e-15)


def test_times_and_days_are_merged() -> None:
    days = np.array(["2024-02-29", "1969-07-20"], "datetime64[D]")
    assert fold(Component.min("datetime64[D]"), days).isoformat() == "1969-07-20"
    assert fold(Component.max("datetime64[D]"), days).isoformat() == "2024-02-29"
    assert fold(Component.min("datetime64[D]"), np.array(["NaT", days[0]])).isoformat() == "2024-02-29"
    assert fold(Component.sum("timedelta64[us]"), np.array([1, 2], "timedelta64[us]")).microseconds == 3


def test_truths_are_merged() -> None:
    assert fold(Component.bit_and("bool"), [True, False]) is False
    assert fold(Component.bit_or("bool"), [True, False]) is True
    assert fold(Component.min("bool"), [True, True]) is True
    assert fold(Component.max("bool"), []) is False


def test_vectors_are_merged_place_by_place() -> None:
    rows = np.array([[[1, 5], [2, 6]], [[3, 1], [0, 9]]], "int64")
    assert fold(Component.max("int64", (2, 2)), rows) == [[3, 5], [2, 9]]


def test_objects_are_merged_by_their_own_operators() -> None:
    assert fold(Component.sum("object"), [10**30, 1]) == 10**30 + 1
    longer = Component.merged(np.frompyfunc(lambda a, b: max(a, b, key=len), 2, 1), "", "object")
    assert fold(longer, ["a", "abc", "ab"]) == "abc"


def test_identities_are_as_many_as_asked_for() -> None:
    assert identities(Component.sum("int64", (2,)), 0).shape == (0, 2)
    assert identities(Component.min("float32"), 2).dtype == "float32"
    assert identities(Component.min("datetime64[us]"), 1).view("int64").tolist() == [HIGH]
    first = Component.merged(np.minimum, np.datetime64("2100-01-01"), "datetime64[D]")
    assert identities(first, 1).astype(str).tolist() == ["2100-01-01"]


@pytest.mark.parametrize(
    ("component", "values"),
    [
        (Component.sum(), [0.1, -5.0, math.inf]),
        (Component.min(), [NAN, 1.0]),
        (Component.max(), [NAN, -math.inf]),
        (Component.product("int64"), [LOW, 3]),
        (Component.bit_and("uint8"), [255, 7]),
        (Component.max("timedelta64[us]"), np.array([-5], "timedelta64[us]")),
        (Component.min("datetime64[us]"), np.array([2**62], "datetime64[us]")),
        (Component.merged(np.logaddexp, -math.inf), [-1e300, 0.5]),
    ],
    ids=repr,
)
def test_an_identity_changes_nothing(component: Component, values: Any) -> None:
    array = np.asarray(values, component.dtype)
    nothing = identities(component, len(array))
    np.testing.assert_array_equal(merge(component, array, nothing), array)
    np.testing.assert_array_equal(merge(component, nothing, array), array)


def test_merging_takes_and_returns_arrays_that_it_does_not_change() -> None:
    first, second = np.array([1, 2]), np.array([3, 4])
    for array in (first, second):
        array.flags.writeable = False
    assert merge(Component.count(), first, second).tolist() == [4, 6]
    assert merger(Component.count()) is np.add


def test_only_what_can_be_undone_has_an_inverse() -> None:
    own = Component.merged(np.bitwise_xor, 0, "int64", inverse=np.bitwise_xor)
    assert [inverter(part) for part in (Component.count(), own)] == [np.subtract, np.bitwise_xor]
    assert [inverter(part) for part in (Component.sum(), Component.max("int64"), Component.values())] == [None] * 3


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (lambda a, b: a.sum() + b.sum(), r"what the function of a component returned has the shape \(\)"),
        (lambda a, b: (a + b)[:1], r"has the shape \(1,\)\n  expected: \(2,\)"),
        (lambda a, b: a / b, "is of type float64\n  expected: int64, or cast to it"),
        (lambda a, b: np.ma.MaskedArray(a, a > 1), "has masked entries"),
    ],
)
def test_a_function_that_returns_something_else_is_refused(function: Any, complaint: str) -> None:
    with pytest.raises(ModuleContractError, match=complaint):
        merge(Component.merged(function, 0, "int64"), np.array([1, 2]), np.array([3, 4]))


def test_collected_values_are_not_merged() -> None:
    with pytest.raises(TypeError, match="put side by side"):
        merger(Component.values())


def test_a_ragged_array_holds_groups_in_ascending_order() -> None:
    ragged = Ragged.of([np.array([2.0, NAN, 1.0]), np.array([]), np.array([5.0])])
    np.testing.assert_array_equal(ragged.values, [1.0, 2.0, NAN, 5.0])
    assert ragged.offsets.tolist() == [0, 3, 3, 4]
    assert ragged.counts.tolist() == [3, 0, 1]
    assert ragged.groups.tolist() == [0, 0, 0, 2]
