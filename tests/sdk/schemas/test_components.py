"""Components: what they are made of, which are equal, which cannot be; and how their arrays are merged."""

from __future__ import annotations

import math
import operator
import pickle
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

MADE = [
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
    Component.merged(operator.xor, 0, "int64", inverse=operator.xor),
    Component.values(),
    Component.values("object"),
]


@pytest.mark.parametrize("component", MADE, ids=repr)
def test_a_component_equals_itself_when_it_comes_from_elsewhere(component: Component) -> None:
    copy = pickle.loads(pickle.dumps(component))
    assert copy == component
    assert hash(copy) == hash(component)
    assert len({*MADE, copy}) == len(MADE)
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
        (Component.max(), -math.inf),
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
def test_an_identity_is_the_value_that_changes_nothing(component: Component, identity: Any) -> None:
    assert component.identity == identity
    assert type(component.identity) is type(identity)


def test_whole_numbers_and_counts_have_an_inverse_and_floats_have_none() -> None:
    assert {part.dtype for part in MADE if part.has_inverse and part.merge is Merge.ADD} == {"int64"}
    assert Component.sum("uint8").has_inverse
    assert Component.count().has_inverse
    assert MADE[13].has_inverse
    assert not Component.max("int64").has_inverse


def test_all_but_counts_are_lifted() -> None:
    assert [part for part in MADE if not part.is_lifted] == [Component.count()]


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


NAN = math.nan
LOW = -(2**63)
HIGH = 2**63 - 1


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
    total = Component.sum("int64")
    undo = inverter(Component.sum("int64"))
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
    first = np.array([1, 2])
    second = np.array([3, 4])
    for array in (first, second):
        array.flags.writeable = False
    assert merge(Component.count(), first, second).tolist() == [4, 6]
    assert merger(Component.count()) is np.add


def test_only_what_can_be_undone_has_an_inverse() -> None:
    merged = Component.merged(np.bitwise_xor, 0, "int64", inverse=np.bitwise_xor)
    assert [inverter(part) for part in (Component.count(), merged)] == [np.subtract, np.bitwise_xor]
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


FLOATS = st.lists(
    st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([1e308, -1e308, 1e16, 1.0, -1e16, 5e-324, 0.1, -0.0, 2.0**-1022]),
    max_size=8,
)


@given(FLOATS, FLOATS)
def test_a_sum_is_that_of_fractions(first_values: list[float], second_values: list[float]) -> None:
    first = exact_sum(np.array(first_values))
    second = exact_sum(np.array(second_values))
    assert first == sum(map(Fraction, first_values))
    assert added(first, second) == sum(map(Fraction, [*first_values, *second_values]))


@pytest.mark.parametrize(("values", "expected"), [([inf, 1.0], inf), ([-inf, inf], nan), ([nan, inf], nan)])
def test_infinity_and_nan_decide_a_sum(values: list[float], expected: float) -> None:
    assert repr(nearest(exact_sum(np.array(values)))) == repr(expected)
    assert repr(nearest(added(values[0], exact_sum(np.array(values[1:]))))) == repr(expected)


def test_a_sum_beyond_the_largest_float_is_infinite() -> None:
    assert nearest(exact_sum(np.array([-1.7e308, -1.7e308]))) == -inf


def test_vectors_are_summed_place_by_place() -> None:
    rows = np.array([[[1e16, 0.5]], [[1.0, 0.25]], [[-1e16, 3.0]]])
    assert exact_sums(rows) == [[1, Fraction(15, 4)]]
