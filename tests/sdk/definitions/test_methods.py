"""The signatures by which modules and functions are checked, also of code whose annotations cannot be evaluated."""

from __future__ import annotations

from collections.abc import Callable
from types import new_class
from typing import Any

import pytest

from muntin import Aggregate
from muntin.definitions.methods import hints_of, signature_of
from muntin.errors import ModuleDefinitionError
from muntin.schemas import describe


def unclosed(value: list[float]) -> None: ...


def no_such_name(value: list[float]) -> None: ...


def no_such_attribute(value: list[float]) -> None: ...


def no_types(value: list[float]) -> None: ...


def no_number(value: list[float]) -> None: ...


# Annotations as their writers may misspell them; a formatter or type checker would refuse them above.
unclosed.__annotations__["value"] = "list[float"
no_such_name.__annotations__["value"] = "ListOfFloats"
no_such_attribute.__annotations__["value"] = "pytest.float46"
no_types.__annotations__["value"] = "'a' | None"
no_number.__annotations__["value"] = "1 / 0"
UNREADABLE = [unclosed, no_such_name, no_such_attribute, no_types, no_number]


@pytest.mark.parametrize("function", UNREADABLE, ids=[function.__name__ for function in UNREADABLE])
def test_a_function_with_an_annotation_that_cannot_be_evaluated_has_its_signature(function: Callable[..., Any]) -> None:
    assert list(signature_of(function).parameters) == ["value"]
    assert hints_of(function) == {}


def test_a_record_with_an_annotation_that_is_no_python_is_refused() -> None:
    class Reading:
        __annotations__ = {"metres": "list[float"}
        _fields = ("metres",)

    with pytest.raises(ModuleDefinitionError, match=r"the annotations of .*Reading cannot be read"):
        describe(Reading)


def test_the_arguments_of_a_method_are_checked_whatever_its_annotations_are() -> None:
    def compute_result(self: Any, payloads: Any, window: Any) -> float:
        raise AssertionError("a method that takes other arguments is not called")

    compute_result.__annotations__["payloads"] = "'a' | None"
    attributes = {"name": "demo.odd", "version": "1.0.0", "compute_result": compute_result}
    cls: Any = new_class("Odd", (Aggregate[float, float],), exec_body=lambda body: body.update(attributes))
    with pytest.raises(ModuleDefinitionError, match=r"compute_result\(payloads, window\) is called with \(payloads\)"):
        cls.check_definition()
