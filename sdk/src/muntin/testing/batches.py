"""The elements of a stream as data: keyed changes, punctuation and the boundaries of micro-batches."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from muntin.changes import Insertion, Punctuation, Revision


class Boundary(StrEnum):
    """A seam between two micro-batches."""

    BATCH = "batch"
    """One ends, the next begins."""
    RESTART = "restart"
    """One ends, the engine stops and comes back with what it stored, the next begins."""


@dataclass(frozen=True, slots=True)
class KeyedChange:
    """An insertion or a revision of an event of one key."""

    key: Hashable
    change: Insertion[Any] | Revision[Any]


@dataclass(frozen=True, slots=True)
class KeyPunctuation:
    """A guarantee for some keys: no later change of them has a sync time strictly below `time`.

    Attributes:
        key: The key, or a pattern of keys: `...` stands for any value, a `KeyRange` for the values in it, and a tuple
            for a composite key.
        time: The guaranteed tick; `INFINITY` if nothing more comes.
    """

    key: Hashable
    time: int


Step: TypeAlias = KeyedChange | Punctuation | KeyPunctuation | Boundary
"""One step of a script."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One micro-batch, as an engine gets it.

    Attributes:
        changes: In order of arrival; all come before the punctuation.
        punctuation: The highest of the batch, or None if it has none; `INFINITY` closes the stream.
        restart_before: True if the engine is stopped and restored before this batch.
        of_keys: The punctuation of some keys alone.
    """

    changes: tuple[KeyedChange, ...]
    punctuation: int | None = None
    restart_before: bool = False
    of_keys: tuple[KeyPunctuation, ...] = ()
