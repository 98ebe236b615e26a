"""Fields from the annotations that a module writer gives."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import typing_extensions

from muntin.axis import Instant
from muntin.errors import ModuleDefinitionError
from muntin.schemas.fields import DataType, Field, ListOf, MapOf, Scalar, ScalarKind, Struct, Variable, bind
from muntin.schemas.type_advice import advice_about

_SCALARS: Final[dict[Any, ScalarKind]] = {
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


_BARE: Final[dict[Any, str]] = {
    dict: "str, float",
    Mapping: "str, float",
    list: "float",
    tuple: "float, str",
    set: "float",
    frozenset: "float",
    Sequence: "float",
    Iterable: "float",
}
"""Collections whose annotation needs types in brackets, each with an example of these."""


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
    return _describe(annotation, name, within=())


def _describe(annotation: object, name: str, within: tuple[type, ...]) -> Field:
    """Return an annotation as a field; `within` are the classes that it is a part of, the outermost first."""
    if isinstance(annotation, typing_extensions.TypeAliasType):
        return _describe(annotation.__value__, name, within)
    if annotation is None or annotation is type(None):
        return Field(name, Variable(""), is_nullable=True)  # a column of any type can hold nulls
    # An instant is an integer with a note in `Annotated`, so it has to be recognized before the note is taken off.
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
    """Return a type variable with the requirements that its bound or its constraints make of a column."""
    bound = annotation.__bound__
    choices = annotation.__constraints__
    if not choices and bound in _SCALARS:
        # A bound that is a column type, such as float, is the only choice.
        choices = (bound,)
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
    """Return the field of an annotation that is made of others: a union, a literal, a record, a list or a map.

    Args:
        annotation: The annotation.
        name: The name of the field.
        within: The classes that the annotation is a part of, the outermost first.

    Raises:
        ModuleDefinitionError: No column has such a type.
    """
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    collection: Any = origin or annotation
    if not arguments and collection in _BARE:
        raise ModuleDefinitionError(
            f"{collection.__name__} does not say what it holds\n"
            f"  expected: types in brackets, as in {collection.__name__}[{_BARE[collection]}]; "
            "named fields are a dataclass"
        )
    if origin is Annotated:
        return _describe(arguments[0], name, within)
    if origin in (Union, types.UnionType):
        return _describe_union(annotation, arguments, name, within)
    if origin is Literal:
        return _describe_literal(annotation, arguments, name)
    if origin is tuple:
        return Field(name, _struct_of_tuple(annotation, arguments, within))
    # Records are tried before lists and maps: a NamedTuple is an iterable, and a TypedDict a mapping.
    struct = _struct_of_class(annotation, origin, arguments, within)
    if struct is not None:
        return Field(name, struct)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key = _describe(arguments[0], "key", within)
        value = _describe(arguments[1], "value", within)
        return Field(name, MapOf(key, value))
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return Field(name, ListOf(_describe(arguments[0], "element", within)))
    raise ModuleDefinitionError(
        f"{annotation!r} has no column type\n"
        "  expected: bool, int, float, str, bytes, Decimal, date, datetime, timedelta, muntin.Instant, a list,\n"
        "  a dict, a tuple, a dataclass, a NamedTuple or a TypedDict of these, X | None, a type variable or Any"
        f"{advice_about(origin or annotation)}"
    )


def _describe_literal(annotation: object, arguments: tuple[object, ...], name: str) -> Field:
    """Return the field of a `Literal`, whose values besides None are all of one type."""
    values = tuple(value for value in arguments if value is not None)
    if len({type(value) for value in values}) != 1 or type(values[0]) not in _SCALARS:
        raise ModuleDefinitionError(
            f"{annotation!r} has no single column type; the values that it names must be of one, and None"
        )
    return Field(name, Scalar(_SCALARS[type(values[0])], values=values), is_nullable=None in arguments)


def _describe_union(annotation: object, arguments: tuple[object, ...], name: str, within: tuple[type, ...]) -> Field:
    """Return the field of `X | None`, the only union that a column can hold."""
    types_besides_none = [argument for argument in arguments if argument is not type(None)]
    if len(types_besides_none) != 1:
        raise ModuleDefinitionError(
            f"{annotation!r} has no single column type; only X | None is a union a column can hold\n"
            "  what a module reads may also be a union of dataclasses or NamedTuples: a record for each of its inputs"
        )
    return dataclasses.replace(_describe(types_besides_none[0], name, within), is_nullable=True)


def _struct_of_tuple(annotation: object, arguments: tuple[object, ...], within: tuple[type, ...]) -> DataType:
    """Return the type of a tuple: a list for `tuple[X, ...]`, for any other a struct with the fields `_1`, `_2` ...

    Args:
        annotation: The annotation, for messages.
        arguments: The types in its brackets.
        within: The classes that the annotation is a part of, the outermost first.
    """
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return ListOf(_describe(arguments[0], "element", within))
    if not arguments:
        raise ModuleDefinitionError(
            f"{annotation!r} does not say what it holds; write tuple[int, str] or tuple[int, ...]"
        )
    fields = tuple(_describe(argument, f"_{number}", within) for number, argument in enumerate(arguments, start=1))
    # A payload is made from the values of its fields by name, in any order.
    return Struct(fields, lambda **values: tuple(values[field.name] for field in fields))


def _struct_of_class(
    annotation: object, origin: object, arguments: tuple[object, ...], within: tuple[type, ...]
) -> Struct | None:
    """Return the struct of a dataclass, a named tuple or a typed dict; None for any other annotation.

    Args:
        annotation: The annotation.
        origin: The class of a generic annotation, such as `Reading` of `Reading[float]`; None for any other.
        arguments: The types in the brackets of a generic annotation.
        within: The classes that the annotation is a part of, the outermost first.

    Raises:
        ModuleDefinitionError: The class holds itself, or the annotations of its fields cannot be read.
    """
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

    # The types that stand for the type variables of a generic class, such as float in Reading[float].
    parameters = [parameter.__name__ for parameter in getattr(cls, "__parameters__", ())]
    arguments_by_name: dict[str, Field] = {}
    for name, argument in zip(parameters, arguments, strict=False):
        arguments_by_name[name] = _describe(argument, "", within)

    hints = _hints(cls)
    # The annotations of a dataclass include those of class variables, which are not fields.
    names = [part.name for part in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else list(hints)
    fields: list[Field] = []
    for name in names:
        field = _describe(hints[name], name, (*within, cls))
        fields.append(bind(field, arguments_by_name))
    return Struct(tuple(fields), cls)


def _hints(cls: type) -> dict[str, object]:
    """Return the annotations of the fields of a record, by name.

    Raises:
        ModuleDefinitionError: An annotation cannot be evaluated, or is no type.
    """
    try:
        return get_type_hints(cls, include_extras=True)
    except Exception as error:  # evaluating an annotation may raise any exception
        raise ModuleDefinitionError(
            f"the annotations of {cls.__qualname__} cannot be read: {error}\n"
            "  expected: names that are defined at the top of the module of the class"
        ) from error
