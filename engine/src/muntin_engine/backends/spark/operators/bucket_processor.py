"""Spark's stateful operator around a bucket. It holds packed tasks and calls `run_bucket`.

Spark starts a Python process on the driver for each such operator of a query, which only declares its state. So the
code that evaluates is imported in the method that gets rows: importing it takes longer than the rest of that process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext
from pyspark.sql import Row
from pyspark.sql import types as spark_types
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from muntin_engine.backends.spark.private_parts import client_of_state

if TYPE_CHECKING:
    from muntin_engine.state.cells import Origin
    from muntin_engine.state.idle_note import IdleNote
    from muntin_engine.wire.task_payload import TaskPayload

_NAME: Final = spark_types.StructType([spark_types.StructField("name", spark_types.StringType())])
_DATA: Final = spark_types.StructType([spark_types.StructField("data", spark_types.BinaryType())])

_NO_BUCKET: Final = -1
"""The key under which every partition keeps its note of idle micro-batches: the id of no bucket."""

_WITH_STATE: Final[set[tuple[str, int]]] = set()
"""The buckets that have written state in this process: each as the id of its query and its own id.

On Spark Connect the id of the query is empty, so buckets of the same id in different queries count as one.
"""


class MapCells:
    """The cells of a bucket, in a map of Spark's state store.

    Attributes:
        may_be_new: True if cells may be missing. Spark logs a warning for each missing value that is read, so it is
            asked first whether there is a value.
    """

    def __init__(self, state: Any) -> None:
        self._state = state
        self.may_be_new = True

    def get(self, name: str) -> bytes | None:
        """Return a cell's bytes, or None if it is empty."""
        if self.may_be_new and not self._state.containsKey((name,)):
            return None
        value = self._state.getValue((name,))
        return None if value is None else bytes(value[0])

    def put(self, name: str, data: bytes) -> None:
        """Set a cell."""
        self._state.updateValue((name,), (data,))

    def remove(self, name: str) -> None:
        """Empty a cell."""
        self._state.removeKey((name,))


REPARTITIONED: Final = "spark.muntin.repartitioned"
"""The setting that names a micro-batch in which Spark gave the state another number of partitions, and ran no query."""


