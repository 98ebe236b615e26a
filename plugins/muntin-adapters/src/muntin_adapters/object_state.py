"""Objects of foreign classes as plain data, and back into a new object of the same class.

The state of an object is what `copy` would copy, without the names of classes: a dict of attributes, or the result of
the object's `__getstate__`; objects inside it are stored in the same way. It is read back into a new object, which
tells the classes. So no bytes in a checkpoint can name code to run.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from muntin.errors import ModuleContractError

_SIMPLE: Final = (type(None), bool, int, float, str, bytes, Decimal, Fraction, date, datetime, timedelta)
_COLLECTIONS: Final = (list, tuple, set, frozenset, dict, deque, Counter, OrderedDict, defaultdict)
_PLAIN: Final = frozenset((*_SIMPLE, *_COLLECTIONS))


def is_plain(value: object) -> bool:
    """True if a value is of a type that a state may have; its parts are not examined."""
    return type(value) in _PLAIN


def stored(value: Any, fresh: Any, path: str = "it") -> Any:
    """Return a plain value as it is, and an object as its parts.

    Args:
        value: Value to store.
        fresh: Value of the same kind, without events, as `restored` will get it.
        path: Name of the value in an error.

    Raises:
        ModuleContractError: A part of the value cannot be stored, or `fresh` does not tell its class.

    Example:
        >>> class Mean:
        ...     def __init__(self):
        ...         self.total, self.count = 0.0, 0
        >>> stored(Mean(), Mean())
        {'total': 0.0, 'count': 0}
    """
    if is_plain(value) and is_plain(fresh):
        return value
    # An object is read back into a new one, so both have to be of one class.
    is_object = type(value) is type(fresh) and not isinstance(value, _COLLECTIONS)
    parts = _parts(value) if is_object else None
    if parts is None:
        raise ModuleContractError(
            f"{path} is {value!r} of type {type(value).__qualname__}, which cannot be stored\n"
            "  expected: plain data, or an object of plain data and such objects that a new one has as well\n"
            "  to do: give serialize= and deserialize=, which turn an accumulator into plain data and back"
        )
    fresh_parts = _parts(fresh)
    if isinstance(parts, Mapping) and isinstance(fresh_parts, Mapping):
        return {name: stored(part, fresh_parts.get(name), f"{path}.{name}") for name, part in parts.items()}
    # An object's own `__getstate__` may return parts without names.
    return stored(parts, fresh_parts, path)


def restored(state: Any, fresh: Any) -> Any:
    """Undo `stored`: return a value that equals the stored one.

    Args:
        state: State that `stored` returned, maybe read from a checkpoint since.
        fresh: New value of the same kind, without events. If it is an object, it is changed and returned.
    """
    if is_plain(fresh):
        return _as_kind_of(fresh, state)
    if isinstance(state, Mapping) and not hasattr(fresh, "__setstate__"):
        fresh_parts = _parts(fresh) or {}
        for name, part in state.items():
            object.__setattr__(fresh, name, restored(part, fresh_parts.get(name)))
        return fresh
    fresh.__setstate__(_restored_parts(state, _parts(fresh)))
    return fresh


def _restored_parts(state: object, fresh_parts: object) -> Any:
    """Restore the parts of an object one by one; a state without names is passed on as it is."""
    if isinstance(state, Mapping) and isinstance(fresh_parts, Mapping):
        return {name: restored(part, fresh_parts.get(name)) for name, part in state.items()}
    return state


def _parts(value: object) -> Any:
    """Return the attributes of an object, those in slots too, or the result of its `__getstate__`; None for none."""
    state = value.__getstate__()
    # Python's own form of a class with slots: the attributes, and the values in slots.
    if isinstance(state, tuple) and len(state) == 2 and not hasattr(value, "__setstate__"):
        attributes, slots = state
        return {**(attributes or {}), **slots}
    return state


def _as_kind_of(fresh: Any, state: Any) -> Any:
    """Return a plain state in the kind of collection that `fresh` is.

    Of a deque, a defaultdict and an OrderedDict a checkpoint keeps the members alone.
    """
    if isinstance(fresh, deque):
        return deque(state, fresh.maxlen)
    if type(state) is type(fresh):
        return state
    if isinstance(fresh, defaultdict):
        return defaultdict(fresh.default_factory, state)
    if isinstance(fresh, OrderedDict):
        return OrderedDict(state)
    return state
