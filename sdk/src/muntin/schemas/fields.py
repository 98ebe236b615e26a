"""Types of payloads, results and states as plain data: the name of each field, and the type of its values.

The engine turns these descriptions into Spark and Arrow types; the SDK knows neither.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias, cast


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


class Growth(NamedTuple):
    """The extra digits of the decimals that a module computes from a decimal column.

    Attributes:
        digits: The number of extra digits.
        places: The number of these that come after the decimal point.
    """

    digits: int
    places: int


class _DataType:
    """A type that a column can have; the methods are right for a type without parts."""

    __slots__ = ()

    @property
    def parts(self) -> tuple[Field, ...]:
        """The fields that the type is made of."""
        return ()

    def with_parts(self, change: Callable[[Field], Field]) -> DataType:
        """Return the type with each of its parts changed; without parts, the type itself."""
        return cast("DataType", self)

    def grown(self, growth: Growth) -> DataType:
        """Return the type of results that may have so many more digits than values of this type."""
        return self.with_parts(lambda part: growing(part, growth))

    def spell(self) -> str:
        """Return the type in the words of an error message."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Scalar(_DataType):
    """One value of a kind.

    Attributes:
        kind: The kind.
        values: The only values that a `Literal` allows, which the type of a column does not say; empty if all values
            are allowed.
    """

    kind: ScalarKind
    values: tuple[Any, ...] = dataclasses.field(default=(), compare=False, repr=False, kw_only=True)

    def grown(self, growth: Growth) -> Scalar:
        """Return the type of results computed from such values: a float, if an integer gets decimal places."""
        if self.kind is ScalarKind.INTEGER and growth.places:
            return Scalar(ScalarKind.FLOAT)
        return self  # the digits of decimals are known to the engine, which has a type of its own for them

    def spell(self) -> str:
        """Return the type in the words of an error message."""
        return str(self.kind)


@dataclass(frozen=True, slots=True)
class ListOf(_DataType):
    """A list whose elements have one type."""

    element: Field

    @property
    def parts(self) -> tuple[Field, ...]:
        """The element."""
        return (self.element,)

    def with_parts(self, change: Callable[[Field], Field]) -> ListOf:
        """Return a list of changed elements."""
        return ListOf(change(self.element))

    def spell(self) -> str:
        """Return the type in the words of an error message."""
        return f"list[{spell(self.element)}]"


@dataclass(frozen=True, slots=True)
class MapOf(_DataType):
    """A mapping from one type to another."""

    key: Field
    value: Field

    @property
    def parts(self) -> tuple[Field, ...]:
        """The key and the value."""
        return (self.key, self.value)

    def with_parts(self, change: Callable[[Field], Field]) -> MapOf:
        """Return a map from a changed key to a changed value."""
        return MapOf(change(self.key), change(self.value))

    def grown(self, growth: Growth) -> MapOf:
        """Return the type of a map whose values have so many more digits; keys stay as they are."""
        # A key that does not fit its type would end the query.
        return MapOf(self.key, growing(self.value, growth))

    def spell(self) -> str:
        """Return the type in the words of an error message."""
        return f"map[{spell(self.key)}, {spell(self.value)}]"


@dataclass(frozen=True, slots=True)
class Struct(_DataType):
    """Named fields in order.

    Attributes:
        fields: The fields.
        make: The function from the values of the fields, by keyword, to a payload: mostly the writer's own class.
    """

    fields: tuple[Field, ...]
    make: Callable[..., Any] = dataclasses.field(compare=False)

    @property
    def parts(self) -> tuple[Field, ...]:
        """The fields."""
        return self.fields

    def with_parts(self, change: Callable[[Field], Field]) -> Struct:
        """Return a struct of changed fields, which makes payloads of the same class."""
        return Struct(tuple(map(change, self.fields)), self.make)

    def spell(self) -> str:
        """Return the type in the words of an error message."""
        spelled_fields = [f"{part.name}: {spell(part)}" for part in self.fields]
        return f"struct<{', '.join(spelled_fields)}>"


