"""Payloads as the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from muntin.modules.declared_types import describe_input
from muntin.schemas import Struct
from muntin_adapters.annotations import taken_by

Spread: TypeAlias = Callable[[Any], tuple[Any, ...]]
"""Turns a payload into arguments."""


def spread_of(function: Callable[..., object], payload: object, skipped: int = 0) -> Spread:
    """Return the function from a payload of a type to the arguments of a function.

    A record becomes one argument per field where the function takes several, or any number, as columns do in SQL.

    Args:
        function: The function that takes a payload.
        payload: The type.
        skipped: The number of parameters before the payload.
    """
    taken = taken_by(function, skipped)
    if taken == []:
        return _nothing
    data_type = describe_input(payload).type
    if isinstance(data_type, Struct) and (taken is None or len(taken) > 1):
        return FieldsOf(tuple(field.name for field in data_type.fields))
    return _whole


class FieldsOf:
    """Spreads records of the same fields: mappings, objects with attributes, or tuples."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __call__(self, payload: Any) -> tuple[object, ...]:
        """Return the fields of a record."""
        if isinstance(payload, tuple):
            return payload
        of = itemgetter if isinstance(payload, Mapping) else attrgetter
        return tuple(of(name)(payload) for name in self._names)


def _whole(payload: object) -> tuple[object, ...]:
    return (payload,)


def _nothing(payload: object) -> tuple[object, ...]:
    del payload
    return ()
