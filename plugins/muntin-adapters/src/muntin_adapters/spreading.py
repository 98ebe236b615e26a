"""Payloads as the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from muntin.modules.declared_types import describe_input
from muntin.schemas import Struct
from muntin_adapters.annotations import required_parameters

Spread: TypeAlias = Callable[[Any], tuple[Any, ...]]
"""Turns a payload into arguments."""


def spread_of(function: Callable[..., object], payload: object, skipped: int = 0) -> Spread:
    """Return the function from a payload of a type to the arguments of a function.

    A record becomes one argument per field where the function takes several, or any number, as columns do in SQL.

    Args:
        function: Function that takes a payload.
        payload: Type of a payload.
        skipped: Number of parameters before the payload.
    """
    parameters = required_parameters(function, skipped)
    if parameters == []:
        return _no_arguments
    data_type = describe_input(payload).type
    takes_several = parameters is None or len(parameters) > 1
    if isinstance(data_type, Struct) and takes_several:
        return FieldsOf(tuple(field.name for field in data_type.fields))
    return _single_argument


class FieldsOf:
    """Spreads records of the same fields: mappings, objects with attributes, or tuples."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __call__(self, payload: Any) -> tuple[object, ...]:
        """Return the fields of a record."""
        if isinstance(payload, tuple):
            return payload
        if isinstance(payload, Mapping):
            return tuple(payload[name] for name in self._names)
        return tuple(getattr(payload, name) for name in self._names)


def _single_argument(payload: object) -> tuple[object, ...]:
    return (payload,)


def _no_arguments(payload: object) -> tuple[object, ...]:
    del payload
    return ()
