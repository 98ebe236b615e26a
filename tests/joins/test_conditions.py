"""Conditions of joins: what the function is asked, what its answer means, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from muntin import Function, function
from muntin.errors import ModuleContractError, ModuleError, ParameterError, QueryError, TypeMismatchError
from muntin.schemas import Field, describe
from muntin_engine import condition
from muntin_engine.plan.join_plan import PairCondition, plan_condition


@function("shop.fits", version="1.2.0")
def fits(weight: float, limit: float | None, more: float = 0.0) -> bool | None:
    return None if limit is None else weight <= limit + more


def bound(
    of: Function[..., Any] | Callable[..., Any],
    left: dict[str, Any],
    right: dict[str, Any],
    **parameters: Any,
) -> PairCondition:
    """Return a condition, bound to columns of these types."""
    asked = condition(of, left=tuple(left), right=tuple(right), **parameters)
    given: list[tuple[int, int, Field]] = [
        (side, place, describe(kind, name))
        for side, columns in enumerate((left, right))
        for place, (name, kind) in enumerate(columns.items())
    ]
    return plan_condition(
        asked.function,
        asked.parameters,
        [part for _, _, part in given],
        lambda number, wanted: given[number][:2],
        [f"{('left', 'right')[side]}.{part.name}" for side, _, part in given],
    )


def test_events_meet_where_the_function_says_true() -> None:
    meets = bound(fits, {"kg": float}, {"most": float}, more=1.0)
    assert [meets((weight,), (limit,)) for weight, limit in ((3.0, 2.0), (3.5, 2.0))] == [True, False]
    assert str(meets) == "shop.fits(left.kg, right.most, more=1.0)"


def test_null_is_no_answer_and_a_null_that_is_not_read_is_not_asked_about() -> None:
    meets = bound(fits, {"kg": float}, {"most": float})
    assert [meets((weight,), (limit,)) for weight, limit in ((3.0, None), (None, 2.0))] == [False, False]
    unannotated = bound(lambda one, other: one is None and other is None, {"kg": float}, {"most": float})
    assert unannotated((None,), (None,))


def test_whole_numbers_and_numpys_booleans_are_taken() -> None:
    def near(x: float, y: float) -> bool:
        return np.abs(x - y) < 2  # type: ignore[no-any-return]  # NumPy's bool

    assert bound(near, {"x": int}, {"y": float})((3,), (2.5,)) is True


def test_an_error_names_the_function_and_the_arguments() -> None:
    meets = bound(lambda one, other: one / other > 2, {"km": float}, {"h": float})
    with pytest.raises(ModuleError, match=r"<lambda> code-\w+ failed: .*division by zero\n  arguments: \(3\.0, 0\.0\)"):
        meets((3.0,), (0.0,))
    with pytest.raises(
        ModuleContractError, match=r"returned 5\.0 for \(3\.0, 2\.0\)\n  expected: True, False, or None"
    ):
        bound(lambda one, other: one + other, {"km": float}, {"h": float})((3.0,), (2.0,))


@pytest.mark.parametrize(
    ("left", "parameters", "error", "message"),
    [
        ({"kg": str}, {}, TypeMismatchError, "shop.fits reads float .*, but the column kg is str"),
        ({}, {}, TypeMismatchError, r"shop.fits takes .*weight.*limit.*got 1 columns: most float"),
        ({"kg": float}, {"less": 1}, ParameterError, r"shop.fits\(.*does not accept its parameters.*less"),
        ({"kg": float}, {"more": "1"}, ParameterError, "more must be a float, got '1'; write more=1"),
    ],
)
def test_columns_and_parameters_that_do_not_fit_are_refused(
    left: dict[str, Any], parameters: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        bound(fits, left, {"most": float}, **parameters)


class Place(NamedTuple):
    x: float
    y: float


def test_the_struct_of_a_column_is_an_argument_and_not_all_of_them() -> None:
    def is_low(place: Place) -> bool:
        return place.y < 1

    assert bound(is_low, {"place": Place}, {})(({"x": 3.0, "y": 0.0},), ())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (replace(fits, is_vectorized=True), "shop.fits is vectorised\n  expected: a function of single values"),
        (replace(fits, result=describe(float)), "shop.fits returns float\n  expected: .* that returns bool or None"),
        (3, "3 has no name in SQL"),
    ],
)
def test_what_is_no_condition_is_refused(given: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        condition(given, left="kg")


def test_the_state_depends_on_the_function_and_its_columns() -> None:
    meets = bound(fits, {"kg": float}, {"most": float}, more=1.0)
    assert meets.identity() == ["shop.fits", {"more": "1.0"}, [0, 0], [1, 0]]


def test_a_function_without_a_version_has_its_code_for_one() -> None:
    one, other = (condition(of).function for of in (lambda a, b: a < b, lambda a, b: a > b))
    assert (one.name, one.version[:5]) == (other.name, "code-")
    assert one.version != other.version
