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


def test_the_types_of_a_module_come_from_the_brackets_behind_its_base_class() -> None:
    assert spell(Range.input_field()) == "float"
    assert spell(Range.result_field()) == "struct<low: float, high: float>"
    assert Range.state_type() is None, "it is not incremental"


def test_the_types_of_a_module_are_found_through_classes_in_between() -> None:
    assert spell(Leaf.input_field()) == "list[integer]"
    assert spell(Leaf.result_field()) == "integer | None"
    assert Leaf.state_type() == dict[str, int]
    Leaf.check_definition()


def test_the_types_of_a_module_are_found_behind_a_mixin() -> None:
    class Mixin:
        pass

    class Mixed(Mixin, Range):
        pass

    assert spell(Mixed.input_field()) == "float"


# a base class: whether it is incremental, and whether it is an operator
SHAPES = {
    "Aggregate": (False, False),
    "Operator": (False, True),
    "IncrementalAggregate": (True, False),
    "ColumnarAggregate": (True, False),
    "IncrementalOperator": (True, True),
    "RowOperator": (False, True),
    "StreamOperator": (False, True),
    "IntervalOperator": (False, True),
}


@pytest.mark.parametrize("name", SHAPES)
def test_each_base_class_says_whether_it_is_incremental_and_an_operator_and_is_not_time_sensitive(name: str) -> None:
    base: type[Module] = getattr(muntin, name)
    assert (base.is_incremental, base.is_operator) == SHAPES[name]
    assert not base.is_time_sensitive
    assert not base.reads_times


def test_a_class_that_is_time_sensitive_reads_times_unless_it_says_that_it_does_not() -> None:
    time_sensitive: Any = type("TimeSensitive", (Aggregate,), {"is_time_sensitive": True})
    assert time_sensitive.reads_times
    without_reading: Any = type("WithoutReading", (time_sensitive,), {"reads_times": False})
    assert not without_reading.reads_times


def test_a_subclass_reads_times_as_its_base_class_does_unless_it_is_not_time_sensitive_any_more() -> None:
    time_sensitive: Any = type("TimeSensitive", (Aggregate,), {"is_time_sensitive": True})
    without_reading: Any = type("WithoutReading", (time_sensitive,), {"reads_times": False})
    assert not type("Subclass", (without_reading,), {}).reads_times  # type: ignore[attr-defined]
    assert not type("Subclass", (time_sensitive,), {"is_time_sensitive": False}).reads_times  # type: ignore[attr-defined]


def test_all_base_classes_of_modules_have_a_shape_here() -> None:
    bases = {name for name, value in vars(muntin).items() if isinstance(value, type) and issubclass(value, Module)}
    assert bases == {"Module", *SHAPES}


def module(base: Any, **attributes: Any) -> type[Module]:
    """Return a module class with a name, a version and `compute_result`, of which attributes replace some."""
    defaults = {"name": "demo.broken", "compute_result": lambda self, *arguments: 0}
    return module_class(base, **(defaults | attributes))  # type: ignore[no-any-return]  # it is one


UNTYPED: Any = Aggregate
"""The base class, to be given types that a type checker refuses."""


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


def test_a_base_class_cannot_be_instantiated() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Operator()  # type: ignore[abstract]  # that is the point


def test_a_module_has_the_optional_methods_that_it_defines_and_no_other() -> None:
    """Having the method is how a module declares what it can do."""

    class Combining(Leaf):
        def combine(self, state: dict[str, int], other: dict[str, int]) -> dict[str, int]:
            return {**state, **other}

    assert hasattr(Combining(), "combine")
    assert not hasattr(Combining(), "deduct")
    assert not hasattr(Combining(), "remove_events")


@pytest.mark.parametrize("name", SHAPES)
def test_the_docstring_of_a_base_class_names_its_laws(name: str) -> None:
    docstring = getattr(muntin, name).__doc__ or ""
    laws = "StreamOperatorLaws" if name == "IntervalOperator" else f"{name}Laws"  # it is a stream operator
    assert f"muntin.testing.{laws}" in docstring


@function("demo.fahrenheit", version="1.2.0")
def fahrenheit(celsius: float, offset: float = 32.0) -> float:
    """Convert."""
    return celsius * 9 / 5 + offset


@function("demo.twice", version="1.0.0", result=int, vectorized=True)
def twice(numbers: list[int]) -> list[int]:
    return [2 * number for number in numbers]


def test_a_function_is_called_as_without_the_decorator() -> None:
    assert fahrenheit(100.0) == 212.0
    assert fahrenheit(100.0, offset=0.0) == 180.0
    assert twice([1, 2]) == [2, 4]


def test_a_function_knows_its_name_version_and_result() -> None:
    assert fahrenheit.name == "demo.fahrenheit"
    assert fahrenheit.sql_name == "demo_fahrenheit"
    assert fahrenheit.version == "1.2.0"
    assert spell(fahrenheit.result) == "float"
    assert not fahrenheit.is_vectorized


def test_the_result_of_a_vectorised_function_is_that_of_a_row() -> None:
    assert isinstance(twice, Function)
    assert twice.is_vectorized
    assert spell(twice.result) == "integer"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("demo.bare", {}, "demo.bare does not say what it returns; annotate it"),
        ("demo.column", {"vectorized": True}, "function('demo.column', result=float, ...)"),
        ("Twice", {}, "is named 'Twice'"),
    ],
)
def test_a_function_without_a_result_type_or_with_a_wrong_name_is_refused(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModuleDefinitionError) as refused:
        function(name, version="1", **options)(lambda number: number)
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
    """Return a function without a name to import it by."""
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


def test_functions_without_a_name_to_import_are_spelled_by_their_code_and_the_values_in_it() -> None:
    assert spell_parameter(above(1)) == spell_parameter(above(1))
    assert spell_parameter(above(1)).startswith("<<lambda> ")
    different_functions = [
        above(1),
        above(2),
        above("1"),
        lambda value: value < 1,
        lambda value, least=2: value,
    ]
    assert len({spell_parameter(function) for function in different_functions}) == 5


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
    """Though a process has addresses and an order of sets of its own."""
    script = tmp_path / "script.py"
    script.write_text(
        "from muntin.modules.parameters import spell as spell_parameter\n"
        "labels = object()\n"
        "def known(value, held={'b', 'a', 'c'}):\n"
        "    return labels if value in {'x', 'y', 'z', 'v'} else (lambda: held)\n"
        "print(spell_parameter(known))\n"
    )

    def spelled_by_a_process() -> str:
        run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
        return run.stdout.strip()

    first = spelled_by_a_process()
    assert first.startswith("<known ")
    assert spelled_by_a_process() == first
