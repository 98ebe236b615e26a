"""The elements of a stream as data: keyed changes, punctuation of all keys or of patterns, and micro-batches."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from muntin.changes import Insertion, Punctuation, Revision, same_id
from muntin.schemas.value_order import value_key


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The values from a low value on and below a high one; null is in no range.

    Attributes:
        low: The least value; None if the range has no lower bound.
        high: The first value that is too large; None if the range has no upper bound.

    Example:
        >>> 10 in KeyRange(10, 20), 20 in KeyRange(10, 20), "z" in KeyRange("m"), None in KeyRange()
        (True, False, True, False)
    """

    low: Any = None
    high: Any = None

    def __contains__(self, value: object) -> bool:
        if value is None:
            return False  # null sorts before all values, and lies in no range
        if self.low is not None and value_key(value) < value_key(self.low):
            return False
        return self.high is None or value_key(value) < value_key(self.high)


def matches(pattern: Hashable, key: Hashable) -> bool:
    """Return True if a key matches a pattern.

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
    return (same_id(pattern),) == (same_id(key),)  # in a tuple, NaN is equal to itself


def spell_pattern(pattern: Hashable) -> str:
    """Spell a pattern of keys as Python code."""
    if isinstance(pattern, tuple):
        parts = ", ".join(map(spell_pattern, pattern))
        return f"({parts},)" if len(pattern) == 1 else f"({parts})"
    if isinstance(pattern, KeyRange):
        return f"KeyRange({pattern.low!r}, {pattern.high!r})"
    return "..." if pattern is ... else repr(pattern)


class Boundary(StrEnum):
    """A seam between two micro-batches."""

    BATCH = "batch"
    """One ends, the next begins."""
    RESTART = "restart"
    """One ends, the engine stops and is restored from its checkpoint, the next begins."""


@dataclass(frozen=True, slots=True)
class KeyedChange:
    """An insertion or a revision of an event of one key."""

    key: Hashable
    change: Insertion[Any] | Revision[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", same_id(self.key))


@dataclass(frozen=True, slots=True)
class KeyPunctuation:
    """A guarantee for some keys: no later change of them has a sync time strictly below `time`.

    It counts in `Script.run`; `crash_everywhere` and `measure` refuse it.

    Attributes:
        key: The key, or a pattern of keys: `...` stands for any value, a `KeyRange` for the values in it, and a tuple
            for a composite key.
        time: The guaranteed tick; `INFINITY` if nothing more comes.
    """

    key: Hashable
    time: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", same_id(self.key))


Step: TypeAlias = KeyedChange | Punctuation | KeyPunctuation | Boundary
"""One step of a script."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch, as an engine gets it.

    Attributes:
        changes: The changes in order of arrival; all come before the punctuation.
        punctuation: The highest punctuation of the batch, or None if it has none; `INFINITY` closes the stream.
        restart_before: True if the engine is stopped and restored before this batch.
        of_keys: The punctuation of some keys alone.
    """

    changes: tuple[KeyedChange, ...]
    punctuation: int | None = None
    restart_before: bool = False
    of_keys: tuple[KeyPunctuation, ...] = ()
