"""Columns of a query that become the payload of a module: of its input type, or refused."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Generic, NamedTuple, Protocol, TypedDict, TypeVar

import pytest

from muntin import Aggregate, Instant, Module
from muntin.errors import TypeMismatchError
from muntin.schemas import Field, ListOf, MapOf, Struct, describe, spell
from muntin_engine.modules.skipping import SKIPPED
from muntin_engine.plan.input_binding import bind_inputs

T = TypeVar("T")


class SupportsLess(Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


Ordered = TypeVar("Ordered", bound=SupportsLess)
Number = TypeVar("Number", int, float)
Hashed = TypeVar("Hashed", bound=Hashable)
LISTED: Any = list


@dataclass(frozen=True)
class Trip:
    miles: float
    name: str | None
    tolls: int = 0


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Options(TypedDict, total=False):
    low: int
    high: int


@dataclass
class Leg:
    stops: list[Point]
    by_name: dict[str, Point]


class Shown(Aggregate[T, T], Generic[T]):
    """A module of any type that is only asked for its types."""

    name, version = "show.shown", "1.0.0"

    def compute_result(self, payloads: Sequence[T]) -> T:
        return payloads[0]


def reading(annotation: Any) -> type[Module]:
    """Return a module `show.reads` that reads values of a type."""

    class Reads(Aggregate[annotation, int]):
        name, version = "show.reads", "1.0.0"

        def compute_result(self, payloads: Sequence[Any]) -> int:
            return 0

    return Reads


def column(annotation: Any, name: str = "x") -> Field:
    """Return a column, which may be null at any depth."""
    field = describe(annotation, name)
    return Field(name, field.type, is_nullable=True)


def struct(**annotations: Any) -> Field:
    """Return a column `s` that is a struct of fields with these types, each of which may be null."""
    fields = tuple(column(annotation, name) for name, annotation in annotations.items())
    return Field("s", Struct(fields, dict), is_nullable=True)


def payload(annotation: Any, columns: list[Field], row: tuple[Any, ...], places: Sequence[int] | None = None) -> Any:
    """Return the payload that a module which reads values of a type gets of a row.

    Args:
        annotation: The type.
        columns: The columns that the query names for the module.
        row: The values of all columns of the input.
        places: The places of the module's columns in the row; None for the first ones.
    """
    bound = bind_inputs(reading(annotation), columns)
    select = bound.selector(range(len(columns)) if places is None else places)
    return select(row)


A = column(float, "a")
B = column(str, "b")
C = column(int, "c")
X = column(int, "x")
POINT = struct(x=float, y=float)
LEGS = Field(
    "s",
    Struct(
        (
            Field("stops", ListOf(POINT), is_nullable=True),
            Field("by_name", MapOf(column(str), POINT), is_nullable=True),
        ),
        dict,
    ),
    is_nullable=True,
)
HERE = {"x": 1.0, "y": 2.0}
PAYLOADS: list[tuple[Any, list[Field], tuple[Any, ...], Any]] = [
    # what a module reads, the columns, a row of them, and the payload
    (int, [X], (5, 6), 5),
    (Any, [], (5, 6), None),
    (object, [], (), None),
    (Trip, [A, B, C], (1.5, None, 3), Trip(1.5, None, 3)),
    (tuple[float, str | None, int], [A, B, C], (1.5, None, 3), (1.5, None, 3)),
    # fields with a default may be left out
    (Trip, [A, B], (1.5, "a"), Trip(1.5, "a")),
    (Point, [A], (1.5,), Point(1.5)),
    (Options, [X], (3,), {"low": 3}),
    (Options, [X, X], (3, 4), {"low": 3, "high": 4}),
    # a struct fills a record by the names of its fields, and a tuple by place
    (
        Trip,
        [struct(name=str, tolls=int, extra=bool, miles=float)],
        ({"name": "a", "tolls": 2, "extra": True, "miles": 1.5},),
        Trip(1.5, "a", 2),
    ),
    (Trip, [struct(name=str, miles=float)], ({"name": "a", "miles": 1.5},), Trip(1.5, "a")),
    (tuple[int, str], [struct(b=int, a=str)], ({"b": 1, "a": "x"},), (1, "x")),
    # records inside lists and maps, and keys of maps
    (
        Leg,
        [LEGS],
        ({"stops": [HERE], "by_name": [("a", HERE)]},),
        Leg([Point(1.0, 2.0)], {"a": Point(1.0, 2.0)}),
    ),
    (Leg, [LEGS], ({"stops": [HERE, None], "by_name": []},), SKIPPED),
    (Leg, [LEGS], ({"stops": [], "by_name": [("b", None)]},), SKIPPED),
    (Leg | None, [LEGS], (None,), None),
    (
        dict[tuple[int, int], int],
        [Field("m", MapOf(struct(a=int, b=int), X), is_nullable=True)],
        ([({"a": 1, "b": 2}, 3)],),
        {(1, 2): 3},
    ),
]


@pytest.mark.parametrize(("annotation", "columns", "row", "expected"), PAYLOADS)
def test_columns_make_the_payload_that_a_module_reads(
    annotation: Any, columns: list[Field], row: tuple[Any, ...], expected: Any
) -> None:
    assert payload(annotation, columns, row) == expected


def test_the_columns_may_lie_anywhere_in_a_row() -> None:
    assert payload(int, [X], (5, 6), places=[1]) == 6
    assert payload(Trip, [A, B, C], (0, 3, None, 1.5), places=[3, 2, 1]) == Trip(1.5, None, 3)


@pytest.mark.parametrize(
    ("annotation", "narrower_column"),
    [
        (float, column(int)),
        (float, column(Decimal)),
        (Instant, column(int)),
        (list[float], column(list[int])),
        (Any, column(dict[str, int])),
        (dict[str, float], column(dict[str, int])),
    ],
)
def test_a_column_is_read_as_a_wider_type(annotation: Any, narrower_column: Field) -> None:
    assert bind_inputs(reading(annotation), [narrower_column]).reads == (describe(annotation, "input"),)


@pytest.mark.parametrize(
    ("annotation", "columns", "message"),
    [
        (int, [column(float)], r"show\.reads reads integer, but the column x is float"),
        (int, [column(bool)], r"x is boolean \| None\n  cast the column, for example 'CAST\(x AS bigint\)'"),
        (
            int,
            [column(str, "a + b")],
            r"a \+ b is string \| None\n  cast the column, for example with CAST\(\.\.\. AS bigint\)",
        ),
        (int, [column(date)], r"x is date \| None\n  cast the column, or choose another module"),
        (str, [column(date)], r"x is date \| None\n  cast the column, for example 'CAST\(x AS string\)'"),
        (
            float,
            [column(str)],
            r"reads float \(integer or decimal as float\), but the column x is string \| None\n"
            r"  cast the column, for example 'CAST\(x AS double\)', or choose another module",
        ),
        (
            Instant,
            [column(str)],
            r"reads instant \(timestamp or integer as instant\), but the column x is string \| None\n  cast the column",
        ),
        (int, [column(list[int])], "x is list"),
        (list[int], [column(list[str])], "x is list"),
        (Trip, [struct(miles=float)], "s is struct"),
        (tuple[int, int], [struct(a=int, b=int, c=int)], "s is struct"),
        (int, [column(int), column(int)], "takes one column of integer, got 2"),
        (Trip, [column(float)], "takes struct.*, got 1 columns: x float"),
        (Trip, [column(float)] * 4, "got 4 columns"),
        (Trip, [struct(miles=float)], r"\n  name: it reads string \| None, the column has none"),
        (Trip, [struct(miles=str, name=str)], r"\n  miles: it reads float, the column has string \| None"),
        (list[Point], [column(list[Trip])], r"\n  \[\]\.x: it reads float, the column has none"),
        (dict[str, Trip], [column(dict[str, int])], r"\n  value: it reads struct<.*>, the column has integer"),
        (int, [], "reads integer, but the query gives it no column"),
        (
            int | None,
            [],
            r"gives it no column\n  name the column after the module: module\('show\.reads', '<column>'\)",
        ),
        (Trip, [], "gives it no column"),
        # what a type variable may stand for
        (Ordered, [struct(a=int)], "reads values with an order, but the column s is struct"),
        (Ordered, [column(dict[str, int])], "reads values with an order"),
        (Hashed, [column(list[int])], "reads values that can be told apart by a hash, but the column x is list"),
        (
            Number,
            [column(str)],
            r"reads integer or float \(decimal as float\), but the column x is string \| None\n"
            r"  cast the column, for example 'CAST\(x AS double\)', or choose another module",
        ),
        (LISTED[Ordered], [column(list[Trip])], r"\n  \[\]: it reads values with an order, the column has struct"),
    ],
)
def test_columns_that_do_not_fit_the_input_type_are_refused(
    annotation: Any, columns: list[Field], message: str
) -> None:
    with pytest.raises(TypeMismatchError, match=message):
        bind_inputs(reading(annotation), columns)


class Both(Aggregate[tuple[T, T], T], Generic[T]):
    """A module that reads two columns of one type, whatever it is."""

    name, version = "show.both", "1.0.0"

    def compute_result(self, payloads: Sequence[tuple[T, T]]) -> T:
        return payloads[0][0]


def test_a_type_variable_is_bound_by_the_column() -> None:
    assert spell(bind_inputs(Shown, [column(list[int])]).result) == "list[integer]"
    assert spell(bind_inputs(Both, [column(str, "a"), column(str, "b")]).result) == "string"


def test_two_columns_of_one_type_variable_must_be_of_one_type() -> None:
    with pytest.raises(TypeMismatchError, match="reads string, but the column b is integer"):
        bind_inputs(Both, [column(str, "a"), column(int, "b")])


@pytest.mark.parametrize(
    ("variable", "column_type"), [(Ordered, str), (Hashed, bytes), (Number, int), (Number, Decimal)]
)
def test_a_type_variable_takes_a_type_that_meets_its_bound(variable: Any, column_type: type) -> None:
    assert len(bind_inputs(reading(variable), [column(column_type)]).reads) == 1


Real = TypeVar("Real", float, Decimal)


@pytest.mark.parametrize(
    ("column_type", "read", "result"),
    [(int, "float", "float"), (float, "Real", "float"), (Decimal, "Real", "decimal")],
)
def test_a_type_variable_that_may_not_stand_for_the_type_of_a_column_stands_for_a_wider_one(
    column_type: type, read: str, result: str
) -> None:
    class Middle(Aggregate[list[Real | None], Real], Generic[Real]):
        name, version = "show.middle", "1.0.0"

        def compute_result(self, payloads: Sequence[list[Real | None]]) -> Real:
            raise AssertionError

    bound = bind_inputs(Middle, [column(list[column_type])])  # type: ignore[valid-type]
    assert spell(bound.reads[0]) == f"list[{read} | None]"
    assert spell(bound.result) == result


def test_columns_of_one_type_variable_may_be_widened_to_the_same_type() -> None:
    class Pair(NamedTuple, Generic[Real]):
        x: Real
        y: Real

    class Slope(Aggregate[Pair[Real], Real], Generic[Real]):
        name, version = "show.slope", "1.0.0"

        def compute_result(self, payloads: Sequence[Pair[Real]]) -> Real:
            raise AssertionError

    for columns in ([column(int), column(Decimal)], [column(float), column(int)], [struct(x=int, y=float)]):
        assert spell(bind_inputs(Slope, columns).result) == "float"
    with pytest.raises(TypeMismatchError, match="reads float, but the column x is decimal"):
        bind_inputs(Slope, [column(float), column(Decimal)])


def test_a_result_whose_type_variable_no_column_binds_is_refused() -> None:
    class Loose(Aggregate[Any, T], Generic[T]):
        name, version = "show.loose", "1.0.0"

        def compute_result(self, payloads: Sequence[Any]) -> T:
            raise AssertionError

    with pytest.raises(TypeMismatchError, match=r"the result type of show\.loose is not known: T"):
        bind_inputs(Loose, [column(int)])
