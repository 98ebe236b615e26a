"""What an admission decides: which rows of a batch count."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic

import numpy as np
import pyarrow as pa

from muntin.columnar.arrays import IntArray
from muntin_engine.evaluators.arrays.store.stretch_store import StoreT
from muntin_engine.evaluators.arrays.stretches.stretch_table import StretchTable
from muntin_engine.evaluators.batch import BucketBlob
from muntin_engine.time.changes import InputChange, Key, Rejection
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.wire.task_payload import TaskPayload

NO_KEYS: Final[IntArray] = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Admitted:
    """The rows of a batch that count, and what became of the others.

    Attributes:
        rows: The stretches to add, in the tables in which they arrived.
        accepted: The number of rows that took effect. A row that waits for others of its event counts in the batch in
            which its wait ends.
        keys: The number of keys with rows.
        late: The number of late rows, where these are not kept.
        rejections: The late and rejected rows, by key, where these are kept.
        changed_keys: The codes of the keys whose events changed, where results may be corrected.
    """

    rows: Sequence[StretchTable] = ()
    accepted: int = 0
    keys: int = 0
    late: int = 0
    rejections: Sequence[tuple[Key, Rejection]] = ()
    changed_keys: IntArray = field(default_factory=lambda: NO_KEYS)


class RowAdmission(ABC, Generic[StoreT]):
    """The rows that a query takes in: on their way to buckets, and there."""

    @abstractmethod
    def lift(self, task: TaskPayload, rows: pa.Table) -> Iterator[BucketBlob]:
        """Yield the blob of each bucket that gets rows, given good rows of a task."""

    @abstractmethod
    def lift_one(self, row: InputChange, keys: Sequence[pa.Array], payload: Sequence[pa.Array]) -> Iterator[BucketBlob]:
        """Yield the blob of a row for the only bucket there is.

        Args:
            row: The row, of which only the times and the id are read.
            keys: The parts of its key as columns.
            payload: The parts of its payload as columns.
        """

    @abstractmethod
    def admit(
        self, blobs: Sequence[bytes], store: StoreT, previous: InputsProgress, progress: InputsProgress
    ) -> Admitted:
        """Decide which rows of a batch count.

        Args:
            blobs: The rows, as map tasks sent them.
            store: The store of the bucket.
            previous: The progress before the batch, by which rows are late.
            progress: The progress after it, by which rows stop waiting for others.
        """
