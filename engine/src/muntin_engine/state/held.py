"""What a bucket holds between micro-batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class HeldState(NamedTuple):
    """What a bucket, or a part of one, holds.

    Attributes:
        bytes: The sizes of its cells.
        keys: How many keys have state.
        events: How many events they have.
        windows: How many windows are out and may still change.
    """

    bytes: int = 0
    keys: int = 0
    events: int = 0
    windows: int = 0


def total(parts: Iterable[HeldState]) -> HeldState:
    """Return what several parts hold.

    Example:
        >>> total([HeldState(100, 1, 5, 2), HeldState(20, 3)])
        HeldState(bytes=120, keys=4, events=5, windows=2)
    """
    return HeldState(*map(sum, zip(HeldState(), *parts, strict=True)))
