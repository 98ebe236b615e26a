"""Components: what they are made of, which are equal, and which cannot be."""

from __future__ import annotations

import math
import operator
import pickle
from typing import Any

import pytest

from muntin import Component, Merge
from muntin.errors import ModuleDefinitionError

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
    with pytest.raises(ModuleDefinitionError, match="is no type of a component\n  expected: int8 to int64"):
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
        (lambda: Component(Merge.ADD, "float64", 0, inverse=operator.sub), "undoes a function of one's own, and ADD"),
        (lambda: Component.sum(shape=(2, 0)), r"at least one element, got the shape \(2, 0\)"),
        (lambda: Component(Merge.COLLECT, "float64", None, shape=(2,)), "COLLECT is of single values"),
    ],
)
def test_a_component_that_cannot_be_merged_is_refused(make: Any, complaint: str) -> None:
    with pytest.raises(ModuleDefinitionError, match=complaint):
        make()
