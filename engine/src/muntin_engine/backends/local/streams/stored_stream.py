"""The state of a streaming query in this process: bytes and plain data, with which a query that starts anew goes on.

It is what Spark's checkpoint is to a query there, in memory: the cells of each bucket and the identity of each query,
as the last micro-batch left them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from muntin_engine.backends.local.runs.batch_output import BatchOutput
from muntin_engine.backends.local.runs.local_query import CellsByBucket, LocalQuery
from muntin_engine.backends.local.runs.run_input import input_batches
from muntin_engine.backends.planning.closed_streams import check_closes
from muntin_engine.backends.planning.query_task import task_of
from muntin_engine.errors import StateError
from muntin_engine.evaluators.declarations import DECLARATIONS
from muntin_engine.plan.code_in_use import with_stored_hashes
from muntin_engine.plan.continuing import check_plans
from muntin_engine.plan.identity import plan_identity
from muntin_engine.plan.query_checks import check_progress, check_trigger
from muntin_engine.plan.worker_settings import WorkerSettings
from muntin_engine.state.bucket_state import query_and_progress
from muntin_engine.state.cells import METADATA, split, unseal
from muntin_engine.state.codec import Codec
from muntin_engine.time.inputs_progress import furthest_progress

if TYPE_CHECKING:
    from muntin_engine.backends.local.frames.micro_batch import MicroBatch
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.time.changes import Progress
    from muntin_engine.wire.task_payload import TaskPayload

_LOG: Final = logging.getLogger("muntin.checkpoint")

_NO_CACHE: Final = WorkerSettings(cache_bytes=0)
"""The settings of a process that keeps nothing between micro-batches."""


@dataclass(frozen=True)
class _QueryState:
    """The state of one query between micro-batches.

    Attributes:
        identity: The properties that the state depends on, as the query began.
        cells: The bytes of the cells.
    """

    identity: Mapping[str, Any]
    cells: CellsByBucket

    def tracked_progress(self) -> Iterator[Sequence[Any]]:
        """Yield the progress that each bucket has stored, as plain data; buckets without a state have none."""
        for cells in self.cells.values():
            if METADATA not in cells:
                continue  # no row has reached the bucket yet
            _, metadata = split(unseal(METADATA, cells[METADATA]))  # the first part is checksums of other cells
            progress = query_and_progress(metadata, Codec()).progress
            yield progress


class StoredStream:
    """The states of a query and of the queries whose results it reads, between micro-batches."""

    def __init__(self) -> None:
        """Begin before the first micro-batch."""
        self._states: Sequence[_QueryState] = ()
        self._is_closed = False

    def check(self, query: PlannedQuery) -> list[str]:
        """Check that a query can continue from the state, and return a line for each difference that is allowed.

        Raises:
            StateMismatchError: The state is of another query.
        """
        if not self._states:
            return []
        identities = [state.identity for state in self._states]
        return check_plans(
            query.plans, identities, checkpoint="", declarations=DECLARATIONS, stored_progress=self._progress
        )

    def _progress(self) -> list[Progress]:
        """Return how far each query is complete, the queries whose results others read first."""
        return [furthest_progress(state.tracked_progress()) for state in self._states]

    def process(self, query: PlannedQuery, micro_batch: MicroBatch) -> BatchOutput:
        """Evaluate a micro-batch, and keep the state after it; if it fails, the state stays as it is.

        Args:
            query: The query, planned anew over the rows of the micro-batch.
            micro_batch: The micro-batch, which gets the output of each query for the queries that read it.

        Raises:
            StateMismatchError: The state is of another query.
            StateError: The stream was closed.
            QueryError: The query never says how complete it is, or a row cannot be read.
            ModuleFailedError: A module raised an exception, with its key and window.
        """
        if self._is_closed:
            raise StateError(
                "the stream is closed: its last windows were emitted, so every further row would be late\n"
                "  expected: feed() and advance() before close()"
            )
        for change in self.check(query):
            _LOG.warning("%s", change)

        states: list[_QueryState] = []
        # Each query comes after those that it reads, whose output is then in the micro-batch.
        for place, planned_query in enumerate((*query.all_inner_queries, query)):
            check_progress(planned_query.plan)
            check_trigger(planned_query.plan)
            running_query = LocalQuery(_task_of(planned_query), self._cells_of(place))
            inputs = (input_batches(planned_query, side) for side, _ in enumerate(planned_query.sources))
            outputs = list(running_query.process(inputs))
            micro_batch.passed_on[planned_query.inner_id] = outputs
            # Copied, as the next micro-batch writes to the cells and may then fail.
            cells = {bucket: dict(bucket_cells.cells) for bucket, bucket_cells in running_query.cells.items()}
            states.append(_QueryState(self._identity_of(planned_query, place), cells))

        # Stored only when all queries have succeeded: a micro-batch that fails runs again from the state before it.
        self._states = states
        return BatchOutput.of_blobs(running_query.task, outputs)  # of the last query, which is `query`

    def close(self, query: PlannedQuery) -> BatchOutput:
        """Close the stream: windows that are open are emitted, and no micro-batch comes after it.

        Raises:
            QueryError: The query keeps no state, or reads the results of another one.
            StateMismatchError: The state is of another query.
            StateError: The stream was closed, or there was no micro-batch.
        """
        check_closes(query)
        if self._is_closed:
            raise StateError("the stream is closed already: its last windows were emitted")
        if not self._states:
            raise StateError("the stream has no micro-batch yet, so there is nothing to close\n  feed() it first")
        self.check(query)  # only for its error
        running_query = LocalQuery(_task_of(query), self._cells_of(0))  # the only query: it reads no results of others
        output = BatchOutput.of_blobs(running_query.task, running_query.close())
        self._is_closed = True
        return output

    def _cells_of(self, place: int) -> CellsByBucket | None:
        """Return the cells of a query by its place; None before its first micro-batch."""
        return self._states[place].cells if self._states else None

    def _identity_of(self, query: PlannedQuery, place: int) -> Mapping[str, Any]:
        """Return the identity of a query as it is stored.

        Code of an unchanged version keeps its first hash, so that each micro-batch reports a change of the code.
        """
        identity = plan_identity(query.plan)
        if not self._states:
            return identity
        return with_stored_hashes(identity, self._states[place].identity)


def _task_of(query: PlannedQuery) -> TaskPayload:
    """Return the task of a query over a stream, which keeps nothing in this process but its cells."""
    return task_of(query, _NO_CACHE, is_static=False)
