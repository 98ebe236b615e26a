"""Hashable stand-ins for values."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from typing import Final

from muntin_engine.state.codec import number_of


def freeze(value: object) -> Hashable:
    """Return a hashable stand-in for a value. It stays the same when the codec writes the value and reads it back.

    The stand-ins of two NaN are equal, and those of 1, 1.0 and True differ.

    Example:
        >>> freeze([1, {"a"}]) == freeze([1, {"a"}]), freeze(1) == freeze(1.0)
        (True, False)
    """
    cls = type(value)
    if cls in _HASHABLE:
        return cls, value
    if isinstance(value, list | tuple | deque):
        return cls, tuple([freeze(item) for item in value])
    if isinstance(value, Mapping):  # the codec reads some kinds of mappings back as dicts
        return Mapping, frozenset((freeze(name), freeze(item)) for name, item in value.items())
    if isinstance(value, set | frozenset):
        return cls, frozenset(freeze(item) for item in value)
    if is_dataclass(value):
        return cls, tuple(freeze(getattr(value, field.name)) for field in fields(value))
    if cls.__module__ == "numpy":  # the codec reads NumPy scalars back as numbers of Python
        return freeze(number_of(value))
    is_nan = bool(value != value)  # noqa: PLR0124  # NaN alone differs from itself, be it a float or a decimal
    return cls, "nan" if is_nan else value


_HASHABLE: Final = frozenset({type(None), bool, int, str, bytes})
