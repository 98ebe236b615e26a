"""Frozen dataclasses with type variables, which may be given where an object is made."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, is_dataclass, replace
from typing import Any, Generic

import pytest

import muntin
import muntin_adapters
import muntin_patterns
import muntin_stats
from muntin import Event
from muntin_adapters.combinators.catching import Caught


def generic_records() -> Iterator[type]:
    """Yield the classes of our packages that are generic dataclasses with slots."""
    for package in (muntin, muntin_adapters, muntin_patterns, muntin_stats):
        for module_info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(module_info.name)
            for cls in vars(module).values():
                if not isinstance(cls, type) or cls.__module__ != module.__name__:
                    continue
                if is_dataclass(cls) and Generic in cls.__mro__ and "__slots__" in vars(cls):
                    yield cls


@pytest.mark.parametrize("cls", sorted(generic_records(), key=repr))
def test_a_generic_record_refuses_attributes_with_an_attribute_error(cls: type) -> None:
    """`typing` sets one, and goes on after this error: with a TypeError, `cls[int](...)` would fail."""
    record: Any = object.__new__(cls)
    with pytest.raises(AttributeError):
        record.__orig_class__ = cls


def test_records_are_made_with_their_type_variables() -> None:
    event = Event[int](1, 5, payload=3)
    assert event == Event(1, 5, 3)
    assert replace(event, end=7) == Event[int](1, 7, payload=3)
    assert Caught[list[int]](None, "no").error == "no"


def test_a_subclass_of_a_record_may_have_attributes_that_are_no_fields() -> None:
    class Marked(Event[int]):
        """An event with a mark, which is no part of it."""

    marked: Any = Marked(1, 5, payload=3)
    marked.mark = "seen"
    assert marked.mark == "seen"
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'end'"):
        marked.end = 7
