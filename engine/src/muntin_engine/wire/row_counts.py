"""Counts of the rows that a task reads and no bucket can count, because none gets them or none can tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest


@dataclass(frozen=True, slots=True)
class RowCounts:
    """The numbers of such rows; they travel as a list, which one bucket gets for all.

    Attributes:
        unaccepted: The number of insertions that each module does not accept, in the order of
            `TaskPayload.choosy_labels`; empty where no rows were read.
        filtered: The number of insertions that the query's filter leaves out, or that have no lifetime.
        unchanging: The number of revisions that change nothing under the query's changes of lifetimes.
    """

    unaccepted: tuple[int, ...] = ()
    filtered: int = 0
    unchanging: int = 0

    def __add__(self, other: RowCounts) -> RowCounts:
        pairs = zip_longest(self.unaccepted, other.unaccepted, fillvalue=0)
        return RowCounts(
            tuple(ours + theirs for ours, theirs in pairs),
            self.filtered + other.filtered,
            self.unchanging + other.unchanging,
        )

    def unaccepted_by(self, labels: Sequence[str]) -> dict[str, int]:
        """Return the number of rows that each module did not accept, without modules that accepted all.

        Args:
            labels: The labels of the modules, as `TaskPayload.choosy_labels` has them.

        Example:
            >>> RowCounts((0, 2)).unaccepted_by(["mean", "best"])
            {'best': 2}
        """
        return {label: count for label, count in zip(labels, self.unaccepted, strict=False) if count}

    def to_list(self) -> list[int]:
        """Return the counts as a list, from which `from_list` makes them again."""
        return [*self.unaccepted, self.filtered, self.unchanging]

    @classmethod
    def from_list(cls, counts: Sequence[int]) -> RowCounts:
        """Return the counts that `to_list` wrote."""
        *unaccepted, filtered, unchanging = counts
        return cls(tuple(unaccepted), filtered, unchanging)
