"""Components: what they are made of, which are equal, which cannot be; and how their arrays are merged."""

from __future__ import annotations

import math
import operator
import pickle
from datetime import date, timedelta
from fractions import Fraction
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muntin import Component, Merge
from muntin.columnar import Ragged, fold_rows, identities, inverter, merge, merger
from muntin.columnar.exact import added, exact_sum, exact_sums, nearest
from muntin.errors import ModuleContractError, ModuleDefinitionError

XOR = Component.merged(operator.xor, 0, "int64", inverse=operator.xor)
COMPONENTS = [
    Component.count(),
    Component.sum(),
    Component.sum("int64", (8,)),
    Component.sum("timedelta64[us]"),
    Component.sum("object"),
    Component.product("float32"),
    Component.min(),
    Component.min("datetime64[D]"),
    Component.max("uint8"),
    Component.max("bool"),
    Component.bit_and("uint64"),
    Component.bit_or("bool"),
    Component.merged(math.hypot, 0.0),
    XOR,
    Component.values(),
    Component.values("object"),
]


@pytest.mark.parametrize("component", COMPONENTS, ids=repr)
def test_a_pickled_component_equals_the_component_and_no_other_one(component: Component) -> None:
    copy = pickle.loads(pickle.dumps(component))
    assert copy == component
    assert hash(copy) == hash(component)
    assert len({*COMPONENTS, copy}) == len(COMPONENTS)
    assert component != "component"


def test_components_of_the_same_kind_and_type_are_equal() -> None:
    assert Component.min() == Component.min("float64")  # though NaN, its identity, does not equal itself
    assert Component.min() != Component.min("float32")
    assert Component.sum(shape=(2,)) != Component.sum(shape=(3,))
    assert Component.merged(math.hypot, 0.0) != Component.merged(math.hypot, -0.0)


@pytest.mark.parametrize(
    ("component", "identity"),
    [
        (Component.min("int8"), 127),
        (Component.max("int8"), -128),
        (Component.min("uint16"), 65535),
        (Component.max("uint16"), 0),
        (Component.min("int64"), 2**63 - 1),
        (Component.max("int64"), -(2**63)),
        (Component.max(), -inf),
        (Component.min("bool"), True),
        (Component.max("bool"), False),
        (Component.min("datetime64[us]"), 2**63 - 1),
        (Component.max("timedelta64[us]"), -(2**63) + 1),
        (Component.bit_and("bool"), True),
        (Component.bit_and("int16"), -1),
        (Component.bit_and("uint16"), 65535),
        (Component.bit_or("bool"), False),
        (Component.product(), 1),
        (Component.sum(), 0),
    ],
)
def test_the_identity_of_a_component_follows_from_its_merge_and_its_type(component: Component, identity: Any) -> None:
    assert component.identity == identity
    assert type(component.identity) is type(identity)


@pytest.mark.parametrize(
    "component", [Component.count(), Component.sum("int64"), Component.sum("uint8"), XOR], ids=repr
)
def test_counts_sums_of_whole_numbers_and_functions_with_an_inverse_can_be_undone(component: Component) -> None:
    assert component.has_inverse


@pytest.mark.parametrize(
    "component",
    [Component.sum(), Component.sum("timedelta64[us]"), Component.sum("object"), Component.max("int64")],
    ids=repr,
)
def test_sums_of_other_types_and_extremes_cannot_be_undone(component: Component) -> None:
    assert not component.has_inverse


def test_all_components_but_counts_are_lifted() -> None:
    assert [component for component in COMPONENTS if not component.is_lifted] == [Component.count()]


@pytest.mark.parametrize(
    "dtype", ["int", "float", "float128", "str", "datetime64", "datetime64[Y]", "M8[us]", "Int64", ""]
)
def test_a_type_that_no_component_has_is_refused(dtype: str) -> None:
    with pytest.raises(ModuleDefinitionError, match="is not a type of a component\n  expected: int8 to int64"):
        Component.sum(dtype)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Component.sum("bool"), "ADD does not merge values of type bool\n  expected: a type of int, float"),
        (lambda: Component.sum("datetime64[us]"), "ADD does not merge values of type datetime64"),
        (lambda: Component.product("timedelta64[us]"), "MULTIPLY does not merge"),
        (lambda: Component.min("object"), "MIN does not merge values of type object"),
        (
            lambda: Component.bit_and("float64"),
            "BIT_AND does not merge values of type float64\n  expected: a type of int",
        ),
        (lambda: Component(Merge.COUNT, "float64", 0), "COUNT does not merge"),
        (lambda: Component(Merge.CUSTOM, "float64", 0), "has a function if, and only if"),
        (lambda: Component(Merge.ADD, "float64", 0, function=math.hypot), "has a function if, and only if"),
        (
            lambda: Component(Merge.ADD, "float64", 0, inverse=operator.sub),
            "belongs to a function of your own",
        ),
        (lambda: Component.sum(shape=(2, 0)), r"at least one element, got the shape \(2, 0\)"),
        (lambda: Component(Merge.COLLECT, "float64", None, shape=(2,)), "COLLECT is of single values"),
    ],
)
def test_a_component_that_cannot_be_merged_is_refused(make: Any, complaint: str) -> None:
    with pytest.raises(ModuleDefinitionError, match=complaint):
        make()


