"""The contract of stores of partial states, for evaluation over slices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from muntin_engine.evaluators.arrays.results import Closed
from muntin_engine.state.log import Entry, StoredEntry

Delta = TypeVar("Delta")


class Taken(NamedTuple, Generic[Delta]):
    """The rows of a batch after merging.

    Attributes:
        delta: The partial states that were merged into the state; None if there were none.
        accepted: The number of their rows.
        late: The number of late rows.
        keys: The number of keys that the batch brought rows of.
    """

    delta: Delta | None
    accepted: int
    late: int
    keys: int


class SliceStore(Protocol[Delta]):
    """The partial states of one bucket, by key and slice, in memory.

    All of it can be made anew from the entries it wrote: `restore` of every entry that is still in the log gives an
    equal store, in any order.
    """

    def take(self, blobs: Iterable[bytes], first_legal: int) -> Taken[Delta]:
        """Merge the partial states of a batch, as the map side sent them; leave out those of slices below a first."""
        ...

    def restore(self, entry: StoredEntry) -> None:
        """Merge an entry; what an older schema version wrote is upgraded."""
        ...

    def close(self, place: int, first: int, last: int) -> Sequence[Closed]:
        """Return the results of the windows from `first` up to but not including `last` that have members.

        Args:
            place: Which of the specifications of the query they are of.
            first: A window, or `-NEVER`.
            last: A window, or `NEVER`.
        """
        ...

    def forget(self, first_live: int) -> None:
        """Drop all slices below a first one, and the keys that are in no other."""
        ...

    def write(self, delta: Delta, first_live: int) -> list[Entry]:
        """Encode the partial states that a batch added, without slices below a first, in entries of a few megabytes."""
        ...

    def compact(self, entries: Sequence[StoredEntry], first_live: int) -> list[Entry]:
        """Return the same as some entries say, upgraded and in as few as possible, without slices below a first."""
        ...
