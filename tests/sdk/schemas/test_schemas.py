"""Column types derived from annotations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Generic, Literal, NamedTuple, TypedDict

import pytest
from typing_extensions import TypeVar

from muntin import Instant
from muntin.errors import ModuleDefinitionError
from muntin.schemas import Field, ListOf, Scalar, Struct, Variable, bind, describe, spell, variables_in
from tests.naming import spelled

T = TypeVar("T")


@dataclass(frozen=True)
class Trade:
    price: float
    size: int | None


class Place(NamedTuple):
    row: int
    name: str


class Labelled(NamedTuple, Generic[T]):
    label: T
    weight: float


class Colour(Enum):
    RED = "red"


class Options(TypedDict):
    fast: bool


@dataclass(frozen=True)
class Pair(Generic[T]):
    first: T
    rest: list[T]


@pytest.mark.parametrize(
    ("annotation", "column_type"),
    [
        (bool, "boolean"),
        (int, "integer"),
        (float, "float"),
        (str, "string"),
        (bytes, "binary"),
        (Decimal, "decimal"),
        (date, "date"),
        (datetime, "timestamp"),
        (timedelta, "interval"),
        (Instant, "instant"),
        (Instant | None, "instant | None"),
        (float | None, "float | None"),
        (list[int], "list[integer]"),
        (Sequence[float | None], "list[float | None]"),
        (tuple[int, ...], "list[integer]"),
        (set[str], "list[string]"),
        (Labelled[str], "struct<label: string, weight: float>"),
        (dict[str, list[int]], "map[string, list[integer]]"),
        (Mapping[str, float], "map[string, float]"),
        (tuple[int, str], "struct<_1: integer, _2: string>"),
        (Trade, "struct<price: float, size: integer | None>"),
        (Place, "struct<row: integer, name: string>"),
        (Options, "struct<fast: boolean>"),
        (Pair[int], "struct<first: integer, rest: list[integer]>"),
        (Literal["a", "b"], "string"),
        (Literal[1, 2, None], "integer | None"),
        (T, "T"),
        (Any, "any | None"),
        (None, "any | None"),
    ],
    ids=str,
)
def test_an_annotation_has_a_column_type(annotation: Any, column_type: str) -> None:
    assert spell(describe(annotation)) == column_type


@pytest.mark.parametrize(
    "annotation", [list, complex, int | str, tuple, object(), Literal["a", 1], Literal[None], Colour], ids=spelled
)
def test_an_annotation_without_a_column_type_is_refused(annotation: Any) -> None:
    with pytest.raises(ModuleDefinitionError, match=r"has no column type|no single column type|does not say"):
        describe(annotation)


def test_a_literal_has_the_type_of_its_values_which_are_known() -> None:
    literal_type = describe(Literal["a", "b"]).type
    assert literal_type == describe(str).type
    assert isinstance(literal_type, Scalar)
    assert literal_type.values == ("a", "b")


def test_a_class_whose_annotations_cannot_be_read_is_refused_by_name() -> None:
    @dataclass
    class Lost:
        where: Nowhere  # type: ignore[name-defined]  # noqa: F821

    @dataclass
    class Misspelt:
        where: math.Nowhere  # type: ignore[name-defined]

    with pytest.raises(ModuleDefinitionError, match=r"the annotations of .*Lost cannot be read: name 'Nowhere'"):
        describe(Lost)
    with pytest.raises(ModuleDefinitionError, match=r"the annotations of .*Misspelt cannot be read: module 'math'"):
        describe(Misspelt)


@pytest.mark.parametrize(
    ("annotation", "values", "expected"),
    [
        (Trade, {"price": 1.5, "size": 2}, Trade(1.5, 2)),
        (Place, {"row": 1, "name": "a"}, Place(1, "a")),
        (Options, {"fast": True}, {"fast": True}),
        (tuple[int, str], {"_2": "a", "_1": 1}, (1, "a")),
    ],
    ids=spelled,
)
def test_a_struct_makes_records_of_the_class_that_the_writer_declared(
    annotation: Any, values: dict[str, Any], expected: Any
) -> None:
    struct = describe(annotation).type
    assert isinstance(struct, Struct)
    assert struct.make(**values) == expected


@dataclass(frozen=True)
class Node:
    value: int
    rest: list[Node] | None


@dataclass(frozen=True)
class Tree(Generic[T]):
    value: T
    parts: tuple[Branch, ...]


class Branch(NamedTuple):
    tree: Mapping[str, Tree[int]]


@pytest.mark.parametrize(
    ("annotation", "path"),
    [(Node, "Node -> Node"), (list[Node], "Node -> Node"), (Tree[int], "Tree -> Branch -> Tree")],
)
def test_a_type_that_holds_itself_is_refused_with_the_classes_in_between(annotation: Any, path: str) -> None:
    with pytest.raises(ModuleDefinitionError, match=rf"holds itself \({path}\).*\n  expected: a type of a fixed depth"):
        describe(annotation)


def test_a_generic_class_with_itself_as_an_argument_does_not_hold_itself() -> None:
    pair = "struct<first: integer, rest: list[integer]>"
    assert spell(describe(Pair[Pair[int]])) == f"struct<first: {pair}, rest: list[{pair}]>"


def test_type_variables_are_bound_wherever_they_stand() -> None:
    field = describe(dict[str, list[T]])  # type: ignore[valid-type]  # it is data here
    bound = bind(field, {"T": describe(float | None)})
    assert variables_in(field) == {"T"}
    assert variables_in(bound) == frozenset()
    assert spell(bound) == "map[string, list[float | None]]"


def test_a_type_variable_without_a_binding_stays() -> None:
    annotation: Any = list[T]  # type: ignore[valid-type]  # it is data here
    assert bind(describe(annotation), variables={}).type == ListOf(Field("element", Variable("T")))
