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
    """Return the types of a module's input, state and result, by the roles of its base class.

    A base class lists its roles in `_roles`, in the order of its type parameters. Classes in between may pass their own
    type variables on.

    Args:
        cls: The module class.
        root: The root of all module classes.

    Raises:
        ModuleDefinitionError: No parent of the class has types in brackets.
    """
    types = _types_by_role(cls, root, bindings={})
    if types is None:
        raise ModuleDefinitionError(
            f"{cls.__qualname__} does not say its types\n"
            "  expected: a subclass of, for example, muntin.Aggregate[float, float], with types in brackets"
        )
    return types


def _types_by_role(cls: type, root: type, bindings: dict[object, object]) -> dict[str, object] | None:
    """Return the types by role, such as `input`, from the brackets of a class's parents; None if there are none.

    The search goes up to the first parent that has roles: `class Mean(Averages[float])` finds them behind
    `class Averages(Aggregate[T, T])`.

    Args:
        cls: The class.
        root: The root of all module classes.
        bindings: The types for which the class's own type variables stand.
    """
    # `__orig_bases__` has the types in brackets, which `__bases__` has not; only generic classes have it.
    for base in vars(cls).get("__orig_bases__", cls.__bases__):
        origin = get_origin(base) or base
        if not (isinstance(origin, type) and issubclass(origin, root)):
            continue
        arguments = tuple(_bind(argument, bindings) for argument in get_args(base))
        if "_roles" in vars(origin):
            return dict(zip(vars(origin)["_roles"], arguments, strict=True)) if arguments else None
        # Go on with the base class: its own type variables stand for the types that this class gives it.
        bindings_of_base = dict(zip(getattr(origin, "__parameters__", ()), arguments, strict=False))
        types = _types_by_role(origin, root, bindings_of_base)
        if types is not None:
            return types
    return None


def _bind(argument: Any, bindings: dict[Any, Any]) -> object:
    """Return a type argument with its type variables replaced by their types, as `list[float]` for `list[T]`."""
    inner_variables = getattr(argument, "__parameters__", ())
    if not inner_variables:
        return bindings.get(argument, argument)  # a type variable itself, or a type without any
    inner_types = tuple(bindings.get(variable, variable) for variable in inner_variables)
    return argument[inner_types]


_BETWEEN_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""The places between the words of a class's name, as before the P of `CardPayment`."""


def describe_input(annotation: object, name: str = "") -> Field:
    """Return the input of a module as a field, whose type is `OneOf` several inputs for a union of records.

    The name of an input is that of its record's class, in lower case, with underscores between words.

    Raises:
        ModuleDefinitionError: The annotation has no column type, or two inputs would have the same name.

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
    # Only a union of records has several inputs: `X | None`, for example, is a single input with nulls.
    records = _records_of(annotation)
    if not records:
        return describe(annotation, name)
    inputs: dict[str, Field] = {}
    for record in records:
        class_name = (get_origin(record) or record).__name__
        input_name = _BETWEEN_WORDS.sub("_", class_name).strip("_").lower()
        if input_name in inputs:
            raise ModuleDefinitionError(
                f"{annotation!r} has two inputs named {input_name}\n"
                "  an input has the name of its record's class in lower case; rename one of the classes"
            )
        inputs[input_name] = describe(record, input_name)
    return Field(name, OneOf(tuple(inputs.values())))


def _records_of(annotation: object) -> tuple[Any, ...]:
    """Return the records of which an annotation is a union; empty for any other annotation.

    Typed dicts are not counted as records here, as a dict does not say of which class it is.
    """
    if get_origin(annotation) not in (Union, types.UnionType):
        return ()
    members = get_args(annotation)
    for member in members:
        cls = get_origin(member) or member
        is_record = dataclasses.is_dataclass(cls) or hasattr(cls, "_fields")
        if not isinstance(cls, type) or not is_record:
            return ()
    return members
