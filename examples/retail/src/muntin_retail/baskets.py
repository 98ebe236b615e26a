"""Baskets: the last rows of each till, of which the emptiest are forgotten first."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from muntin.rows import LastRows, PartitionView


@dataclass(frozen=True, slots=True)
class Baskets(LastRows):
    """The last rows of each partition; where there are too many partitions, the one with the fewest rows goes."""

    name: ClassVar[str] = "retail.baskets"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "baskets"

    def select_partitions(self, partitions: Sequence[PartitionView]) -> Sequence[Hashable]:
        """Return the partition with the fewest rows."""
        return [min(partitions, key=lambda view: view.rows).partition]
