"""The note of micro-batches without input, by which older state is told from state that was lost."""

from __future__ import annotations

from typing import Final, NamedTuple

from muntin_engine.state.cells import SealedCell

IDLE: Final = "idle"
"""The name of the cell that holds the note of a partition."""


class IdleNote(NamedTuple):
    """Consecutive micro-batches in which no bucket of a partition of the state was evaluated.

    A micro-batch with rows evaluates all buckets, and each of them writes its state. In an idle micro-batch, each
    partition writes this note instead. So the state of a bucket must be of the previous micro-batch, or of the one
    before the first idle one; otherwise it was lost.

    When Spark gives the state another number of partitions, it does so in a micro-batch of its own, which runs no
    query. It moves the state of a bucket away from the note of its partition. So directly after it, and after further
    idle micro-batches, it is not known which earlier ones were idle: all count as idle.

    Attributes:
        first: The first of the micro-batches.
        last: The last of them.
    """

    first: int
    last: int

    @classmethod
    def of_cell(cls, cell: SealedCell) -> IdleNote:
        """Return the note in a cell: the first micro-batch is its content, and the last one has written it."""
        return cls(first=int(cell.data), last=cell.origin.batch)

    def to_bytes(self) -> bytes:
        """Return the content of the cell; the number of the last micro-batch is the cell's origin."""
        return str(self.first).encode()

    @classmethod
    def up_to(cls, last_batch: int, stored: IdleNote | None, repartitioned_batch: int | None) -> IdleNote | None:
        """Return the idle micro-batches up to one of them; None if that one was not idle.

        Args:
            last_batch: The number of that micro-batch.
            stored: The note that the partition has; None if it has none.
            repartitioned_batch: A micro-batch in which Spark gave the state another number of partitions; None if no
                such micro-batch is known.
        """
        first = last_batch + 1  # nothing is idle, unless the note or the repartition says so
        # An older note does not count: the partition has had rows since, in a micro-batch that wrote no note.
        if stored is not None and stored.last == last_batch:
            first = stored.first
        if repartitioned_batch is not None and repartitioned_batch == first - 1:
            first = 0
        return cls(first, last_batch) if first <= last_batch else None

    @classmethod
    def in_idle_batch(cls, batch: int, stored: IdleNote | None, repartitioned_batch: int | None) -> IdleNote:
        """Return the note that a partition writes in an idle micro-batch.

        Args:
            batch: The number of the micro-batch.
            stored: The note that the partition has, as in `up_to`.
            repartitioned_batch: A micro-batch in which Spark moved the state, as in `up_to`.
        """
        previous = cls.up_to(batch - 1, stored, repartitioned_batch)
        return cls(batch if previous is None else previous.first, batch)

    def explains(self, first_missing: int, *, has_begun: bool) -> bool:
        """Return True if the state of a bucket may lack all micro-batches from one on.

        Args:
            first_missing: The number of that micro-batch: the one after the last that wrote the state; 0 if the bucket
                has no state.
            has_begun: True if all buckets are known to have had state, so that none may be without.
        """
        is_without_state = first_missing == 0
        if is_without_state and has_begun:
            return False
        return self.first <= first_missing <= self.last
