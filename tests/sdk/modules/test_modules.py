"""Module classes: what they declare, what is missing when they are incomplete, and how parameters are spelled."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Generic

import pytest
from typing_extensions import TypeVar

import muntin
from muntin import Aggregate, Function, IncrementalAggregate, Module, Operator, function
from muntin.errors import ModuleDefinitionError
from muntin.modules.parameters import spell as spell_parameter
from muntin.schemas import spell
from muntin.testing import Outcome, try_laws
from tests.sdk.module_classes import module_class

T = TypeVar("T")
S = TypeVar("S")


@dataclass
class Row:
    low: float
    high: float


class Range(Operator[float, Row]):
    name, version = "demo.range", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> Iterable[Row]:
        yield Row(min(payloads), max(payloads))


class Middle(IncrementalAggregate[list[T], dict[str, T], T | None], Generic[S, T]):
    """A class between a base class and a module, with type variables of its own, in another order."""


class Leaf(Middle[str, int]):
    name, version = "demo.leaf", "1.0.0"

    def create_state(self) -> dict[str, int]:
        return {}

    def add_events(self, state: dict[str, int], payloads: Sequence[list[int]]) -> dict[str, int]:
        return state

    def compute_result(self, state: dict[str, int]) -> int | None:
        return None


def test_types_come_from_the_brackets() -> None:
    assert spell(Range.input_field()) == "float"
    assert spell(Range.result_field()) == "struct<low: float, high: float>"
    assert Range.state_type() is None


def test_types_are_found_through_classes_in_between() -> None:
    assert spell(Leaf.input_field()) == "list[integer]"
    assert spell(Leaf.result_field()) == "integer | None"
    assert Leaf.state_type() == dict[str, int]
    Leaf.check_definition()


def test_types_are_found_behind_a_mixin() -> None:
    class Mixin:
        pass

    class Mixed(Mixin, Range):
        pass

    assert spell(Mixed.input_field()) == "float"


SHAPES = [
    ("Aggregate", False, False),
    ("Operator", False, True),
    ("IncrementalAggregate", True, False),
    ("ColumnarAggregate", True, False),
    ("IncrementalOperator", True, True),
    ("RowOperator", False, True),
    ("StreamOperator", False, True),
    ("IntervalOperator", False, True),
]


@pytest.mark.parametrize(("name", "is_incremental", "is_operator"), SHAPES)
def test_each_base_class_says_its_shape(name: str, is_incremental: bool, is_operator: bool) -> None:
    base: type[Module] = getattr(muntin, name)
    assert (base.is_incremental, base.is_operator) == (is_incremental, is_operator)
    assert not base.is_time_sensitive
    assert not base.reads_times


def test_a_class_that_is_time_sensitive_reads_times_unless_it_says_that_it_does_not() -> None:
    timed: Any = type("Timed", (Aggregate,), {"is_time_sensitive": True})
    writes_alone: Any = type("WritesAlone", (timed,), {"reads_times": False})
    assert (timed.reads_times, writes_alone.reads_times) == (True, False)
    again: Any = type("Again", (writes_alone,), {})
    untimed: Any = type("Untimed", (timed,), {"is_time_sensitive": False})
    assert (again.reads_times, untimed.reads_times) == (False, False)


def test_these_base_classes_are_all_there_are() -> None:
    bases = {name for name, value in vars(muntin).items() if isinstance(value, type) and issubclass(value, Module)}
    assert bases == {"Module", *(name for name, *_ in SHAPES)}


def module(base: Any, **attributes: Any) -> type[Module]:
    """Make a module class that is complete, unless a test replaces an attribute."""
    defaults = {"name": "demo.broken", "compute_result": lambda self, *arguments: 0}
    return module_class(base, **(defaults | attributes))  # type: ignore[no-any-return]  # it is one


UNTYPED: Any = Aggregate
"""The base class, to be given what a type checker refuses."""


class Counting(IncrementalAggregate[int, int, int]):
    name, version = "demo.counting", "1.0.0"

    def create_state(self) -> int:
        return 0

    def add_events(self, state: int, payloads: Sequence[int]) -> int:
        return state + len(payloads)

    def compute_result(self, state: int) -> int:
        return state


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            module(Aggregate[int, int], name="broken"),
            "is named 'broken'\n  expected: text of the form '<plugin>.<module>'",
        ),
        (module(Aggregate[int, int], name="Demo.broken"), "is named 'Demo.broken'"),
        (module(Aggregate[int, int], name=None), "Made has no name\n  set the class attribute: name = "),
        (module(Aggregate[int, int], version=""), "demo.broken has no version\n  set the class attribute: version = "),
        (
            module(Aggregate[int, int], version=1),
            "demo.broken has the version 1, which is not text\n  set the class attribute",
        ),
        (
            module(Aggregate),
            "does not say its types\n  expected: a subclass of, for example, muntin.Aggregate[float, float]",
        ),
        (module(Aggregate[complex, int]), "<class 'complex'> has no column type"),
        (module(Operator[int, int | str]), "has no single column type"),
        (module(IncrementalAggregate[int, int, int]), "demo.broken does not define add_events, create_state"),
        (
            module(UNTYPED[dict, int]),
            "dict does not say what it holds\n  expected: types in brackets, as in dict[str, ",
        ),
        (module(UNTYPED[int, list]), "list does not say what it holds"),
        (
            module(Aggregate[int, int], compute_result=lambda self, payloads, window: 0),
            "demo.broken: compute_result(payloads, window) is called with (payloads)\n"
            "  define it as compute_result(self, payloads), or say is_time_sensitive = True, to be given events with "
            "lifetimes and the window",
        ),
        (
            module(Aggregate[int, int], is_time_sensitive=True, compute_result=lambda self, events: 0),
            "compute_result(events) is called with (events, window)\n"
            "  define it as compute_result(self, events, window), as is_time_sensitive is True",
        ),
        (
            module(Counting, is_time_sensitive=True),
            "create_state() is called with (window)\n"
            "  define it as create_state(self, window), as is_time_sensitive is True",
        ),
        (
            module(Counting, remove_events=lambda self, state: state),
            "remove_events(state) is called with (state, payloads)",
        ),
        (module(Counting, create_state=lambda self, window: 0), "create_state(window) is called with ()"),
    ],
)
def test_an_incomplete_module_is_refused_with_what_is_missing(broken: type[Module], message: str) -> None:
    with pytest.raises(ModuleDefinitionError) as refused:
        broken.check_definition()
    assert message in str(refused.value)


def test_an_abstract_module_cannot_be_made() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Operator()  # type: ignore[abstract]  # that is the point


def test_having_a_method_is_declaring_the_capability() -> None:
    class Summing(Leaf):
        def combine(self, state: dict[str, int], other: dict[str, int]) -> dict[str, int]:
            return {**state, **other}

    assert hasattr(Summing(), "combine")
    assert not hasattr(Summing(), "deduct")
    assert not hasattr(Summing(), "remove_events")


def test_the_base_classes_state_laws_that_the_kit_has() -> None:
    for name, *_ in SHAPES:
        text = getattr(muntin, name).__doc__ or ""
        laws = "StreamOperator" if name == "IntervalOperator" else name  # those of which it is one
        assert f"muntin.testing.{laws}Laws" in text


@function("demo.fahrenheit", version="1.2.0")
def fahrenheit(celsius: float, offset: float = 32.0) -> float:
    """Convert."""
    return celsius * 9 / 5 + offset


@function("demo.twice", version="1.0.0", result=int, vectorized=True)
def twice(numbers: list[int]) -> list[int]:
    return [2 * number for number in numbers]


def test_a_function_is_called_as_before_and_says_what_it_is() -> None:
    assert (fahrenheit(100.0), fahrenheit(100.0, offset=0.0), twice([1, 2])) == (212.0, 180.0, [2, 4])
    assert (fahrenheit.name, fahrenheit.version, fahrenheit.sql_name) == ("demo.fahrenheit", "1.2.0", "demo_fahrenheit")
    assert (spell(fahrenheit.result), fahrenheit.is_vectorized) == ("float", False)
    assert isinstance(twice, Function)
    assert (spell(twice.result), twice.is_vectorized) == ("integer", True)


@pytest.mark.parametrize(
    ("named", "options", "message"),
    [
        ("demo.bare", {}, "demo.bare does not say what it returns; annotate it"),
        ("demo.column", {"vectorized": True}, "function('demo.column', result=float, ...)"),
        ("Twice", {}, "is named 'Twice'"),
    ],
)
def test_a_function_that_does_not_say_what_it_is_is_refused(named: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModuleDefinitionError) as refused:
        function(named, version="1", **options)(lambda number: number)
    assert message in str(refused.value)


def test_a_function_with_an_annotation_that_is_no_python_is_refused() -> None:
    def thrice(number: float) -> float:
        return 3 * number

    thrice.__annotations__["return"] = "float["
    with pytest.raises(ModuleDefinitionError, match=r"(?s)the annotations of demo.thrice cannot be read.*result=float"):
        function("demo.thrice", version="1")(thrice)
    named = function("demo.thrice", version="1", result=float)(thrice)
    (broken,) = [verdict.reason for verdict in try_laws(named) if verdict.outcome is Outcome.BROKEN]
    assert "its annotations cannot be read" in broken


class Colour(Enum):
    RED = 1


@dataclass
class Column:
    name: str
    type: str


def above(limit: Any) -> Any:
    return lambda value: value > limit


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("6 hours", "'6 hours'"),
        ([1, (2.0, None)], "[1, [2.0, None]]"),
        (Colour.RED, "Colour.RED"),
        (frozenset({"b", "a"}), "{'a', 'b'}"),
        ({"x": {2, 1}}, "{'x': {1, 2}}"),
        (len, "<builtins.len>"),
        (Column, "<tests.sdk.modules.test_modules.Column>"),
        (above, "<tests.sdk.modules.test_modules.above>"),
        (str.upper, "<str.upper>"),
        (object(), "<builtins.object>"),
        (Column("at", "timestamp"), "Column(name='at', type='timestamp')"),
    ],
)
def test_a_parameter_is_spelled_the_same_in_every_process(value: Any, text: str) -> None:
    assert spell_parameter(value) == text


def test_functions_without_a_name_to_import_are_told_apart_by_what_they_do() -> None:
    same = [spell_parameter(above(1)), spell_parameter(above(1))]
    other_classes = [
        spell_parameter(above(2)),
        spell_parameter(above("1")),
        spell_parameter(lambda value: value < 1),
        spell_parameter(lambda value, least=2: value),
    ]
    assert len({*same, *other_classes}) == 5
    assert same[0].startswith("<<lambda> ")


def factorial(scale: int) -> Any:
    def product(number: int) -> int:
        return scale if number < 2 else number * product(number - 1)

    return product


def alternating(step: int) -> Any:
    def even(number: int) -> bool:
        return number == 0 or odd(number - step)

    def odd(number: int) -> bool:
        return number != 0 and even(number - step)

    return even


def unfinished() -> Any:
    def reads_later() -> object:
        return assigned_later

    yield reads_later
    assigned_later = 1


def test_functions_that_call_themselves_or_each_other_are_spelled_by_their_code() -> None:
    assert spell_parameter(factorial(1)) == spell_parameter(factorial(1)) != spell_parameter(factorial(2))
    assert spell_parameter(alternating(1)) == spell_parameter(alternating(1)) != spell_parameter(alternating(2))
    assert spell_parameter(next(unfinished())).startswith("<reads_later ")


def test_a_function_of_a_script_is_spelled_the_same_in_every_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from muntin.modules.parameters import spell as spell_parameter\n"
        "labels = object()\n"
        "def known(value, held={'b', 'a', 'c'}):\n"
        "    return labels if value in {'x', 'y', 'z', 'v'} else (lambda: held)\n"
        "print(spell_parameter(known))\n"
    )
    runs = [
        subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert len(set(runs)) == 1
    assert runs[0].startswith("<known ")
