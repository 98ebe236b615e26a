"""Functions that break a law of functions each, and two that keep all."""

from __future__ import annotations

from itertools import accumulate, count
from typing import Any

from muntin import Function, function

_CALLS = count()


@function("hostile.honest", version="1.0.0")
def honest_function(numbers: list[int], factor: int) -> list[int]:
    return [factor * number for number in sorted(numbers)]


@function("hostile.honest_vectorised", version="1.0.0", result=int, vectorized=True)
def honest_vectorised_function(numbers: Any) -> Any:
    return [2 * number for number in numbers]


@function("hostile.no_version", version="")
def has_no_version(number: int) -> int:
    return number


@function("hostile.text", version="1.0.0")
def returns_text(number: int) -> int:
    return str(number)  # type: ignore[return-value]  # that is the fault


@function("hostile.counts", version="1.0.0")
def counts_its_calls(number: int) -> int:
    return next(_CALLS)


@function("hostile.sorts", version="1.0.0")
def sorts_its_argument(numbers: list[int]) -> list[int]:
    numbers.sort()
    return numbers


@function("hostile.adds_up", version="1.0.0", result=int, vectorized=True)
def adds_up(numbers: Any) -> Any:
    return list(accumulate(numbers))


HOSTILE_FUNCTIONS: dict[str, Function[..., Any]] = {
    "test_definition_is_complete": has_no_version,
    "test_result_has_declared_type": returns_text,
    "test_same_arguments_same_result": counts_its_calls,
    "test_arguments_are_read_only": sorts_its_argument,
    "test_splitting_does_not_matter": adds_up,
}
