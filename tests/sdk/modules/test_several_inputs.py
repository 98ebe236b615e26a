"""Modules that read several inputs: a record for each, its name, laws, and windows in which an input is silent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

import pytest
from typing_extensions import TypeAliasType

from muntin import Aggregate, ColumnarAggregate, IncrementalAggregate, Operator, hopping
from muntin.errors import ModuleDefinitionError
from muntin.modules.declared_types import describe_input
from muntin.schemas import describe, spell
from muntin.testing import AggregateLaws, Computation, LawError, Script, WindowedQuery, laws_applying_to, try_laws
from muntin.testing.fitting import misfit
from muntin.testing.laws.module_laws import SeveralInputsLaws
from muntin_adapters.combinators import all_of, filtering, mapping, skipping_nulls
from tests.modules.several_inputs import Both, KeptMembers, Left, Members, Pairs, Right

LAWS = [name for name in vars(SeveralInputsLaws) if name.startswith("test_")]
V = TypeVar("V")


@dataclass(frozen=True)
class HTTPRequest(Generic[V]):
    seconds: V


class PageView2(NamedTuple):
    page: str


@dataclass(frozen=True)
class _Done:
    """An input of which only the events count."""


def test_an_input_has_the_name_of_its_record_in_lower_case() -> None:
    class Views(Aggregate[HTTPRequest[float] | PageView2 | _Done, int]):
        name, version = "demo.views", "1.0.0"

        def compute_result(self, payloads: Sequence[object]) -> int:
            return len(payloads)

    Views.check_definition()
    assert [part.name for part in Views.input_fields()] == ["http_request", "page_view2", "done"]
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
def test_inputs_are_records_that_tell_which_one_they_are(payload: Any, message: str) -> None:
    reads = type("Reads", (Members,), {"_types": classmethod(lambda cls: {"input": payload, "result": int})})
    with pytest.raises(ModuleDefinitionError, match=message):
        reads.check_definition()  # type: ignore[attr-defined]


def test_two_inputs_have_two_names() -> None:
    namesake: Any = type("left", (), {"__annotations__": {"a": int}})
    reads = type(
        "Reads", (Members,), {"_types": classmethod(lambda cls: {"input": Left | dataclass(namesake), "result": int})}
    )
    with pytest.raises(ModuleDefinitionError, match=r"has two inputs named left\n  .*rename one of the classes"):
        reads.check_definition()  # type: ignore[attr-defined]


def test_an_input_has_no_name_of_a_parameter() -> None:
    class Above(Members):
        def __init__(self, left: int) -> None:
            self.left = left

    with pytest.raises(ModuleDefinitionError, match=r"both\.members has an input and a parameter named left"):
        Above.check_definition()


def test_a_result_and_arrays_are_of_one_type() -> None:
    class Returns(Aggregate[Both, Both]):
        name, version = "demo.returns", "1.0.0"

        def compute_result(self, payloads: Sequence[Both]) -> Both:
            return payloads[0]

    class OnArrays(ColumnarAggregate[Both, int]):
        name, version = "demo.on_arrays", "1.0.0"

        def components(self) -> Any:
            return {}

        def lift(self, payloads: Any) -> Any:
            return {}

        def compute_results(self, components: Any) -> Any:
            return 0

    with pytest.raises(ModuleDefinitionError, match="has no single column type"):
        Returns.check_definition()
    with pytest.raises(ModuleDefinitionError, match=r"demo\.on_arrays reads 2 inputs, and arrays are of one"):
        OnArrays.check_definition()


def test_a_window_has_the_events_of_each_input_and_an_input_may_be_silent() -> None:
    # left    1 2         5
    # right     7               9
    #       0     10    20    30    40
    script = Script().point("a", 1, Left(1)).point("b", 8, Left(2)).point("c", 8, Right(7))
    script = script.point("d", 21, Left(5)).point("e", 35, Right(9)).close()
    for module in (Members(), KeptMembers()):
        rows = script.run(WindowedQuery(hopping(20, 10), [Computation(module)]))[None]
        assert {row.window.start: row.value[0] for row in rows} == {
            -10: [2, 4, 15],
            0: [2, 4, 15],
            10: [10],
            20: [10, 19],
            30: [19],
        }
    pairs = script.run(WindowedQuery(hopping(20, 10), [Computation(Pairs())]))[None]
    assert sorted((row.window.start, row.value) for row in pairs) == [(-10, 7), (-10, 14), (0, 7), (0, 14), (20, 45)]


def test_modules_with_one_input_do_not_have_these_laws() -> None:
    class Length(Aggregate[int, int]):
        name, version = "demo.length", "1.0.0"

        def compute_result(self, payloads: Sequence[int]) -> int:
            return len(payloads)

    names = {law.removeprefix("test_").replace("_", " ") for law in LAWS}
    assert not names & {verdict.law for verdict in try_laws(Length())}
    assert not names & set(laws_applying_to(Length()))
    assert names & set(laws_applying_to(Members())) == names - {"an input leaves no trace"}


def test_payloads_of_no_input_are_told() -> None:
    laws = type("TestStrange", (AggregateLaws,), {"module": Members(), "payloads": _numbers()})
    with pytest.raises(LawError, match=r"is of no input of the module: left, right"):
        laws().test_inputs_interleave_in_any_way()
    assert misfit(Members.input_field(), 5) == "it is 5, expected left: struct<number: integer> or right: " + (
        "struct<number: integer, extra: integer | None>"
    )
    assert misfit(Members.input_field(), Left("a")) == ".number is 'a', expected integer"  # type: ignore[arg-type]
    assert misfit(Members.input_field(), Right(4)) is None


def _numbers() -> Any:
    from hypothesis import strategies as st

    return st.integers(0, 1).map(lambda number: KeptMembers.create_state(KeptMembers()) if number else Left(number))


class Doubled(Operator[int, int]):
    name, version = "demo.doubled", "1.0.0"

    def compute_result(self, payloads: Sequence[int]) -> list[int]:
        return [2 * payload for payload in payloads]


def number_of(payload: Left | Right) -> int:
    return payload.number


def test_combinators_take_payloads_of_several_inputs() -> None:
    payloads = [Left(1), Right(2), Right(3, 4)]
    odd = filtering(Members, lambda payload: payload.number % 2 == 1)
    assert [part.name for part in odd.input_fields()] == ["left", "right"]
    assert odd().compute_result(payloads) == [2, 7]
    present = skipping_nulls(Members)
    assert "number: integer | None" in spell(present.input_field())
    assert present().compute_result(payloads) == [2, 7], "an extra that is null counts as null"
    doubled = mapping(Doubled, number_of)
    assert [part.name for part in doubled.input_fields()] == ["left", "right"]
    assert doubled().compute_result(payloads) == [2, 4, 6]
    composed = all_of(all=Members, kept=KeptMembers)
    assert composed().compute_result(payloads) == {"all": [2, 5, 7], "kept": [2, 5, 7]}
    assert issubclass(Pairs, Operator)
    assert issubclass(KeptMembers, IncrementalAggregate)
