"""Payloads as the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from muntin.adapters.foreign import Foreign
from muntin.schemas import Struct, describe

Spread: TypeAlias = Callable[[Any], tuple[Any, ...]]
"""Turns a payload into arguments."""


def spread_of(foreign: Foreign, payload: Any, method: str, after: str = "") -> Spread:
    """Return what turns payloads of a type into the arguments of a method.

    A record becomes one argument per field where the method takes several, or any number.

    Args:
        foreign: The code.
        payload: The type.
        method: The method that takes a payload.
        after: The parameter that stands before the payload; none if the payload comes first.
    """
    if foreign.takes_nothing(method, after):
        return _nothing
    data_type = describe(payload).type
    if isinstance(data_type, Struct) and foreign.spreads(payload, method, after):
        return _Fields(tuple(field.name for field in data_type.fields))
    return _whole


class _Fields:
    """Spreads records of the same fields."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __call__(self, payload: Any) -> tuple[Any, ...]:
        if isinstance(payload, tuple):
            return payload
        of = itemgetter if isinstance(payload, Mapping) else attrgetter
        return tuple(of(name)(payload) for name in self._names)


def _whole(payload: Any) -> tuple[Any, ...]:
    return (payload,)


def _nothing(payload: Any) -> tuple[Any, ...]:
    del payload
    return ()