class BucketProcessor(StatefulProcessor):
    """Runs the buckets of a streaming query, or of several in one pass.

    Spark unpickles it anew for each partition of each micro-batch; only the state store lasts.

    A micro-batch with a row writes the state of all buckets. In a micro-batch without rows no bucket is evaluated, and
    each partition writes an `IdleNote` instead, by which older state is told from state that was lost.
    """

    def __init__(self, tasks: Mapping[int, bytes], *, has_begun: bool = False) -> None:
        """Create the processor.

        Args:
            tasks: The packed task of each bucket.
            has_begun: True if the checkpoint is known to have the states of the buckets.
        """
        self._tasks = tasks
        self._has_begun = has_begun

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the state. The tasks are not unpacked: this runs where their modules may not be importable."""
        self._cells = MapCells(handle.getMapState("cells", _NAME, _DATA))
        self._client = client_of_state(handle)  # sets the bucket whose cells are read and written
        self._is_idle = True

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Evaluate one bucket in a micro-batch that has rows; Spark calls it once for each bucket.

        Args:
            key: The id of the bucket, in a tuple.
            rows: The rows of the bucket, as blobs.
            timerValues: Spark's times, which are not used.
        """
        from muntin_engine.backends.spark.delivery.packed_task import open_task
        from muntin_engine.backends.spark.failures.worker_errors import module_error_first
        from muntin_engine.tasks.bucket_task import run_bucket
        from muntin_engine.tasks.output_blobs import with_totals
        from muntin_engine.wire.shuffle import collect

        self._is_idle = False  # so that `close` writes no note of an idle micro-batch
        bucket = key[0]
        task = open_task(self._tasks[bucket])
        origin = _origin_of(bucket)

        # A bucket that has written state in this process is taken to have all of its cells, so that Spark need not be
        # asked before each read whether there is one. At worst, where the micro-batch that wrote them was not committed
        # and comes again, or another query wrote them (see `_WITH_STATE`), Spark logs its warning of a missing value.
        bucket_of_query = (origin.query if origin else "", bucket)
        self._cells.may_be_new = bucket_of_query not in _WITH_STATE

        def may_lack(first_missing: int) -> bool:
            """Return True if the state may lack the micro-batches from this one on; see `_may_lack`.

            It is called only if the state of the bucket is not of the previous micro-batch.
            """
            return origin is not None and self._may_lack(first_missing, origin, task)

        with module_error_first():
            arrivals = collect(rows, len(task.inputs))
            blobs = run_bucket(task, bucket, self._cells, arrivals, origin=origin, may_lack=may_lack)
            for blob in with_totals(blobs):
                yield Row(bucket=bucket, place=task.place, **blob.columns())
        _WITH_STATE.add(bucket_of_query)

    def close(self) -> None:
        """End the task of a partition: if none of its buckets was evaluated, write the note of idle micro-batches.

        Otherwise the decoded state of the buckets is kept from the garbage collector, which PySpark runs next.
        """
        if not self._is_idle:
            from muntin_engine.backends.spark.operators.settled_worker import FROZEN_STATE

            FROZEN_STATE.end_task()
            return
        # A partition keeps its note under `_NO_BUCKET`, an id that no bucket has. By the note, a later task tells a
        # bucket that had nothing to do from one whose state was lost.
        origin = _origin_of(_NO_BUCKET)
        if origin is None:
            return  # a note needs the number of the micro-batch, which a task does not know on Spark Connect
        from muntin_engine.state.cells import seal
        from muntin_engine.state.idle_note import IDLE, IdleNote

        with self._cells_of(_NO_BUCKET, origin):
            note = IdleNote.in_idle_batch(origin.batch, self._stored_note(origin), _repartitioned_batch())
            self._cells.put(IDLE, seal(IDLE, note.to_bytes(), origin))

    def _may_lack(self, first_missing: int, origin: Origin, task: TaskPayload) -> bool:
        """Return True if it is no damage that the state of the evaluated bucket is not of the previous micro-batch.

        Args:
            first_missing: The first micro-batch that did not write the state of the bucket: the one after the last
                write; 0 if the bucket has no state.
            origin: The origin of the bucket in this micro-batch.
            task: The task of the bucket.

        Raises:
            StateMismatchError: A bucket has no state because the state is another query's, which has other buckets.
        """
        from muntin_engine.state.idle_note import IdleNote

        with self._cells_of(_NO_BUCKET, origin):  # where the note of the partition is
            stored_note = self._stored_note(origin)
        note = IdleNote.up_to(origin.batch - 1, stored_note, _repartitioned_batch())
        if note is not None and note.explains(first_missing, has_begun=self._has_begun):
            return True
        is_without_state = first_missing == 0
        if is_without_state:
            self._refuse_other_query(origin, task)
        return False

    def _refuse_other_query(self, origin: Origin, task: TaskPayload) -> None:
        """Raise if a bucket has no state because the state is another query's, which has other buckets.

        That shows in the buckets that both queries have.

        Args:
            origin: The origin of the bucket without state in this micro-batch.
            task: The task of the bucket.

        Raises:
            StateMismatchError: The state is another query's.
        """
        from muntin_engine.state.bucket_state import BucketMetadata
        from muntin_engine.state.cells import METADATA, split, unseal

        for bucket in self._tasks:
            with self._cells_of(bucket, origin):
                sealed = self._cells.get(METADATA)
            if sealed is not None:
                _, metadata = split(unseal(METADATA, sealed))  # the first part has the checksums of other cells
                # Called only for its error: it raises unless the state is this query's.
                BucketMetadata.from_bytes(metadata, task.compatibility, task.codec)

    def _stored_note(self, origin: Origin) -> IdleNote | None:
        """Return the last note that the partition has written; None if it has none of this query.

        Args:
            origin: The origin of a bucket of the partition in this micro-batch.
        """
        from muntin_engine.state.cells import unseal
        from muntin_engine.state.idle_note import IDLE, IdleNote

        sealed = self._cells.get(IDLE)
        if not sealed:
            return None
        cell = unseal(IDLE, sealed, owner="a partition")
        is_of_query = (cell.origin.query, cell.origin.bucket) == (origin.query, _NO_BUCKET)
        return IdleNote.of_cell(cell) if is_of_query else None

    @contextmanager
    def _cells_of(self, bucket: int, origin: Origin) -> Iterator[None]:
        """Have `_cells` read and write the cells of another bucket in a block.

        Args:
            bucket: The other bucket.
            origin: The origin of the bucket that is evaluated, whose cells are read and written after the block.
        """
        may_be_new = self._cells.may_be_new
        self._cells.may_be_new = True
        self._client.set_implicit_key((bucket,))
        yield
        # Not in a `finally`: after an exception Spark gives up the partition, and with it this object.
        self._client.set_implicit_key((origin.bucket,))
        self._cells.may_be_new = may_be_new


def _origin_of(bucket: int) -> Origin | None:
    """Return the origin of the cells that the running task writes: its query, the bucket and its micro-batch.

    None on the driver, which only declares the state, and on Spark Connect, where a task does not know its micro-batch.
    """
    context = TaskContext.get()
    if context is None:
        return None
    batch = context.getLocalProperty("streaming.sql.batchId")
    if batch is None:
        return None
    from muntin_engine.state.cells import Origin

    return Origin(context.getLocalProperty("sql.streaming.queryId") or "", bucket, int(batch))


def _repartitioned_batch() -> int | None:
    """Return the micro-batch in which Spark moved the state, as the running task is told; None if it is told of none.

    The setting stays for the whole run of the query, and may be that of an earlier run.
    """
    context = TaskContext.get()
    batch = None if context is None else context.getLocalProperty(REPARTITIONED)
    return int(batch) if batch else None
