"""The sizes of a bucket's state between micro-batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class HeldState(NamedTuple):
    """The sizes of the state of a bucket, or of a part of one.

    Attributes:
        bytes: The size of its cells.
        keys: The number of keys with state.
        events: The number of their events.
        windows: The number of windows that have been emitted and may still change.
    """

    bytes: int = 0
    keys: int = 0
    events: int = 0
    windows: int = 0


def total(parts: Iterable[HeldState]) -> HeldState:
    """Add up the sizes of several parts.

    Example:
        >>> total([HeldState(100, 1, 5, 2), HeldState(20, 3)])
        HeldState(bytes=120, keys=4, events=5, windows=2)
    """
    return HeldState(*map(sum, zip(HeldState(), *parts, strict=True)))
