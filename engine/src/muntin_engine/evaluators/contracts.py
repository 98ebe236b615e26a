"""The contracts of what runs queries in tasks: it lifts rows before the shuffle, and keeps state or answers at once.

Which queries an evaluator can run is no contract but data, which it declares: see `declarations`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from muntin_engine.evaluators.batch import BucketBatch, BucketBlob, Evaluated
from muntin_engine.plan.plan import Plan
from muntin_engine.state.bucket_reader import BucketReader, StateRow
from muntin_engine.state.cells import Cells
from muntin_engine.state.codec import Codec
from muntin_engine.time.changes import InputChange, Key, OutputChange, Progress

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.wire.task_payload import TaskPayload


class InMemory(Protocol):
    """An evaluator around cells in memory, as a process opens it: all that is lost when the process ends.

    Attributes:
        evicted: The rows of the second output, of the last micro-batch; none where a query has no such output.
    """

    evicted: Sequence[tuple[Key, OutputChange]]

    def process(self, rows: Sequence[tuple[Key, InputChange]], reported: Progress) -> list[tuple[Key, OutputChange]]:
        """Process a micro-batch, write the state and return the changes of the output.

        Args:
            rows: The rows, in any order.
            reported: The progress of the whole input that the source reports with them.
        """
        ...


class KeepsState(ABC):
    """Evaluates micro-batches of buckets, each of which keeps a state. It has no state of its own."""

    @abstractmethod
    def process(self, task: TaskPayload, bucket: int, cells: Cells, batch: BucketBatch) -> Evaluated:
        """Process a micro-batch of a bucket and write its state.

        Args:
            task: The query.
            bucket: The id of the bucket.
            cells: The state of the bucket: the cell `METADATA` is read before any other, and written in each
                micro-batch. If an exception is raised, every cell stays as it was.
            batch: The part of the micro-batch that the bucket gets.

        Raises:
            ModuleFailedError: A module raised an exception.
            ModuleContractError: A module returned something else than it has to.
            StateMismatchError: Another query wrote the state.
            StateError: The state is damaged, or cannot be stored.
        """

    @abstractmethod
    def state_rows(self, bucket: BucketReader) -> Iterator[StateRow]:
        """Yield the state of a bucket in a checkpoint as rows for a reader.

        The query that wrote it and its modules need not be installed: nothing of them is called.

        Args:
            bucket: The bucket of the checkpoint.

        Raises:
            StateError: The state is damaged.
        """

    @abstractmethod
    def in_memory(self, plan: Plan, cells: Cells, codec: Codec) -> InMemory:
        """Open the evaluator of a query as a newly started process does, for restart tests.

        Args:
            plan: The query.
            cells: The state that earlier processes wrote.
            codec: Writes the state.
        """


class LiftsRows(ABC):
    """Turns rows into blobs for their buckets before the shuffle: merged, or as columns."""

    @abstractmethod
    def lift(self, task: TaskPayload, rows: pa.Table, side: int = 0) -> Iterator[BucketBlob]:
        """Encode rows for their buckets: yield one blob for each bucket that gets any.

        Args:
            task: The query.
            rows: The rows, all of one input.
            side: The number of that input: 0, or 1 for the right input of a join.

        Raises:
            ModuleFailedError: A module raised an exception.
        """


class AnswersAtOnce(ABC):
    """Has the results of rows in the task that reads them, without a shuffle and a state."""

    @abstractmethod
    def results(self, task: TaskPayload, rows: pa.Table) -> pa.Table:
        """Return the results of the good rows of a task.

        Args:
            task: The query.
            rows: The rows.

        Raises:
            ModuleFailedError: A module raised an exception.
            ModuleContractError: A row of the results is not what the module may return.
        """
