"""Functions keep working as they are and say what they return."""

from __future__ import annotations

from typing import Any

import pytest

from muntin import Function, function
from muntin.errors import ModuleDefinitionError
from muntin.schemas import spell


@function("demo.fahrenheit", version="1.2.0")
def fahrenheit(celsius: float, offset: float = 32.0) -> float:
    """Convert."""
    return celsius * 9 / 5 + offset


def test_a_function_is_called_as_before() -> None:
    assert fahrenheit(100.0) == 212.0
    assert fahrenheit(100.0, offset=0.0) == 180.0


def test_a_function_says_its_name_version_and_result() -> None:
    assert (fahrenheit.name, fahrenheit.version, fahrenheit.sql_name) == ("demo.fahrenheit", "1.2.0", "demo_fahrenheit")
    assert (spell(fahrenheit.result), fahrenheit.is_vectorized) == ("float", False)


def test_a_vectorised_function_is_told_its_result() -> None:
    @function("demo.twice", version="1.0.0", result=int, vectorized=True)
    def twice(numbers: list[int]) -> list[int]:
        return [2 * number for number in numbers]

    assert isinstance(twice, Function)
    assert (spell(twice.result), twice.is_vectorized, twice([1, 2])) == ("integer", True, [2, 4])


def test_a_function_without_a_result_type_is_refused() -> None:
    def bare(number):  # type: ignore[no-untyped-def]  # that is the point
        return number

    with pytest.raises(ModuleDefinitionError, match=r"demo.bare does not say what it returns; annotate it"):
        function("demo.bare", version="1")(bare)


def test_a_vectorised_function_without_a_result_type_is_refused() -> None:
    def column(numbers: Any) -> Any:
        return numbers

    with pytest.raises(ModuleDefinitionError, match=r"function\('demo.column', result=float, ...\)"):
        function("demo.column", version="1", vectorized=True)(column)


def test_a_malformed_name_is_refused_where_it_is_given() -> None:
    with pytest.raises(ModuleDefinitionError, match="is named 'Twice'"):
        function("Twice", version="1")