# How arrays of a component are merged.

LOWEST = -(2**63)
HIGHEST = 2**63 - 1


def fold(component: Component, values: Any) -> Any:
    """Return the single value that the values of a component fold to, as plain data."""
    merged = fold_rows(component, np.asarray(values, component.dtype))
    assert merged.shape == (1, *component.shape)
    assert merged.dtype == component.dtype
    return merged.tolist()[0]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 100])
def test_folding_merges_all_rows_once(size: int) -> None:
    assert fold(Component.sum("int64"), range(size)) == sum(range(size))
    assert fold(Component.merged(np.add, 0, "int64"), range(size)) == sum(range(size))
    assert fold(Component.sum("int64", (2,)), np.ones((size, 2))) == [size, size]


def test_folding_calls_a_function_once_for_each_halving_of_the_rows() -> None:
    pair_counts = []

    def add(first: Any, second: Any) -> Any:
        pair_counts.append(len(first))
        return first + second

    assert fold(Component.merged(add, 0, "int64"), range(1000)) == 499500
    assert len(pair_counts) == 10
    assert sum(pair_counts) == 999


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        ([1.0, nan, -2.0], -2.0, nan),
        ([nan, nan], nan, nan),
        ([inf, nan], inf, nan),
        ([-inf, 0.0], -inf, 0.0),
        ([5e-324, 1.7e308], 5e-324, 1.7e308),
        ([], nan, -inf),
    ],
)
def test_nan_is_larger_than_any_number(values: list[float], least: float, most: float) -> None:
    np.testing.assert_equal(fold(Component.min(), values), least)
    np.testing.assert_equal(fold(Component.max(), values), most)


def test_the_lowest_and_the_highest_value_of_a_type_are_merged_as_any_other() -> None:
    """Though they are the identities of the largest and of the least."""
    assert fold(Component.min("int64"), [LOWEST, HIGHEST, 0]) == LOWEST
    assert fold(Component.max("int64"), [LOWEST, HIGHEST, 0]) == HIGHEST
    assert fold(Component.min("int64"), [HIGHEST]) == HIGHEST
    assert fold(Component.max("int64"), [LOWEST]) == LOWEST
    assert fold(Component.min("uint64"), [2**64 - 1]) == 2**64 - 1
    assert fold(Component.bit_and("uint64"), [2**64 - 1, 2**63]) == 2**63


def test_integers_wrap_around_and_an_inverse_takes_that_back() -> None:
    total = Component.sum("int64")
    assert fold(total, [HIGHEST, 1]) == LOWEST

    subtract = inverter(total)
    assert subtract is not None
    assert subtract(np.array([LOWEST]), np.array([1])).tolist() == [HIGHEST]


def test_floats_overflow_without_a_warning() -> None:
    assert fold(Component.sum(), [1.7e308, 1.7e308]) == inf
    assert math.isnan(fold(Component.sum(), [inf, -inf]))
    assert fold(Component.product(), [1e200, 1e200]) == inf


def test_the_rounding_errors_of_many_floats_do_not_add_up() -> None:
    assert fold(Component.sum(), [0.1] * 10_000) == pytest.approx(1000, rel=1e-15)


def test_days_and_lengths_of_time_are_merged() -> None:
    days = ["2024-02-29", "1969-07-20"]
    assert fold(Component.min("datetime64[D]"), days) == date(1969, 7, 20)
    assert fold(Component.max("datetime64[D]"), days) == date(2024, 2, 29)
    assert fold(Component.sum("timedelta64[us]"), [1, 2]) == timedelta(microseconds=3)


def test_a_missing_day_is_not_the_earliest() -> None:
    assert fold(Component.min("datetime64[D]"), ["NaT", "2024-02-29"]) == date(2024, 2, 29)


def test_booleans_are_merged() -> None:
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


def test_identities_are_an_array_of_the_shape_and_type_of_a_component() -> None:
    no_vectors = identities(Component.sum("int64", (2,)), 0)
    assert no_vectors.shape == (0, 2)
    two_floats = identities(Component.min("float32"), 2)
    assert two_floats.dtype == "float32"
    assert two_floats.shape == (2,)
    assert identities(Component.min("datetime64[us]"), 1).view("int64").tolist() == [HIGHEST]
    until_2100 = Component.merged(np.minimum, np.datetime64("2100-01-01"), "datetime64[D]")
    assert identities(until_2100, 1).tolist() == [date(2100, 1, 1)]


