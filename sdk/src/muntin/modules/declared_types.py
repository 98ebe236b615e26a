"""The types that a module class declares in brackets: its inputs, its state, its result."""

from __future__ import annotations

import dataclasses
import re
import types
from typing import Any, Final, Union, get_args, get_origin

from typing_extensions import TypeAliasType

from muntin.errors import ModuleDefinitionError
from muntin.schemas import Field, OneOf, describe


def type_arguments(cls: type, root: type) -> dict[str, object]:
    """Return the types that a module class binds to the roles of its base class.

    A base class lists its roles in `_roles`, in the order of its type parameters. Classes in between may pass
    their own type variables on.
    """
    found = _find(cls, root, {})
    if found is None:
        raise ModuleDefinitionError(
            f"{cls.__qualname__} does not say its types\n"
            "  expected: a subclass of, for example, muntin.Aggregate[float, float], with types in brackets"
        )
    return found


def _find(cls: type, root: type, bound: dict[object, object]) -> dict[str, object] | None:
    for base in vars(cls).get("__orig_bases__", cls.__bases__):
        origin = get_origin(base) or base
        if not (isinstance(origin, type) and issubclass(origin, root)):
            continue
        arguments = tuple(_bind(argument, bound) for argument in get_args(base))
        if "_roles" in vars(origin):
            return dict(zip(vars(origin)["_roles"], arguments, strict=True)) if arguments else None
        found = _find(origin, root, dict(zip(getattr(origin, "__parameters__", ()), arguments, strict=False)))
        if found is not None:
            return found
    return None


def _bind(argument: Any, bound: dict[Any, Any]) -> object:
    """Return a type argument with type variables replaced, also those inside it, as in `list[T]`."""
    parameters = getattr(argument, "__parameters__", ())
    inside = tuple(bound.get(parameter, parameter) for parameter in parameters)
    return argument[inside] if parameters else bound.get(argument, argument)


_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""The places between the words of a class's name."""


def describe_input(annotation: object, name: str = "") -> Field:
    """Return the input of a module as a field: as `describe`, or one of several inputs for a union of records.

    The name of an input is that of its record's class, in lower case, with underscores between words.

    Example:
        >>> from typing import NamedTuple
        >>> from muntin.schemas import spell
        >>> class Order(NamedTuple):
        ...     amount: float
        >>> class CardPayment(NamedTuple):
        ...     amount: float
        >>> spell(describe_input(Order | CardPayment))
        'order: struct<amount: float> or card_payment: struct<amount: float>'
    """
    if isinstance(annotation, TypeAliasType):
        return describe_input(annotation.__value__, name)
    several = _records_of(annotation)
    if not several:
        return describe(annotation, name)
    classes = [(get_origin(record) or record).__name__ for record in several]
    names = [_WORD.sub("_", name).strip("_").lower() for name in classes]
    if len(set(names)) < len(names):
        raise ModuleDefinitionError(
            f"{annotation!r} has two inputs named {next(part for part in names if names.count(part) > 1)}\n"
            "  an input has the name of its record's class in lower case; rename one of the classes"
        )
    return Field(name, OneOf(tuple(map(describe, several, names))))


def _records_of(annotation: object) -> tuple[Any, ...]:
    """Return the records of which an annotation is a union; nothing if it is anything else.

    Typed dicts are no such records, as a dict does not say which one it is.
    """
    if get_origin(annotation) not in (Union, types.UnionType):
        return ()
    some = get_args(annotation)
    classes = [get_origin(record) or record for record in some]
    are_records = all(
        isinstance(cls, type) and (dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")) for cls in classes
    )
    return some if are_records else ()
