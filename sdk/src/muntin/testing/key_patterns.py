"""Patterns of keys, by which punctuation of a script speaks of some keys alone."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from muntin.changes import same_id
from muntin.value_order import value_key


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The values from a low one on and below a high one; null is in no range.

    Attributes:
        low: The least value; None if there is none.
        high: The first value that is too large; None if there is none.

    Example:
        >>> 10 in KeyRange(10, 20), 20 in KeyRange(10, 20), "z" in KeyRange("m"), None in KeyRange()
        (True, False, True, False)
    """

    low: Any = None
    high: Any = None

    def __contains__(self, value: object) -> bool:
        is_below = self.low is not None and value_key(value) < value_key(self.low)
        return value is not None and not is_below and (self.high is None or value_key(value) < value_key(self.high))


def matches(pattern: Hashable, key: Hashable) -> bool:
    """Return True if a key is one of those that a pattern stands for.

    Args:
        pattern: `...` for any value, a `KeyRange`, or the value itself; for a composite key a tuple of these.
        key: The key.

    Example:
        >>> [matches(("eu", KeyRange(10, 20)), ("eu", sensor)) for sensor in (9, 10, 20)]
        [False, True, False]
        >>> matches(("eu", ...), ("eu", None)), matches("a", "a"), matches(..., None)
        (True, True, True)
    """
    if pattern is ...:
        return True
    if isinstance(pattern, KeyRange):
        return key in pattern
    if isinstance(pattern, tuple) and isinstance(key, tuple):
        return len(pattern) == len(key) and all(map(matches, pattern, key))
    return (same_id(pattern),) == (same_id(key),)  # as NaN is, in a tuple, equal to itself


def spell_pattern(pattern: Hashable) -> str:
    """Return a pattern as it is written.

    Example:
        >>> spell_pattern(("eu", ..., KeyRange(10, 20)))
        "('eu', ..., KeyRange(10, 20))"
    """
    if isinstance(pattern, tuple):
        return f"({', '.join(map(spell_pattern, pattern))}{',' * (len(pattern) == 1)})"
    if isinstance(pattern, KeyRange):
        return f"KeyRange({pattern.low!r}, {pattern.high!r})"
    return "..." if pattern is ... else repr(pattern)
