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


def offered() -> Iterator[tuple[ModuleType, type[Module]]]:
    """Yield all modules of our own plugins, each with the package that it is imported from."""
    for package in (stats, muntin_patterns):
        name = package.__name__.removeprefix("muntin_")
        yield from ((package, cls) for cls in installed().plugin(name).modules.values())


OFFERED = list(offered())


@pytest.mark.parametrize(("package", "cls"), OFFERED, ids=[cls.name for _, cls in OFFERED])
def test_each_module_of_our_plugins_has_a_typed_call_with_its_docstring(package: Any, cls: type[Module]) -> None:
    name = cls.name.rpartition(".")[2]
    call = getattr(package, name)
    assert name in package.__all__
    assert (call.__name__, call.__doc__) == (name, cls.__doc__)
    assert cls.__doc__
    assert cls.__doc__.partition("\n")[0] in pydoc.render_doc(call)
    shown = inspect.signature(call).parameters
    assert list(shown)[1:] == list(inspect.signature(cls).parameters)
    assert all(part.kind is not part.POSITIONAL_OR_KEYWORD for part in shown.values())


def test_a_typed_call_is_the_call_by_name() -> None:
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


def test_a_module_of_ones_own_needs_one_line() -> None:
    above = typed_call(Above)
    assert above("metres", level=2.0) == module(Above, "metres", level=2.0)
    assert str(inspect.signature(above).replace(return_annotation=inspect.Signature.empty)) == (
        "(*columns, level: float = 0.0)"
    )


def test_what_is_wrong_is_said_where_the_call_is() -> None:
    with pytest.raises(ParameterError, match=r"tides.above\(level: float = 0.0\) does not accept its parameters"):
        typed_call(Above)("metres", limit=2.0)  # type: ignore[call-arg]  # on purpose
    with pytest.raises(ParameterError, match="level must be a float, got '2'; write level=2"):
        typed_call(Above)("metres", level="2")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ModuleDefinitionError, match="has no version"):
        typed_call(Unversioned)("metres")