@pytest.mark.parametrize(
    ("component", "values"),
    [
        (Component.sum(), [0.1, -5.0, inf]),
        (Component.min(), [nan, 1.0]),
        (Component.max(), [nan, -inf]),
        (Component.product("int64"), [LOWEST, 3]),
        (Component.bit_and("uint8"), [255, 7]),
        (Component.max("timedelta64[us]"), np.array([-5], "timedelta64[us]")),
        (Component.min("datetime64[us]"), np.array([2**62], "datetime64[us]")),
        (Component.merged(np.logaddexp, -inf), [-1e300, 0.5]),
    ],
    ids=repr,
)
def test_merging_with_an_identity_changes_nothing(component: Component, values: Any) -> None:
    array = np.asarray(values, component.dtype)
    identity = identities(component, len(array))
    np.testing.assert_array_equal(merge(component, array, identity), array)
    np.testing.assert_array_equal(merge(component, identity, array), array)


def test_merging_does_not_write_to_its_arrays() -> None:
    first = np.array([1, 2])
    second = np.array([3, 4])
    for array in (first, second):
        array.flags.writeable = False
    assert merge(Component.count(), first, second).tolist() == [4, 6]


def test_counts_are_merged_by_addition() -> None:
    assert merger(Component.count()) is np.add


def test_the_inverse_of_a_count_is_subtraction_and_that_of_a_function_is_given() -> None:
    assert inverter(Component.count()) is np.subtract
    xor = Component.merged(np.bitwise_xor, 0, "int64", inverse=np.bitwise_xor)
    assert inverter(xor) is np.bitwise_xor


@pytest.mark.parametrize("component", [Component.sum(), Component.max("int64"), Component.values()], ids=repr)
def test_a_component_that_cannot_be_undone_has_no_inverse(component: Component) -> None:
    assert inverter(component) is None


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (lambda a, b: a.sum() + b.sum(), r"what the function of a component returned has the shape \(\)"),
        (lambda a, b: (a + b)[:1], r"has the shape \(1,\)\n  expected: \(2,\)"),
        (lambda a, b: a / b, "is of type float64\n  expected: int64, or cast to it"),
        (lambda a, b: np.ma.MaskedArray(a, a > 1), "has masked entries"),
    ],
)
def test_a_function_that_returns_another_shape_or_type_than_its_component_is_refused(
    function: Any, complaint: str
) -> None:
    with pytest.raises(ModuleContractError, match=complaint):
        merge(Component.merged(function, 0, "int64"), np.array([1, 2]), np.array([3, 4]))


def test_collected_values_have_no_function_that_merges_them() -> None:
    with pytest.raises(TypeError, match="put side by side"):
        merger(Component.values())


def test_a_ragged_array_has_the_values_of_each_group_in_ascending_order() -> None:
    ragged = Ragged.of([np.array([2.0, nan, 1.0]), np.array([]), np.array([5.0])])
    np.testing.assert_array_equal(ragged.values, [1.0, 2.0, nan, 5.0])
    assert ragged.offsets.tolist() == [0, 3, 3, 4]
    assert ragged.counts.tolist() == [3, 0, 1]
    assert ragged.groups.tolist() == [0, 0, 0, 2]


FLOATS = st.lists(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1e308, -1e308, 1e16, 1.0, -1e16, 5e-324, 0.1, -0.0, 2.0**-1022]),
    max_size=8,
)


@given(FLOATS, FLOATS)
def test_an_exact_sum_is_the_sum_of_fractions(first_values: list[float], second_values: list[float]) -> None:
    first = exact_sum(np.array(first_values))
    second = exact_sum(np.array(second_values))
    assert first == sum(map(Fraction, first_values))
    assert added(first, second) == sum(map(Fraction, [*first_values, *second_values]))


@pytest.mark.parametrize(("first", "second", "expected"), [(inf, 1.0, inf), (-inf, inf, nan), (nan, inf, nan)])
def test_infinity_and_nan_decide_an_exact_sum(first: float, second: float, expected: float) -> None:
    np.testing.assert_equal(nearest(exact_sum(np.array([first, second]))), expected)
    np.testing.assert_equal(nearest(added(first, exact_sum(np.array([second])))), expected)


def test_an_exact_sum_beyond_the_largest_float_is_nearest_to_infinity() -> None:
    assert nearest(exact_sum(np.array([-1.7e308, -1.7e308]))) == -inf


def test_exact_sums_of_vectors_are_made_place_by_place() -> None:
    rows = np.array([[[1e16, 0.5]], [[1.0, 0.25]], [[-1e16, 3.0]]])
    assert exact_sums(rows) == [[1, Fraction(15, 4)]]
