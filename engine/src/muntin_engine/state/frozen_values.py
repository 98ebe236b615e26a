"""Hashable stand-ins for values."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Final

from muntin_engine.state.codec import number_of


def freeze(value: object) -> Hashable:
    """Return a hashable stand-in for a value; a value that the codec has written and read has the same one.

    NaN equals NaN, and 1, 1.0 and True differ.

    Example:
        >>> freeze([1, {"a"}]) == freeze([1, {"a"}]), freeze(1) == freeze(1.0)
        (True, False)
    """
    kind = type(value)
    if kind in _HASHABLE:
        return kind, value
    if isinstance(value, list | tuple | deque):
        return kind, tuple([freeze(item) for item in value])
    if isinstance(value, Mapping):
        return Mapping, frozenset((freeze(name), freeze(item)) for name, item in value.items())
    if isinstance(value, set | frozenset):
        return kind, frozenset(freeze(item) for item in value)
    if is_dataclass(value):
        return kind, tuple(freeze(getattr(value, field.name)) for field in fields(value))
    if kind.__module__ == "numpy":
        return freeze(number_of(value))
    is_nan = bool(value != value)  # noqa: PLR0124  # floats and decimals alike
    return kind, "nan" if is_nan else value


_HASHABLE: Final = frozenset({type(None), bool, int, str, bytes})
