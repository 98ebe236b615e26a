"""The stretches of one key from which its windows are cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from muntin.axis import EARLIEST


class Stretches:
    """The distinct stretches of one key's events, as far as they are still kept.

    A stretch is the result of `WindowKind.membership` for an event; events with equal stretches count once.

    Attributes:
        all: The stretches `(start, end)`, in order.
        frontier: Windows that start before it are closed and need not be cut.
        carried: The result of `WindowKind.carried` when events were last forgotten; None if they never were.

    Cost: sorting, when it is made; each other view is made on first use, and kept.

    Example:
        >>> known = Stretches([(4, 9), (1, 4), (4, 9), (12, 13)])
        >>> known.all, known.starts, known.edges
        ([(1, 4), (4, 9), (12, 13)], [1, 4, 12], [1, 4, 9, 12, 13])
        >>> known.covered
        [(1, 9), (12, 13)]
    """

    __slots__ = ("_covered", "_edges", "_starts", "all", "carried", "frontier")

    def __init__(self, stretches: Iterable[tuple[int, int]] = (), frontier: int = EARLIEST, carried: Any = None):
        self.all: Sequence[tuple[int, int]] = sorted(set(stretches))
        self.frontier = frontier
        self.carried = carried
        self._starts: Sequence[int] | None = None
        self._edges: Sequence[int] | None = None
        self._covered: Sequence[tuple[int, int]] | None = None

    @property
    def starts(self) -> Sequence[int]:
        """The distinct starts, in order."""
        if self._starts is None:
            self._starts = sorted({start for start, _ in self.all})
        return self._starts

    @property
    def edges(self) -> Sequence[int]:
        """The distinct starts and ends, in order."""
        if self._edges is None:
            self._edges = sorted({edge for stretch in self.all for edge in stretch})
        return self._edges

    @property
    def covered(self) -> Sequence[tuple[int, int]]:
        """The connected parts `(start, end)` of what they cover, in order; stretches that touch are connected."""
        if self._covered is None:
            self._covered = _connected(self.all)
        return self._covered


def _connected(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the connected parts of what stretches in order of their starts cover."""
    parts: list[tuple[int, int]] = []
    low, high = EARLIEST, EARLIEST
    for start, end in stretches:
        if start <= high:
            high = max(high, end)
        else:
            if low < high:
                parts.append((low, high))
            low, high = start, end
    if low < high:
        parts.append((low, high))
    return parts
