"""Result and input types as plain data, derived from the annotations a module writer gives.

The engine turns these descriptions into Spark and Arrow types; the SDK knows neither.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import typing_extensions

from muntin.axis import Instant
from muntin.errors import ModuleDefinitionError
from muntin.type_advice import advice_about


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


_SCALARS: dict[Any, ScalarKind] = {
    bool: ScalarKind.BOOLEAN,
    int: ScalarKind.INTEGER,
    float: ScalarKind.FLOAT,
    str: ScalarKind.STRING,
    bytes: ScalarKind.BINARY,
    Decimal: ScalarKind.DECIMAL,
    date: ScalarKind.DATE,
    datetime: ScalarKind.TIMESTAMP,
    timedelta: ScalarKind.INTERVAL,
}


_BARE: dict[Any, str] = {
    dict: "str, float",
    Mapping: "str, float",
    list: "float",
    tuple: "float, str",
    set: "float",
    frozenset: "float",
    Sequence: "float",
    Iterable: "float",
}
"""The collections, each with an example of what their brackets may hold."""


def describe(annotation: object, name: str = "") -> Field:
    """Return an annotation as a field.

    Understood are bool, int, float, str, bytes, Decimal, date, datetime, timedelta, `muntin.Instant`, lists and
    other sequences, dicts, tuples, dataclasses, named tuples, typed dicts, `Literal`, `X | None`, type variables and
    `Any`.

    Raises:
        ModuleDefinitionError: The annotation has no column type, or holds itself.

    Example:
        >>> describe(float | None)
        Field(name='', type=Scalar(kind=<ScalarKind.FLOAT: 'float'>), is_nullable=True)
    """
    return _describe(annotation, name, ())


def _describe(annotation: object, name: str, within: tuple[type, ...]) -> Field:
    """Return an annotation as a field; `within` are the classes that it is a part of, the outermost first."""
    if isinstance(annotation, typing_extensions.TypeAliasType):
        return _describe(annotation.__value__, name, within)
    if annotation is None or annotation is type(None):
        return Field(name, Variable(""), is_nullable=True)
    if annotation == Instant:
        return Field(name, Scalar(ScalarKind.INSTANT))
    if isinstance(annotation, TypeVar | typing_extensions.TypeVar):
        return Field(name, _variable(annotation))
    if annotation is Any or annotation is object:
        return Field(name, Variable(""), is_nullable=True)
    if isinstance(annotation, type) and annotation in _SCALARS:
        return Field(name, Scalar(_SCALARS[annotation]))
    return _describe_compound(annotation, name, within)


def _variable(annotation: Any) -> Variable:
    bound = annotation.__bound__
    choices = annotation.__constraints__ or ((bound,) if bound in _SCALARS else ())
    return Variable(
        annotation.__name__,
        choices=tuple(map(describe, choices)),
        is_ordered=_defines(bound, "__lt__"),
        is_hashable=_defines(bound, "__hash__"),
    )


def _defines(bound: object, method: str) -> bool:
    """Return True if a class, such as the bound of a type variable, overrides a method of `object`."""
    return isinstance(bound, type) and getattr(bound, method) is not getattr(object, method)


def _describe_compound(annotation: object, name: str, within: tuple[type, ...]) -> Field:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if not arguments and (origin or annotation) in _BARE:
        bare: Any = origin or annotation
        raise ModuleDefinitionError(
            f"{bare.__name__} does not say what it holds\n"
            f"  expected: types in brackets, as in {bare.__name__}[{_BARE[bare]}]; named fields are a dataclass"
        )
    if origin is Annotated:
        return _describe(arguments[0], name, within)
    if origin in (Union, types.UnionType):
        return _describe_union(annotation, arguments, name, within)
    if origin is Literal:
        return _describe_literal(annotation, arguments, name)
    if origin is tuple:
        return Field(name, _struct_of_tuple(annotation, arguments, within))
    struct = _struct_of_class(annotation, origin, arguments, within)  # before lists: a NamedTuple is an iterable too
    if struct is not None:
        return Field(name, struct)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Field(name, MapOf(_describe(arguments[0], "key", within), _describe(arguments[1], "value", within)))
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return Field(name, ListOf(_describe(arguments[0], "element", within)))
    raise ModuleDefinitionError(
        f"{annotation!r} has no column type\n"
        "  expected: bool, int, float, str, bytes, Decimal, date, datetime, timedelta, muntin.Instant, a list,\n"
        "  a dict, a tuple, a dataclass, a NamedTuple or a TypedDict of these, X | None, a type variable or Any"
        f"{advice_about(origin or annotation)}"
    )


def _describe_literal(annotation: object, arguments: tuple[object, ...], name: str) -> Field:
    values = tuple(value for value in arguments if value is not None)
    if len({type(value) for value in values}) != 1 or type(values[0]) not in _SCALARS:
        raise ModuleDefinitionError(
            f"{annotation!r} has no single column type; the values that it names must be of one, and None"
        )
    return Field(name, Scalar(_SCALARS[type(values[0])], values=values), is_nullable=None in arguments)


def _describe_union(annotation: object, arguments: tuple[object, ...], name: str, within: tuple[type, ...]) -> Field:
    some = [argument for argument in arguments if argument is not type(None)]
    if len(some) != 1:
        raise ModuleDefinitionError(
            f"{annotation!r} has no single column type; only X | None is a union a column can hold\n"
            "  what a module reads may also be a union of dataclasses or NamedTuples: a record for each of its inputs"
        )
    return dataclasses.replace(_describe(some[0], name, within), is_nullable=True)


def _struct_of_tuple(annotation: object, arguments: tuple[object, ...], within: tuple[type, ...]) -> DataType:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return ListOf(_describe(arguments[0], "element", within))
    if not arguments:
        raise ModuleDefinitionError(
            f"{annotation!r} does not say what it holds; write tuple[int, str] or tuple[int, ...]"
        )
    fields = tuple(_describe(argument, f"_{place}", within) for place, argument in enumerate(arguments, 1))
    return Struct(fields, lambda **values: tuple(values[field.name] for field in fields))


def _struct_of_class(
    annotation: object, origin: object, arguments: tuple[object, ...], within: tuple[type, ...]
) -> Struct | None:
    cls = origin or annotation
    is_record = dataclasses.is_dataclass(cls) or typing_extensions.is_typeddict(cls) or hasattr(cls, "_fields")
    if not isinstance(cls, type) or not is_record:
        return None
    if cls in within:
        path = " -> ".join(part.__qualname__ for part in (*within[within.index(cls) :], cls))
        raise ModuleDefinitionError(
            f"{cls.__qualname__} holds itself ({path}), and a column's type says how deep its values go\n"
            "  expected: a type of a fixed depth; give parts by id, or as text such as JSON"
        )
    parameters = [parameter.__name__ for parameter in getattr(cls, "__parameters__", ())]
    bound = {name: _describe(argument, "", within) for name, argument in zip(parameters, arguments, strict=False)}
    within, hints = (*within, cls), _hints(cls)
    names = [f.name for f in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else list(hints)
    return Struct(tuple(bind(_describe(hints[name], name, within), bound) for name in names), cls)


def _hints(cls: type) -> dict[str, object]:
    try:
        return get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise ModuleDefinitionError(
            f"the annotations of {cls.__qualname__} cannot be read: {error}\n"
            "  expected: names that are defined at the top of the module of the class"
        ) from error


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
