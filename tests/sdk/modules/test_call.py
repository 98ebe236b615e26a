"""Functions that name a module in a query, beside its name."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest

import muntin_patterns
import muntin_stats as stats
from muntin import Aggregate, Module, typed_call
from muntin.catalog import installed
from muntin.errors import ModuleDefinitionError, ParameterError, QueryError
from muntin_engine import from_stream, module


def modules_of_our_plugins() -> Iterator[tuple[ModuleType, type[Module]]]:
    """Yield all modules of our own plugins, each with the package that it is imported from."""
    for package in (stats, muntin_patterns):
        plugin_name = package.__name__.removeprefix("muntin_")
        for cls in installed().plugin(plugin_name).modules.values():
            yield package, cls


EACH_MODULE = pytest.mark.parametrize(
    ("package", "cls"), [pytest.param(package, cls, id=cls.name) for package, cls in modules_of_our_plugins()]
)


@EACH_MODULE
def test_each_module_of_our_plugins_has_a_typed_call_with_its_docstring(package: Any, cls: type[Module]) -> None:
    _, _, name = cls.name.rpartition(".")
    call = getattr(package, name)
    assert name in package.__all__
    assert (call.__name__, call.__doc__) == (name, cls.__doc__)
    assert cls.__doc__
    first_line = cls.__doc__.partition("\n")[0]
    assert first_line in pydoc.render_doc(call)


@EACH_MODULE
def test_the_typed_call_of_each_module_takes_columns_by_place_and_parameters_by_name(
    package: Any, cls: type[Module]
) -> None:
    _, _, name = cls.name.rpartition(".")
    columns, *parameters = inspect.signature(getattr(package, name)).parameters.values()
    assert columns.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    assert [parameter.name for parameter in parameters] == list(inspect.signature(cls).parameters)
    for parameter in parameters:
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY


def test_a_typed_call_equals_the_call_by_name() -> None:
    assert stats.average("km") == module("stats.average", "km")
    assert stats.count() == module("stats.count")
    assert stats.quantile("km", q=0.9) == module("stats.quantile", "km", q=0.9)
    assert stats.linear_trend("x", "y") == module("stats.linear_trend", "x", "y")
    assert muntin_patterns.silence(after="1 hour") == module("patterns.silence", after="1 hour")


def test_a_module_of_several_inputs_takes_its_streams_in_their_order_or_by_name() -> None:
    inside = from_stream("inside", "celsius")
    outside = from_stream("outside", "celsius")
    by_name = module("stats.average_difference", left=inside, right=outside)
    assert stats.average_difference(inside, outside) == by_name
    assert module("stats.average_difference", inside, right=outside) == by_name
    with pytest.raises(QueryError, match="and left is given by place and by name"):
        module("stats.average_difference", inside, left=outside, right=outside)


class Above(Aggregate[float, int]):
    """Count the payloads above a level."""

    name, version = "tides.above", "1.0.0"

    def __init__(self, level: float = 0.0) -> None:
        self.level = level

    def compute_result(self, payloads: Sequence[float]) -> int:
        return sum(payload > self.level for payload in payloads)


class Unversioned(Above):
    name = "tides.unversioned"
    version = ""


above = typed_call(Above)


def test_the_typed_call_of_a_module_of_ones_own_equals_the_call_by_its_class() -> None:
    assert above("metres", level=2.0) == module(Above, "metres", level=2.0)


def test_a_typed_call_shows_the_parameters_of_its_module() -> None:
    signature = inspect.signature(above).replace(return_annotation=inspect.Signature.empty)
    assert str(signature) == "(*columns, level: float = 0.0)"


def test_a_typed_call_refuses_wrong_parameters_and_incomplete_modules() -> None:
    with pytest.raises(ParameterError, match=r"tides.above\(level: float = 0.0\) does not accept its parameters"):
        above("metres", limit=2.0)  # type: ignore[call-arg]  # on purpose
    with pytest.raises(ParameterError, match="level must be a float, got '2'; write level=2"):
        above("metres", level="2")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ModuleDefinitionError, match="has no version"):
        typed_call(Unversioned)("metres")