@dataclass(frozen=True, slots=True)
class Variable(_DataType):
    """A type that the query binds: a type variable, or `Any` where `name` is empty.

    Attributes:
        name: The name of the type variable; empty for `Any`.
        choices: The types to which the variable may be bound, if it has constraints; empty if there are none.
        is_ordered: True if the values must have an order, because the variable's bound is a class with `__lt__`.
        is_hashable: True if the values must be hashable, because the bound is `collections.abc.Hashable` or a like one.
        growth: The extra digits of a result over the type to which the variable is bound; None if it is not known.
    """

    name: str
    choices: tuple[Field, ...] = dataclasses.field(default=(), compare=False, repr=False, kw_only=True)
    is_ordered: bool = dataclasses.field(default=False, compare=False, repr=False, kw_only=True)
    is_hashable: bool = dataclasses.field(default=False, compare=False, repr=False, kw_only=True)
    growth: Growth | None = dataclasses.field(default=None, compare=False, repr=False, kw_only=True)

    def grown(self, growth: Growth) -> Variable:
        """Return the variable with a note of the growth, for when the variable is bound."""
        return dataclasses.replace(self, growth=growth)

    def spell(self) -> str:
        """Return the type in the words of an error message."""
        return self.name or "any"


@dataclass(frozen=True, slots=True)
class OneOf(_DataType):
    """A payload of one of several inputs, each with a record of its own. Only a module's input has this type.

    Attributes:
        inputs: The inputs by name, each a `Struct` whose `make` is the class of its payloads.
    """

    inputs: tuple[Field, ...]

    @property
    def parts(self) -> tuple[Field, ...]:
        """The inputs."""
        return self.inputs

    def with_parts(self, change: Callable[[Field], Field]) -> OneOf:
        """Return the type with changed inputs."""
        return OneOf(tuple(map(change, self.inputs)))

    def spell(self) -> str:
        """Return the type in the words of an error message."""
        return " or ".join(f"{part.name}: {spell(part)}" for part in self.inputs)

    def input_of(self, payload: object) -> Field | None:
        """Return the input to which a payload belongs by its class; None if there is none."""
        for part in self.inputs:
            # An input is a record, whose values are made by its class: `Struct.make` is that class.
            if type(payload) is getattr(part.type, "make", None):
                return part
        return None


DataType: TypeAlias = Scalar | ListOf | MapOf | Struct | Variable | OneOf


@dataclass(frozen=True, slots=True)
class Field:
    """A type with a name, and if its values may be null."""

    name: str
    type: DataType
    is_nullable: bool = False


def bind(field: Field, variables: Mapping[str, Field]) -> Field:
    """Return a field with its type variables replaced by types; variables that are not bound stay as they are.

    Args:
        field: The field.
        variables: The fields to whose types the variables are bound, by the names of the variables.

    Example:
        >>> from typing import TypeVar
        >>> from muntin.schemas import describe
        >>> text = describe(str)
        >>> bind(describe(TypeVar("T"), "first"), {"T": text}).type
        Scalar(kind=<ScalarKind.STRING: 'string'>)
    """
    variable = field.type
    if not isinstance(variable, Variable):
        bound_type = field.type.with_parts(lambda part: bind(part, variables))
        return dataclasses.replace(field, type=bound_type)
    column = variables.get(variable.name)
    if column is None:
        return field
    data_type = column.type
    if variable.growth is not None:
        # The digits of a result could not be known before the type of the column was.
        data_type = data_type.grown(variable.growth)
    return Field(field.name, data_type, field.is_nullable or column.is_nullable)


def growing(field: Field, growth: Growth) -> Field:
    """Return the field of results that may have so many more digits than the values they are computed from."""
    return dataclasses.replace(field, type=field.type.grown(growth))


def variables_in(field: Field) -> frozenset[str]:
    """Return the names of the type variables a field still has; `Any` counts as the empty name."""
    if isinstance(field.type, Variable):
        return frozenset({field.type.name})
    return frozenset().union(*map(variables_in, field.type.parts))


def spell(field: Field) -> str:
    """Return a field's type in the words of an error message.

    Example:
        >>> from muntin.schemas import describe
        >>> spell(describe(list[float | None]))
        'list[float | None]'
    """
    return field.type.spell() + (" | None" if field.is_nullable else "")
