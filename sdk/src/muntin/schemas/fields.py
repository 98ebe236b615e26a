"""Types of payloads, results and states as plain data: what a column is called, and what it holds.

The engine turns these descriptions into Spark and Arrow types; the SDK knows neither.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias


class ScalarKind(StrEnum):
    """The single-valued types a column can have."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    FLOAT = "float"
    STRING = "string"
    BINARY = "binary"
    DECIMAL = "decimal"
    DATE = "date"
    TIMESTAMP = "timestamp"
    INTERVAL = "interval"
    INSTANT = "instant"


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value of a kind; where a `Literal` names them, one of some values, of which a column does not know."""

    kind: ScalarKind
    values: tuple[Any, ...] = dataclasses.field(default=(), compare=False, repr=False, kw_only=True)

    def grown(self, growth: Growth) -> Scalar:
        """Return the type of results computed from such values: a float, where a whole number gets decimal places."""
        return Scalar(ScalarKind.FLOAT) if self.kind is ScalarKind.INTEGER and growth.places else self


class Growth(NamedTuple):
    """The extra digits of the decimals that a module computes from a decimal column.

    Attributes:
        digits: The number of extra digits.
        places: The number of these that come after the decimal point.
    """

    digits: int
    places: int


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose elements have one type."""

    element: Field


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping from one type to another."""

    key: Field
    value: Field


@dataclass(frozen=True, slots=True)
class Struct:
    """Named fields in order; `make` builds the writer's own class from keyword arguments."""

    fields: tuple[Field, ...]
    make: Callable[..., Any] = dataclasses.field(compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """Whatever the query binds: a type variable, or `Any` where `name` is empty.

    Attributes:
        name: Its name.
        choices: The types of which it may be one, where the type variable has constraints.
        is_ordered: True if its values must have an order, as where the type variable is bound to a class with `__lt__`.
        is_hashable: True if they must be hashable, as where it is bound to `collections.abc.Hashable`.
        growth: In a result: the extra digits over the type that the variable is bound to; None if unknown.
    """

    name: str
    choices: tuple[Field, ...] = dataclasses.field(default=(), compare=False, repr=False, kw_only=True)
    is_ordered: bool = dataclasses.field(default=False, compare=False, repr=False, kw_only=True)
    is_hashable: bool = dataclasses.field(default=False, compare=False, repr=False, kw_only=True)
    growth: Growth | None = dataclasses.field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class OneOf:
    """A payload of one of several inputs, each with a record of its own; only the input of a module is so.

    Attributes:
        inputs: The inputs by name, each a `Struct` whose `make` is the class of its payloads.
    """

    inputs: tuple[Field, ...]

    def input_of(self, payload: object) -> Field | None:
        """Return the input that a payload is of, by its class; None if it is of none."""
        return next((part for part in self.inputs if type(payload) is getattr(part.type, "make", None)), None)


DataType: TypeAlias = Scalar | ListOf | MapOf | Struct | Variable | OneOf


@dataclass(frozen=True, slots=True)
class Field:
    """A named, possibly null value of a type."""

    name: str
    type: DataType
    is_nullable: bool = False


def bind(field: Field, variables: Mapping[str, Field]) -> Field:
    """Return a field with its type variables replaced by what the query binds them to.

    Variables that are not bound stay as they are.

    Example:
        >>> text = describe(str)
        >>> bind(describe(TypeVar("T"), "first"), {"T": text}).type
        Scalar(kind=<ScalarKind.STRING: 'string'>)
    """
    data_type = field.type
    if isinstance(data_type, Variable):
        bound = variables.get(data_type.name)
        if bound is None:
            return field
        found = bound if data_type.growth is None else growing(bound, data_type.growth)
        return Field(field.name, found.type, field.is_nullable or bound.is_nullable)
    return _with_parts(field, lambda part: bind(part, variables))


def growing(field: Field, growth: Growth) -> Field:
    """Return the type of results that are so much larger than the values they are computed from.

    The keys of a map keep the room they have: one that did not fit would end the query.
    """
    data_type = field.type
    if isinstance(data_type, Scalar):
        return dataclasses.replace(field, type=data_type.grown(growth))
    if isinstance(data_type, Variable):
        return dataclasses.replace(field, type=dataclasses.replace(data_type, growth=growth))
    if isinstance(data_type, MapOf):
        return dataclasses.replace(field, type=MapOf(data_type.key, growing(data_type.value, growth)))
    return _with_parts(field, lambda part: growing(part, growth))


def _with_parts(field: Field, change: Callable[[Field], Field]) -> Field:
    """Return a type with its parts changed."""
    data_type = field.type
    if isinstance(data_type, ListOf):
        data_type = ListOf(change(data_type.element))
    elif isinstance(data_type, MapOf):
        data_type = MapOf(change(data_type.key), change(data_type.value))
    elif isinstance(data_type, Struct):
        data_type = Struct(tuple(map(change, data_type.fields)), data_type.make)
    elif isinstance(data_type, OneOf):
        data_type = OneOf(tuple(map(change, data_type.inputs)))
    return dataclasses.replace(field, type=data_type)


def variables_in(field: Field) -> frozenset[str]:
    """Return the names of the type variables a field still has; `Any` counts as the empty name."""
    data_type = field.type
    if isinstance(data_type, Variable):
        return frozenset({data_type.name})
    return frozenset().union(*(variables_in(part) for part in _parts(data_type)))


def _parts(data_type: DataType) -> Sequence[Field]:
    if isinstance(data_type, ListOf):
        return (data_type.element,)
    if isinstance(data_type, MapOf):
        return (data_type.key, data_type.value)
    if isinstance(data_type, OneOf):
        return data_type.inputs
    return data_type.fields if isinstance(data_type, Struct) else ()


def spell(field: Field) -> str:
    """Return a field's type as a reader of an error message wants it.

    Example:
        >>> spell(describe(list[float | None]))
        'list[float | None]'
    """
    return _spell_type(field.type) + (" | None" if field.is_nullable else "")


def _spell_type(data_type: DataType) -> str:
    if isinstance(data_type, Scalar):
        return str(data_type.kind)
    if isinstance(data_type, Variable):
        return data_type.name or "any"
    if isinstance(data_type, ListOf):
        return f"list[{spell(data_type.element)}]"
    if isinstance(data_type, MapOf):
        return f"map[{spell(data_type.key)}, {spell(data_type.value)}]"
    if isinstance(data_type, OneOf):
        return " or ".join(f"{part.name}: {spell(part)}" for part in data_type.inputs)
    return "struct<" + ", ".join(f"{part.name}: {spell(part)}" for part in data_type.fields) + ">"
