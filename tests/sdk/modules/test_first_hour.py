"""Mistakes in a first module: each message says what is wrong, what was expected and what to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from muntin import Aggregate, IncrementalAggregate, Operator, tumbling
from muntin.errors import MuntinError
from muntin.testing import AggregateLaws, Computation, IncrementalAggregateLaws, LawError, Script, WindowedQuery


class Range:
    """A class that should be a dataclass."""

    low: float
    high: float


@dataclass
class Ends:
    low: float
    high: int


def aggregate(result_type: Any, result: Any = None) -> Any:
    """Return an aggregate of floats that declares one type and returns a result of maybe another one."""

    class Made(Aggregate[float, result_type]):
        name, version = "tides.made", "1.0.0"

        def compute_result(self, payloads: Any) -> Any:
            return result

    return Made


def check_definition(result_type: Any) -> Callable[[], object]:
    """Return a function that checks an aggregate which declares a type as that of its result."""
    return lambda: aggregate(result_type).check_definition()


def run(module: Any) -> Callable[[], object]:
    """Return a function that runs a module over a window of two points."""
    script = Script().point("a", 1, 3.0).point("b", 2, 5.0).close()
    return lambda: script.run(WindowedQuery(tumbling(10), [Computation(module())]))


class Rows(Operator[float, float]):
    """An operator that returns a value, and not rows."""

    name, version = "tides.rows", "1.0.0"

    def compute_result(self, payloads: Any) -> Any:
        return max(payloads)


class Total(IncrementalAggregate[float, Range, float]):
    """A module whose state is no record and no other plain data."""

    name, version = "tides.total", "1.0.0"

    def create_state(self) -> Any:
        return Range()

    def add_events(self, state: Any, payloads: Any) -> Any:
        return state

    def compute_result(self, state: Any) -> float:
        return 0.0


class Lacking(IncrementalAggregate[float, float, float]):
    """A module without `create_state`."""

    name, version = "tides.lacking", "1.0.0"

    def add_events(self, state: Any, payloads: Any) -> Any:
        return state

    def compute_result(self, state: Any) -> float:
        return 0.0


class Means(IncrementalAggregate[float, Any, float]):
    """A module whose state is an array."""

    name, version = "tides.means", "1.0.0"

    def create_state(self) -> Any:
        return np.zeros(2)

    def add_events(self, state: Any, payloads: Any) -> Any:
        return state

    def compute_result(self, state: Any) -> float:
        return 0.0


def define_laws(laws_class: Any, module: Any) -> Callable[[], object]:
    """Return a function that defines a laws class for a module, as a module writer does in a test file."""
    return lambda: type("TestMade", (laws_class,), {"module": module})


def try_codec(module: Any) -> Callable[[], object]:
    """Return a function that tries the law that a state survives its codec."""
    laws: Any = type("TestMade", (IncrementalAggregateLaws,), {"module": module})()
    run_test: Callable[[], object] = laws.test_state_survives_its_codec
    return run_test


# a mistake: what runs into it, and parts of the message
MISTAKES: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "no @dataclass above a result": (
        check_definition(Range),
        ("Range", "has no column type", "write @dataclass above class Range"),
    ),
    "no @dataclass above a state": (
        try_codec(Total()),
        ("of type Range is not plain data", "write @dataclass above class Range"),
    ),
    "an array as a state": (
        try_codec(Means()),
        ("of type ndarray is not plain data", "list[float]", "tolist()"),
    ),
    "NumPy's float in brackets": (check_definition(np.float64), ("numpy.float64", "instead of float64 write float")),
    "an array in brackets": (check_definition(np.ndarray), ("numpy.ndarray", "write list[float]", "array.tolist()")),
    "a Series in brackets": (
        check_definition(pd.Series),
        ("has no column type", "write list[float]", "series.tolist()"),
    ),
    "a list of nothing": (check_definition(list), ("list does not say what it holds", "list[float]")),
    "too few brackets": (
        lambda: IncrementalAggregate[float, float],  # type: ignore[misc]  # that is the point
        ("IncrementalAggregate with 2 types in brackets", "expected: IncrementalAggregate[In, State, Out]"),
    ),
    "a method left out": (
        Lacking.check_definition,
        ("tides.lacking does not define create_state", "def create_state(self, ...)", "help(IncrementalAggregate)"),
    ),
    "another type": (run(aggregate(float, "5")), ("tides.made 1.0.0", "it is '5', expected float", "declare what it")),
    "another type in a field": (
        run(aggregate(Ends, Ends(1.0, "x"))),  # type: ignore[arg-type]  # that is the point
        (".high is 'x', expected integer",),
    ),
    "a value in the place of rows": (
        run(Rows),
        ("compute_result of an operator returned 5.0", "yield of each row", "write an Aggregate"),
    ),
    "a class in a test": (
        lambda: Computation(Total),  # type: ignore[arg-type]  # that is the point
        ("an instance of a module class, got <class", "write Computation(Total())"),
    ),
    "a module in the place of computations": (
        lambda: WindowedQuery(tumbling(10), [Total()]),  # type: ignore[list-item]  # that is the point
        ("a list of computations, got [", "[Computation(Spread())]"),
    ),
    "a computation without a list": (
        lambda: WindowedQuery(tumbling(10), Computation(Total())),  # type: ignore[arg-type]  # that is the point
        ("a list of computations, got Computation(", "[Computation(Spread())]"),
    ),
    "a point without an id": (
        lambda: Script().point(1, 4.5),  # type: ignore[arg-type]  # that is the point
        ("the event 1 has the time 4.5", "write the id first", "point('a', 1, 4.5)"),
    ),
    "a version that is a number": (
        type("Since", (aggregate(float),), {"continues_since": 1.0}).check_definition,  # type: ignore[attr-defined]
        ("tides.made has continues_since = 1.0, which is not text", "'1.0'"),
    ),
    "the laws of another base class": (
        define_laws(AggregateLaws, Total()),
        ("checks the laws of Aggregate", "use IncrementalAggregateLaws, as the base class of Total is"),
    ),
    "the laws of a class": (define_laws(IncrementalAggregateLaws, Total), ("use module = Total(), an instance",)),
    "the laws of a function": (define_laws(AggregateLaws, max), ("use an instance of a subclass of Aggregate",)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_message_says_what_to_write_instead(mistake: str) -> None:
    make_mistake, parts = MISTAKES[mistake]
    with pytest.raises((MuntinError, LawError, TypeError)) as caught:
        make_mistake()
    message = str(caught.value)
    for part in parts:
        assert part in message
