"""Triggers and refinements as plain data, for explanations and checkpoints."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from muntin.definitions.methods import check_name, undefined_methods
from muntin.errors import ModuleDefinitionError, PolicyError
from muntin.errors.safe_text import safe_repr
from muntin.triggers.refining import ResultRefinement
from muntin.triggers.trigger import Trigger


def to_dict(part: object) -> dict[str, Any]:
    """Return a trigger or a refinement as JSON-able data: its name, its version and its parameters.

    Raises:
        PolicyError: The class has no name, is not a dataclass, or has a field that is not plain data.

    Example:
        >>> from muntin.triggers import every_count
        >>> to_dict(every_count(5))["repeated"]
        {'trigger': 'after_count', 'version': '1', 'count': 5}
    """
    cls: Any = type(part)
    if not isinstance(part, Trigger | ResultRefinement):
        # A function such as `every_count`, given without its call, is named by its name.
        spelled = getattr(part, "__name__", None) or safe_repr(part)
        raise PolicyError(f"{spelled} is not a trigger; expected, for example, every_count(100)")
    if not _is_frozen(cls) or not isinstance(getattr(cls, "name", None), str):
        raise PolicyError(
            f"{cls.__qualname__} cannot be stored with a query\n"
            "  expected: a frozen dataclass with a class attribute name, so that a checkpoint knows it again"
        )
    parameters = {field.name: _plain(part, field.name, getattr(part, field.name)) for field in fields(cls)}
    kind = "trigger" if isinstance(part, Trigger) else "refinement"
    return {kind: part.name, "version": part.version, **parameters}


def _is_frozen(cls: Any) -> bool:
    """Return True if a class is a frozen dataclass."""
    return is_dataclass(cls) and bool(getattr(cls, "__dataclass_params__").frozen)  # noqa: B009  # untyped


def _plain(owner: Trigger | ResultRefinement, name: str, value: object) -> Any:
    """Return the value of a field of a trigger or a refinement, or a part of it, as plain data.

    Args:
        owner: The trigger or the refinement, for messages.
        name: The name of the field, for messages.
        value: The value of the field, or a part of a value that is a list.

    Raises:
        PolicyError: A checkpoint cannot hold the value.
    """
    if isinstance(value, Trigger):
        return to_dict(value)
    if isinstance(value, list | tuple):
        # JSON has no tuples: a tuple is described as a list, as it would come back from a checkpoint.
        return [_plain(owner, name, part) for part in value]
    if not isinstance(value, bool | int | float | str | None):
        raise PolicyError(
            f"the {name} of {type(owner).__qualname__} is {getattr(owner, name)!r}, which a checkpoint cannot hold\n"
            "  expected: a number, text, a trigger, or a list of these"
        )
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)  # a length is of a subclass that says how it was written, which is no part of its value
    return value


def check_trigger(cls: Any) -> None:
    """Refuse a class that a plugin cannot offer as a trigger.

    Raises:
        ModuleDefinitionError: The class has no name as plugins need it, is not a frozen dataclass that subclasses
            `Trigger`, or lacks a method.
    """
    name = check_name(getattr(cls, "name", None), cls.__qualname__)
    if not issubclass(cls, Trigger) or not _is_frozen(cls):
        raise ModuleDefinitionError(f"{name} is not a trigger\n  expected: a frozen dataclass that subclasses Trigger")
    missing_methods = getattr(cls, "__abstractmethods__", ())
    if missing_methods:
        raise undefined_methods(cls, name, missing_methods)
