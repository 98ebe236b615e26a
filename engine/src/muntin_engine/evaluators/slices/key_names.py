"""Keys as dictionaries know them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

from muntin_engine.core.changes import Key, canonical
from muntin_engine.core.frozen_values import freeze

_NESTED: Final = frozenset({list, dict, tuple})


class NestedKey:
    """A stand-in for a key that holds a list or a struct, and so cannot be looked up by itself."""

    __slots__ = ("_name", "key")

    def __init__(self, key: Key) -> None:
        self.key = canonical(key)
        self._name = freeze(self.key)

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedKey) and self._name == other._name


def names_of(keys: Sequence[Key]) -> Sequence[Hashable]:
    """Return a name of each key for dictionaries; names are equal if the keys are equal in Spark's grouping.

    The keys of a query are of one type each, so that 1 and True never meet.

    Example:
        >>> names_of([("a", 1), ("b", None)])
        [('a', 1), ('b', None)]
    """
    kinds = {type(part) for key in keys for part in key}
    if kinds & _NESTED:
        return list(map(NestedKey, keys))
    return list(map(canonical, keys)) if float in kinds else keys


def key_of(name: Any) -> Key:
    """Return the key of a name."""
    key: Key = name.key if isinstance(name, NestedKey) else name
    return key
