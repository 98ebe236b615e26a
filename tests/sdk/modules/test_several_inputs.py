"""Modules that read several inputs: a record for each, its name, laws, and windows in which an input is silent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

import pytest
from hypothesis import strategies as st
from typing_extensions import TypeAliasType

from muntin import Aggregate, ColumnarAggregate, Module, Operator, hopping
from muntin.errors import ModuleDefinitionError
from muntin.modules.declared_types import describe_input
from muntin.schemas import describe, spell
from muntin.testing import AggregateLaws, Computation, LawError, Script, WindowedQuery, laws_applying_to, try_laws
from muntin.testing.fitting import misfit
from muntin.testing.laws.module_laws import SeveralInputsLaws
from muntin_adapters.combinators import all_of, filtering, mapping, skipping_nulls
from tests.modules.several_inputs import Both, KeptMembers, Left, Members, Pairs, Right

V = TypeVar("V")


@dataclass(frozen=True)
class HTTPRequest(Generic[V]):
    seconds: V


class PageView2(NamedTuple):
    page: str


@dataclass(frozen=True)
class _Done:
    """An input of which only the events count."""


class Views(Aggregate[HTTPRequest[float] | PageView2 | _Done, int]):
    """The number of events of three inputs."""

    name, version = "demo.views", "1.0.0"

    def compute_result(self, payloads: Sequence[object]) -> int:
        return len(payloads)


def test_an_input_has_the_name_of_its_record_in_lower_case() -> None:
    Views.check_definition()
    assert [field.name for field in Views.input_fields()] == ["http_request", "page_view2", "done"]


def test_a_module_of_several_inputs_has_one_input_field_with_all_of_them_and_one_result() -> None:
    assert spell(Views.input_field()) == (
        "http_request: struct<seconds: float> or page_view2: struct<page: string> or done: struct<>"
    )
    assert Members.input_fields() == Members.input_field().type.inputs  # type: ignore[union-attr]
    assert Views.result_field() == describe(int, "result")


def test_an_alias_of_a_type_is_that_type() -> None:
    alias: Any = TypeAliasType("both", Left | Right)
    assert describe_input(alias, "input") == Members.input_field()
    assert describe(TypeAliasType("Number", int)) == describe(int)


class Odd(TypedDict):
    number: int


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (
            Left | int,
            r"has no single column type; .*\n  what a module reads may also be a union of dataclasses or Named",
        ),
        (Left | Odd, "has no single column type"),
        (Left | Right | None, "has no single column type"),
        (Left | list[Right], "has no single column type"),
    ],
)
def test_an_input_that_is_no_dataclass_or_named_tuple_is_refused(payload: Any, message: str) -> None:
    with pytest.raises(ModuleDefinitionError, match=message):
        reading(payload).check_definition()


def reading(payload: Any) -> type[Module]:
    """Return a module class that reads payloads of a type."""
    cls: type[Module] = type(
        "Reads", (Members,), {"_types": classmethod(lambda cls: {"input": payload, "result": int})}
    )
    return cls


def test_two_inputs_of_one_name_are_refused() -> None:
    namesake: Any = dataclass(type("left", (), {"__annotations__": {"a": int}}))
    with pytest.raises(ModuleDefinitionError, match=r"has two inputs named left\n  .*rename one of the classes"):
        reading(Left | namesake).check_definition()


def test_an_input_with_the_name_of_a_parameter_is_refused() -> None:
    class Above(Members):
        def __init__(self, left: int) -> None:
            self.left = left

    with pytest.raises(ModuleDefinitionError, match=r"both\.members has an input and a parameter named left"):
        Above.check_definition()


def test_a_result_of_several_records_is_refused() -> None:
    class Returns(Aggregate[Both, Both]):
        name, version = "demo.returns", "1.0.0"

        def compute_result(self, payloads: Sequence[Both]) -> Both:
            return payloads[0]

    with pytest.raises(ModuleDefinitionError, match="has no single column type"):
        Returns.check_definition()


def test_a_columnar_aggregate_of_several_inputs_is_refused() -> None:
    class OnArrays(ColumnarAggregate[Both, int]):
        name, version = "demo.on_arrays", "1.0.0"

        def components(self) -> Any:
            return {}

        def lift(self, payloads: Any) -> Any:
            return {}

        def compute_results(self, components: Any) -> Any:
            return 0

    with pytest.raises(ModuleDefinitionError, match=r"demo\.on_arrays reads 2 inputs, and arrays are of one"):
        OnArrays.check_definition()


# time    1      8           21       35
# left    1      2           5
# right          7                    9
NUMBERS = (
    Script()
    .point("a", 1, Left(1))
    .point("b", 8, Left(2))
    .point("c", 8, Right(7))
    .point("d", 21, Left(5))
    .point("e", 35, Right(9))
    .close()
)


@pytest.mark.parametrize("module", [Members(), KeptMembers()], ids=["aggregate", "incremental aggregate"])
def test_a_window_has_the_events_of_each_input_and_an_input_may_be_silent(module: Any) -> None:
    """The result of `Members` has twice each left number, and twice each right number and one more."""
    rows = NUMBERS.run(WindowedQuery(hopping(20, 10), [Computation(module)]))[None]
    assert {row.window.start: row.value[0] for row in rows} == {
        -10: [2, 4, 15],
        0: [2, 4, 15],
        10: [10],
        20: [10, 19],
        30: [19],
    }


def test_an_operator_matches_the_events_of_both_inputs_in_a_window() -> None:
    """The rows of `Pairs` are the products of each left and each right number."""
    rows = NUMBERS.run(WindowedQuery(hopping(20, 10), [Computation(Pairs())]))[None]
    assert sorted((row.window.start, row.value) for row in rows) == [
        *((-10, 1 * 7), (-10, 2 * 7)),
        *((0, 1 * 7), (0, 2 * 7)),
        (20, 5 * 9),
    ]


LAWS_OF_INPUTS = {
    name.removeprefix("test_").replace("_", " ") for name in vars(SeveralInputsLaws) if name.startswith("test_")
}


def test_the_laws_of_inputs_are_left_out_for_modules_with_one_input() -> None:
    class Length(Aggregate[int, int]):
        name, version = "demo.length", "1.0.0"

        def compute_result(self, payloads: Sequence[int]) -> int:
            return len(payloads)

    assert not LAWS_OF_INPUTS & set(laws_applying_to(Length()))
    assert not LAWS_OF_INPUTS & {verdict.law for verdict in try_laws(Length())}


def test_the_laws_of_inputs_apply_to_modules_with_several_but_that_of_a_trace_needs_a_state() -> None:
    assert LAWS_OF_INPUTS & set(laws_applying_to(Members())) == LAWS_OF_INPUTS - {"an input leaves no trace"}


def test_a_law_refuses_payloads_of_no_input() -> None:
    a_list_or_a_left: Any = st.integers(0, 1).map(lambda number: Left(number) if number == 0 else [])
    laws = type("TestStrange", (AggregateLaws,), {"module": Members(), "payloads": a_list_or_a_left})()
    with pytest.raises(LawError, match=r"is of no input of the module: left, right"):
        laws.test_inputs_interleave_in_any_way()


def test_the_misfit_of_a_payload_names_the_inputs_or_the_field_of_its_input() -> None:
    inputs = "left: struct<number: integer> or right: struct<number: integer, extra: integer | None>"
    assert misfit(Members.input_field(), 5) == f"it is 5, expected {inputs}"
    assert misfit(Members.input_field(), Left("a")) == ".number is 'a', expected integer"  # type: ignore[arg-type]
    assert misfit(Members.input_field(), Right(4)) is None


# Combinators take payloads of several inputs. `Members` gives twice a left number, twice a right one and one more.

PAYLOADS = [Left(1), Right(2), Right(3, extra=4)]


def test_filtering_keeps_the_inputs_of_a_module() -> None:
    of_odd_numbers = filtering(Members, lambda payload: payload.number % 2 == 1)
    assert [field.name for field in of_odd_numbers.input_fields()] == ["left", "right"]
    assert of_odd_numbers().compute_result(PAYLOADS) == [2, 7]


def test_skipping_nulls_leaves_out_records_of_any_input_that_have_a_null_field() -> None:
    without_nulls = skipping_nulls(Members)
    assert "number: integer | None" in spell(without_nulls.input_field())
    assert without_nulls().compute_result(PAYLOADS) == [2, 7]


class Doubled(Operator[int, int]):
    name, version = "demo.doubled", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        return [2 * payload for payload in payloads]


def number_of(payload: Left | Right) -> int:
    return payload.number


def test_mapping_by_a_function_of_several_records_makes_them_inputs() -> None:
    doubled = mapping(Doubled, number_of)
    assert [field.name for field in doubled.input_fields()] == ["left", "right"]
    assert doubled().compute_result(PAYLOADS) == [2, 4, 6]


def test_all_of_gives_the_payloads_of_all_inputs_to_each_module() -> None:
    composed = all_of(all=Members, kept=KeptMembers)
    assert composed().compute_result(PAYLOADS) == {"all": [2, 5, 7], "kept": [2, 5, 7]}
