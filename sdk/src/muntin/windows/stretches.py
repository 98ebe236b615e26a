"""The stretches of one key from which its windows are cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from muntin.axis import EARLIEST


class Stretches:
    """The distinct stretches of one key's events, as far as they are still kept.

    A stretch is the result of `WindowKind.membership` for an event; events with equal stretches count once.

    Attributes:
        all: The stretches `(start, end)`, in order.
        frontier: The tick before which all windows that start are closed; they need not be cut.
        carried: The result of `WindowKind.carried` when events were last forgotten; None if they never were.

    Cost: sorting, in the constructor; each property is computed on first use, and kept.

    Example:
        >>> stretches = Stretches([(4, 9), (1, 4), (4, 9), (12, 13)])
        >>> stretches.all, stretches.starts, stretches.edges
        ([(1, 4), (4, 9), (12, 13)], [1, 4, 12], [1, 4, 9, 12, 13])
        >>> stretches.covered
        [(1, 9), (12, 13)]
    """

    __slots__ = ("_covered", "_edges", "_starts", "all", "carried", "frontier")

    def __init__(self, stretches: Iterable[tuple[int, int]] = (), frontier: int = EARLIEST, carried: Any = None):
        self.all: Sequence[tuple[int, int]] = sorted(set(stretches))
        self.frontier = frontier
        self.carried = carried
        # Each of these is computed by its property, on first use.
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
            self._edges = sorted(set(chain.from_iterable(self.all)))
        return self._edges

    @property
    def covered(self) -> Sequence[tuple[int, int]]:
        """The connected parts `(start, end)` that the stretches cover, in order; stretches that touch are connected."""
        if self._covered is None:
            self._covered = _connected(self.all)
        return self._covered


def _connected(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the connected parts that stretches, in order of their starts, cover; empty stretches cover nothing."""
    parts: list[tuple[int, int]] = []
    part_start = EARLIEST
    part_end = EARLIEST
    for start, end in stretches:
        if start <= part_end:
            part_end = max(part_end, end)
            continue
        # The stretches come in order of their starts: no later one touches the part, so it is complete.
        if part_start < part_end:
            parts.append((part_start, part_end))
        part_start = start
        part_end = end
    if part_start < part_end:
        parts.append((part_start, part_end))
    return parts
