"""Close a stream when its Spark query has ended: its last windows are one more micro-batch.

They are computed from the state in the checkpoint. Spark has no part in that micro-batch and no source has to announce
it, so a checkpoint can be closed whatever query started it, and whatever its input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from threading import Lock
from typing import TYPE_CHECKING, Final

from pyspark.sql.streaming.query import StreamingQuery

from muntin.errors import QueryError
from muntin_engine.backends.planning.closed_streams import BY_A_ROW, check_closes
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.checkpoints.sink_checks import END_OF_STREAM
from muntin_engine.backends.spark.dataframes.pipeline import closing_blobs
from muntin_engine.backends.spark.foreach_batch.batch_writer import BatchWriter
from muntin_engine.backends.spark.foreach_batch.query_ids import StoredQueryId
from muntin_engine.backends.spark.foreach_batch.query_sinks import QueriesWithSinks, with_sinks
from muntin_engine.backends.spark.foreach_batch.written_query import WrittenQuery
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.backends.spark.session.kinds import is_connect
from muntin_engine.errors import StateError

if TYPE_CHECKING:
    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.backends.write_request import WrittenOutputs
    from muntin_engine.sinks.recordings.recording_writer import RecordingWriter

ENDS: Final = ("leave", "close")


def check_end(query: PlannedQuery, on_end: str) -> None:
    """Raise unless a stream can end as the argument `on_end` of `write` says.

    Args:
        query: The query that reads the stream.
        on_end: The argument: `leave` or `close`.

    Raises:
        QueryError: The argument is neither of these, or this stream cannot be closed.
    """
    if on_end not in ENDS:
        raise QueryError(
            f"on_end={on_end!r} is not a way to end a stream\n"
            "  expected: 'leave', so that open windows wait for a later start, or 'close', which emits them"
        )
    if on_end == "leave":
        return
    if query.plan.choice.keeps_state and is_connect(query.source.df.sparkSession):
        raise QueryError(f"on_end='close' writes on the driver, which this session has on a Connect server\n{BY_A_ROW}")
    check_closes(query)


@in_session()
def close_checkpoint(outputs: WrittenOutputs, path: str | PathLike[str]) -> None:
    """Write the last windows of a checkpoint; see `Query.close_checkpoint`."""
    for query in outputs.queries.values():
        check_end(query, "close")
    checkpoint = Checkpoint(outputs.first_query.source.df.sparkSession, path)
    queries = with_sinks(checkpoint.in_order(outputs.queries), outputs.sinks, path)
    write_last_windows(queries, path)


@in_session()
def write_last_windows(
    queries: QueriesWithSinks, path: str | PathLike[str], recordings: Sequence[RecordingWriter | None] = ()
) -> None:
    """Close a stream on which no query runs: emit its last windows, and mark the checkpoint as closed.

    Args:
        queries: The queries that read the stream, with their sinks.
        path: The checkpoint of the queries.
        recordings: The recording of each query, None for a query without one; empty if no query has one.

    Raises:
        StateError: The stream is closed already, the checkpoint is another query's or has no micro-batch, or its last
            micro-batch was cut short.
    """
    session = queries.queries[0].source.df.sparkSession
    checkpoint = Checkpoint(session, path)
    # Not `check_open`: if the stream was being closed, and that was not finished, it is closed again here.
    checkpoint.check_not_closed()
    checkpoint.check(queries.plans, queries.names)
    checkpoint.check_sinks(queries.sinks_by_spelling)
    if checkpoint.last_commit < 0:
        raise StateError(f"the checkpoint {path} has no micro-batch yet, so there is nothing to close")
    batch_id = checkpoint.last_commit + 1
    if checkpoint.is_cut_short:
        raise StateError(
            f"the checkpoint {path} cannot be closed: micro-batch {batch_id} was not committed\n"
            "  expected: a checkpoint whose last micro-batch was committed\n"
            "  start the query once more, with available_now=True and on_end='close'"
        )

    # The first mark is written before any sink gets a row, and the second one after all sinks have all rows. If the
    # process dies in between, the checkpoint refuses to start a query. Then the closing has to run again, with the same
    # number, by which sinks recognize rows that they have.
    with checkpoint.state.cells() as cells:
        batch_writer = BatchWriter(
            queries.sinks,
            query_id=StoredQueryId(fspath(path)),
            checkpoint=fspath(path),
            destinations=checkpoint.checked_destinations,
            first_file=checkpoint.closing_begins,
            input_id=END_OF_STREAM,
            recordings=recordings,
        )
        batch_writer(closing_blobs(queries.queries, cells), batch_id)
    checkpoint.closing_ends.write(session, batch_id)


class ClosingQuery(WrittenQuery):
    """A query of Spark's that closes its stream once the query has ended.

    A caller of `awaitTermination` or `stop` closes the stream. If the query fails, its stream stays open.
    """

    def __init__(
        self,
        running: StreamingQuery,
        finish: Callable[[], None],
        close: Callable[[], None],
        checkpoint: str,
        planned_queries: Sequence[PlannedQuery],
    ) -> None:
        """Wrap a running query.

        Args:
            running: The query of Spark's.
            finish: Runs the last micro-batch again if it was cut short.
            close: Closes the stream; called after `finish`.
            checkpoint: The path of the checkpoint.
            planned_queries: The queries of Muntin's in it, which a notebook shows.
        """
        super().__init__(running, checkpoint, planned_queries)
        self._finish = finish
        self._close = close
        self._is_closed = False
        self._closing = Lock()

    def awaitTermination(self, timeout: int | None = None) -> bool | None:
        """Wait until the query has ended, and close its stream.

        Args:
            timeout: The number of seconds to wait; None to wait until the end.

        Returns:
            False if the query has not ended in time; then its stream is still open. None without a timeout.
        """
        has_ended = super().awaitTermination(timeout)
        if has_ended is not False:  # without a timeout, Spark returns None at the end
            self._close_once()
        return has_ended

    def stop(self) -> None:
        """Stop the query and close its stream. A micro-batch that has begun is finished; no further one begins."""
        super().stop()
        if self.exception() is None:
            self._close_once()

    def _close_once(self) -> None:
        """Close the stream unless it is closed: several threads may wait for the query, and stop it meanwhile."""
        with self._closing:
            if not self._is_closed:
                self._finish()
                self._close()
                self._is_closed = True
