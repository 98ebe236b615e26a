"""Misspelt attributes, which would have no effect and no error: they are refused, with what was meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from muntin import (
    Aggregate,
    ClipPolicy,
    Event,
    IncrementalAggregate,
    Module,
    Operator,
    OutputContract,
    Window,
    window,
)
from muntin.catalog.named_windows import EXAMPLES
from muntin.definitions.attributes import check_attributes
from muntin.errors import ModuleDefinitionError, ParameterError, UnknownModuleError
from muntin.windows import WindowKind
from muntin.windows.specification import WindowSpecification


class Plain(Aggregate[float, float]):
    name, version = "test.plain", "1.0.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        return sum(payloads)


# an attribute as it is misspelt, its value, and the attribute that was meant
SLIPS: list[tuple[str, object, str]] = [
    ("output_contract", OutputContract.TIME_BOUND, "contract"),
    ("promise", OutputContract.UNRESTRICTED, "contract"),
    ("time_sensitive", True, "is_time_sensitive"),
    ("read_order", True, "reads_order"),
    ("alias", ("total",), "aliases"),
    ("accepted_clip", frozenset({ClipPolicy.FULL}), "accepted_clips"),
    ("decimal_digit", 4, "decimal_digits"),
    ("continue_since", "0.9", "continues_since"),
    ("require_same_code", True, "requires_same_code"),
    ("states_bytes", 16, "state_bytes"),
]


@pytest.mark.parametrize(("attribute", "value", "meant"), SLIPS)
def test_an_attribute_with_nearly_the_name_of_one_that_is_read_is_refused(
    attribute: str, value: object, meant: str
) -> None:
    slip = type("Slip", (Plain,), {attribute: value})
    with pytest.raises(ModuleDefinitionError) as refused:
        slip.check_definition()  # type: ignore[attr-defined]
    message = str(refused.value)
    assert message.startswith(f"test.plain sets {attribute} = ")
    assert f"did you mean {meant}?" in message
    assert f"write {meant} = ..., or rename it" in message


@pytest.mark.parametrize(("attribute", "value"), [(meant, value) for _, value, meant in SLIPS])
def test_the_attribute_that_was_meant_is_accepted(attribute: str, value: object) -> None:
    methods: dict[str, Any] = {}
    if attribute == "is_time_sensitive":
        methods["compute_result"] = lambda self, events, window: 0.0
    type("Mended", (Plain,), {attribute: value, **methods}).check_definition()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("names", ("a", "b")),
        ("api_version", "2"),
        ("operator", "plus"),
        ("need", "a coffee"),
        ("_contract", OutputContract.TIME_BOUND),
        ("limit", 5),
        ("exact", True),
        ("contracts", 3),
    ],
)
def test_attributes_of_ones_own_are_accepted(attribute: str, value: object) -> None:
    type("WithAttribute", (Plain,), {attribute: value}).check_definition()  # type: ignore[attr-defined]


class SlipInOperator(Operator[float, float]):
    name, version = "test.slip_in_operator", "1.0.0"
    is_time_sensitive = True
    output_contract = OutputContract.TIME_BOUND

    def compute_result(self, events: Sequence[Event[float]], window: Window) -> list[float]:
        return []


class SlipInIncremental(IncrementalAggregate[float, float, float]):
    name, version = "test.slip_in_incremental", "1.0.0"
    state_byte = 8

    def create_state(self) -> float:
        return 0.0

    def add_events(self, state: float, payloads: Sequence[float]) -> float:
        return state

    def compute_result(self, state: float) -> float:
        return state


@pytest.mark.parametrize("cls", [SlipInOperator, SlipInIncremental])
def test_a_misspelt_attribute_is_refused_in_other_shapes_of_modules_too(cls: type[Module]) -> None:
    with pytest.raises(ModuleDefinitionError, match="which nothing reads; did you mean"):
        cls.check_definition()


@dataclass(frozen=True, slots=True)
class Visits(WindowKind):
    """A kind of windows with a misspelt attribute: `can_be_time_bound` is meant."""

    name: ClassVar[str] = "shop.visits"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "visits"
    can_be_time_bounds: ClassVar[bool] = True
    gap: int = 5

    def windows_of(self, *_: Any) -> Any: ...


def test_a_misspelt_attribute_is_refused_in_kinds_of_windows_too() -> None:
    with pytest.raises(ModuleDefinitionError, match="did you mean can_be_time_bound"):
        check_attributes(Visits, "shop.visits")


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_example_of_each_kind_makes_windows(name: str) -> None:
    example = EXAMPLES[name].partition(", or ")[0]
    assert isinstance(eval(example, {"window": window}), WindowSpecification)


KINDS_WITH_A_PARAMETER_TO_GIVE = sorted(set(EXAMPLES) - {"between", "snapshot", "global", "unwindowed", "landmark"})


@pytest.mark.parametrize("name", KINDS_WITH_A_PARAMETER_TO_GIVE)
def test_a_misspelt_parameter_of_a_kind_is_answered_with_its_example(name: str) -> None:
    with pytest.raises(ParameterError) as refused:
        window(name, siz=3)
    message = str(refused.value)
    assert f"write for example {EXAMPLES[name]}" in message
    assert "and it has no siz" in message
    assert "'int'" not in message
    assert "-> None" not in message


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("tumbling", "window('hopping', size='10 minutes', hop='10 minutes')"),
        ("sliding", "window('trailing', length='10 minutes')"),
        ("hoping", "did you mean 'hopping'?"),
        ("batches", "did you mean 'batch'?"),
    ],
)
def test_an_unknown_name_of_a_kind_is_answered_with_what_to_write_and_all_kinds(name: str, advice: str) -> None:
    with pytest.raises(UnknownModuleError) as refused:
        window(name, size="10 minutes")
    message = str(refused.value)
    assert message.startswith(f"no window kind is named {name!r}\n")
    assert advice in message
    assert "window kinds: batch, between, calendar, count" in message
    assert "stats.*" not in message
