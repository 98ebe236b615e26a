"""Objects of foreign classes as plain data, and back into a new object of the same class.

What is stored is what `copy` would take over, without the names of classes: a dict of attributes, or what the object's
own `__getstate__` gives, objects inside included. It is read back into a new object, which says what is of which
class. So no bytes in a checkpoint can name code to run.
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
    """Return True if a value is of a type that a state may be made of; its parts are not examined."""
    return type(value) in _PLAIN


def stored(value: Any, fresh: Any, path: str = "it") -> Any:
    """Return a plain value as it is, and an object as what it is made of.

    Args:
        value: The value.
        fresh: One of the same kind, without events, as `restored` will get it.
        path: The name of the value in an error.

    Raises:
        ModuleContractError: A part of it cannot be stored, or would not be known again.

    Example:
        >>> class Mean:
        ...     def __init__(self):
        ...         self.total, self.count = 0.0, 0
        >>> stored(Mean(), Mean())
        {'total': 0.0, 'count': 0}
    """
    if is_plain(value) and is_plain(fresh):
        return value
    parts = None if type(value) is not type(fresh) or isinstance(value, _COLLECTIONS) else _parts(value)
    if parts is None:
        raise ModuleContractError(
            f"{path} is {value!r} of type {type(value).__qualname__}, which cannot be stored\n"
            "  expected: plain data, or an object of plain data and such objects that a new one has as well\n"
            "  to do: give serialize= and deserialize=, which turn an accumulator into plain data and back"
        )
    own = _parts(fresh)
    if isinstance(parts, Mapping) and isinstance(own, Mapping):
        return {name: stored(part, own.get(name), f"{path}.{name}") for name, part in parts.items()}
    return stored(parts, own, path)


def restored(state: Any, fresh: Any) -> Any:
    """Undo `stored`: return a new value that equals the one that it was given.

    Args:
        state: The returned state, maybe read from a checkpoint since.
        fresh: A new value of the same kind, without events. It becomes the result if it is an object.
    """
    if is_plain(fresh):
        return _as(state, fresh)
    if isinstance(state, Mapping) and not hasattr(fresh, "__setstate__"):
        own = _parts(fresh) or {}
        for name, part in state.items():
            object.__setattr__(fresh, name, restored(part, own.get(name)))
        return fresh
    fresh.__setstate__(_restored_parts(state, _parts(fresh)))
    return fresh


def _restored_parts(state: object, own: object) -> Any:
    if isinstance(state, Mapping) and isinstance(own, Mapping):
        return {name: restored(part, own.get(name)) for name, part in state.items()}
    return state


def _parts(value: object) -> Any:
    """Return the attributes of an object, those in slots too; None if it has none."""
    state = value.__getstate__()
    if isinstance(state, tuple) and len(state) == 2 and not hasattr(value, "__setstate__"):
        return {**(state[0] or {}), **state[1]}  # attributes, and those in slots
    return state


def _as(state: Any, fresh: Any) -> Any:
    """Return a collection as the kind it was: a checkpoint keeps the members of these alone."""
    if type(state) is type(fresh) and not isinstance(fresh, deque):
        return state
    if isinstance(fresh, defaultdict):
        return defaultdict(fresh.default_factory, state)
    if isinstance(fresh, OrderedDict):
        return OrderedDict(state)
    return deque(state, fresh.maxlen) if isinstance(fresh, deque) else state
