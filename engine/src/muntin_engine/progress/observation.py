"""The observation of one source by a task of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from typing import Any, NamedTuple

from muntin import EARLIEST


class Observation(NamedTuple):
    """The observation of a source; a silent source has none.

    Attributes:
        source: Its name; None where the input has no sources, and for punctuation of all of them.
        newest: The largest start of an insertion.
        rows: The number of insertions.
        latest: The largest starts, the largest first, as many as the policy needs.
        watermark: The latest punctuation in rows of its own.
    """

    source: str | None
    newest: int = EARLIEST
    rows: int = 0
    latest: tuple[int, ...] = ()
    watermark: int = EARLIEST

    def merge(self, other: Observation, keep: int) -> Observation:
        """Return both as one, with as many of the largest starts as are to be kept.

        Example:
            >>> Observation("a", 9, 2, (9, 4)).merge(Observation("a", 7, 1, (7,)), keep=2)
            Observation(source='a', newest=9, rows=3, latest=(9, 7), watermark=-9223372036854775808)
        """
        return Observation(
            self.source,
            max(self.newest, other.newest),
            self.rows + other.rows,
            tuple(nlargest(keep, self.latest + other.latest)),
            max(self.watermark, other.watermark),
        )

    def to_data(self) -> list[object]:
        """Return it as plain data."""
        return [self.source, self.newest, self.rows, list(self.latest), self.watermark]

    @classmethod
    def from_data(cls, data: list[Any]) -> Observation:
        """Return the observation that `to_data` wrote."""
        source, newest, rows, latest, watermark = data
        return cls(source, newest, rows, tuple(latest), watermark)


def merged(observations: Iterable[Observation], keep: int) -> list[Observation]:
    """Return observations with those of each source as one.

    Args:
        observations: In any order.
        keep: How many of the largest starts are to be kept.

    Example:
        >>> [seen.rows for seen in merged([Observation("a", 1, 1), Observation("b", 2, 1), Observation("a", 3, 2)], 0)]
        [3, 1]
    """
    found: dict[str | None, Observation] = {}
    for some in observations:
        known = found.get(some.source)
        found[some.source] = some if known is None else known.merge(some, keep)
    return list(found.values())
