"""Closing a stream when a Spark query of it has ended: its last windows are one more micro-batch.

They come out of the state in the checkpoint. Spark has no part in that micro-batch: no source has to say that it comes,
so a checkpoint can be closed whatever query it was started by, and whatever its input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from threading import Lock
from typing import TYPE_CHECKING, Final

from pyspark.sql.streaming.query import StreamingQuery

from muntin.errors import QueryError
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.checkpoints.sink_checks import AT_THE_END
from muntin_engine.backends.spark.dataframes.pipeline import closing_blobs
from muntin_engine.backends.spark.foreach_batch.batch_writer import BatchWriter, Written, written_to
from muntin_engine.backends.spark.foreach_batch.query_ids import StoredQueryId
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
    """Raise unless a stream can be ended in a way.

    Raises:
        QueryError: There is no such way, or no way to close this one.
    """
    if on_end not in ENDS:
        raise QueryError(
            f"on_end={on_end!r} is not a way to end a stream\n"
            "  expected: 'leave', so that open windows wait for a later start, or 'close', which emits them"
        )
    if on_end == "close" and not query.plan.choice.keeps_state:
        raise QueryError(
            "on_end='close' emits what waits for the end, and this query keeps no state\n  leave on_end out"
        )
    by_row = "  let its input say that it has ended: by a row with change='close', see events()"
    if on_end == "close" and is_connect(query.source.df.sparkSession):
        raise QueryError(f"on_end='close' writes on the driver, which this session has on a Connect server\n{by_row}")
    if on_end == "close" and query.inner:
        raise QueryError(
            f"on_end='close' closes a query of events, and this one is of another query's results\n{by_row}"
        )


@in_session()
def close_checkpoint(outputs: WrittenOutputs, checkpoint: str | PathLike[str]) -> None:
    """Write the last windows of a checkpoint; see `Query.close_checkpoint`."""
    for query in outputs.queries.values():
        check_end(query, "close")
    known = Checkpoint(outputs.first_query.source.df.sparkSession, checkpoint)
    write_last_windows(written_to(known.in_order(outputs.queries), outputs.sinks, checkpoint), checkpoint)


@in_session()
def write_last_windows(
    written: Written, checkpoint: str | PathLike[str], recordings: Sequence[RecordingWriter | None] = ()
) -> None:
    """Close a stream, of which no query runs.

    Args:
        written: The queries that read it, with their sinks.
        checkpoint: Their checkpoint.
        recordings: The recording of each query, if it has one.

    Raises:
        StateError: It is closed already, is another query's, or a micro-batch of it was cut short.
    """
    session = written.queries[0].source.df.sparkSession
    known = Checkpoint(session, checkpoint)
    if known.is_closed:
        known.check_open()
    known.check(written.plans, written.names)
    known.check_sinks(written.by_name)
    if known.last_commit < 0:
        raise StateError(f"the checkpoint {checkpoint} has no micro-batch yet, so there is nothing to close")
    batch_id = known.last_commit + 1
    if known.is_cut_short:
        raise StateError(
            f"the checkpoint {checkpoint} cannot be closed: micro-batch {known.last_commit + 1} was not committed\n"
            "  expected: a checkpoint whose last micro-batch was committed\n"
            "  start the query once more, with available_now=True and on_end='close'"
        )
    with known.state.cells() as cells:
        query_id = StoredQueryId(fspath(checkpoint))
        batches = BatchWriter(written.sinks, query_id, fspath(checkpoint), known.closing_begins, AT_THE_END, recordings)
        batches(closing_blobs(written.queries, cells), batch_id)
    known.closing_ends.keep(session, batch_id)


class ClosingQuery(WrittenQuery):
    """A query of Spark's that closes its stream once it has ended: when it is waited for, or stopped.

    If it fails, its stream stays open.
    """

    def __init__(
        self,
        running: StreamingQuery,
        finish: Callable[[], None],
        close: Callable[[], None],
        checkpoint: str,
        shown: Sequence[PlannedQuery],
    ) -> None:
        """Take over a query that runs.

        Args:
            running: The query.
            finish: Runs a micro-batch that was cut short, if there is one.
            close: Closes the stream.
            checkpoint: Its checkpoint.
            shown: The queries of Muntin's in it, which a notebook shows.
        """
        super().__init__(running, checkpoint, shown)
        self._finish = finish
        self._close = close
        self._is_closed = False
        self._closing = Lock()

    def awaitTermination(self, timeout: int | None = None) -> bool | None:
        """Wait until the query has ended and its stream is closed; False if it has not ended after some seconds."""
        has_ended = super().awaitTermination(timeout)
        if has_ended is not False:
            self._end()
        return has_ended

    def stop(self) -> None:
        """Stop the query and close its stream. What it has begun to read is read to the end, and nothing else."""
        super().stop()
        if self.exception() is None:
            self._end()

    def _end(self) -> None:
        with self._closing:
            if not self._is_closed:
                self._finish()
                self._close()
                self._is_closed = True
