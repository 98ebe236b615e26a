"""The calls that write queries to sinks, and check and close their checkpoint: for one query, and for one pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

from muntin import Duration
from muntin_engine.api.arguments import check_name, check_path
from muntin_engine.backends.backend import Backend
from muntin_engine.backends.choosing import backend_of
from muntin_engine.backends.planned_query import PlannedQuery
from muntin_engine.backends.write_request import WriteRequest, WrittenOutputs
from muntin_engine.errors import StateMismatchError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin_engine.sinks.recordings.recorder import RecordLike
    from muntin_engine.sinks.sink import SinkLike

SinksT = TypeVar("SinksT")
"""The type of the sinks of an output: a sink, or a sink for each query of a pass."""

RecordT = TypeVar("RecordT")
"""The type of the place of a recording: a place, or a place for each query of a pass."""


class WriteOptions(TypedDict, total=False):
    """The arguments of `Query.write` besides the checkpoint, for calls that forward them."""

    results: SinkLike | None
    late_rows: SinkLike | None
    rejected_rows: SinkLike | None
    metrics: SinkLike | None
    every: Duration | None
    available_now: bool
    on_end: str
    name: str | None
    record: RecordLike | None


class WritesOutputs(ABC, Generic[SinksT, RecordT]):
    """The part of a query, or of several in one pass, that writes them to sinks."""

    @property
    @abstractmethod
    def queries_by_name(self) -> Mapping[str, PlannedQuery]:
        """The queries that are written together, by name; the name of a query that is written alone is empty."""

    @abstractmethod
    def sinks_by_query(self, sinks: Mapping[str, SinksT | None]) -> Mapping[str, Mapping[str, object]]:
        """Return the sinks by the names of their queries, and then by the outputs that they get.

        Args:
            sinks: The arguments of `write` that are sinks, by the name of the output.

        Raises:
            QueryError: In one pass, the sinks of an output are not named by queries.
        """

    def write(  # noqa: PLR0913  # a sink for each output, and how it runs
        self,
        *,
        checkpoint: str | PathLike[str] | None = None,
        results: SinksT | None = None,
        late_rows: SinksT | None = None,
        rejected_rows: SinksT | None = None,
        evicted_rows: SinksT | None = None,
        metrics: SinksT | None = None,
        every: Duration | None = None,
        available_now: bool = False,
        on_end: str = "leave",
        name: str | None = None,
        record: RecordT | None = None,
    ) -> StreamingQuery:
        """Start a Spark query that evaluates each micro-batch once and hands its outputs to sinks.

        A sink is the path of a folder for Parquet files (see `ParquetFolder`), an address such as `delta:PATH` or
        `s3://bucket/results`, a function of a DataFrame and the number of its micro-batch, or a `Sink`. Every sink gets
        every micro-batch, in the order of the arguments. After a crash the last micro-batch is repeated, with the same
        number; a sink that skips or replaces a number that it already has gets each row exactly once. The input is a
        stream; the results of a static input are written like any DataFrame.

        One Spark query evaluates all queries of `one_pass`. Their sinks go by the names of the queries, as in
        `results={"hourly": "hourly", "sessions": "sessions"}`, and every query has at least one. If a sink fails, the
        micro-batch is repeated for all queries.

        A notebook shows the returned `StreamingQuery` as `queries` prints it, as of now, with its last micro-batches
        and its plan.

        Args:
            checkpoint: Spark's checkpoint location; required. Each query has one, and keeps it. The checkpoint of
                `one_pass` stores its queries by name, and none can be added, left out or changed.
            results: The sink of the rows that `results` returns.
            late_rows: The sink of the rows that `late_rows` returns. The query then runs on an evaluator that keeps
                rows: see `explain`.
            rejected_rows: The sink of the rows that `rejected_rows` returns.
            evicted_rows: The sink of the rows that `evicted_rows` returns.
            metrics: The sink of one row per micro-batch: `batch_id`, the counts `accepted`, `late`, `rejected` and
                `results`, the `watermark` of the output, and the other `metrics` by name.
            every: The time from the start of a micro-batch to the start of the next, with a unit, such as
                `"10 seconds"`. None: the next one starts when the last one has ended.
            available_now: True to stop when all input that is available now has been read.
            on_end: The fate of open windows when the query ends. `"leave"`: they wait in the checkpoint for a later
                start. `"close"`: the stream is closed, and its last windows are emitted in one more micro-batch, when
                `awaitTermination()` finds the query ended, or in `stop()`. No query can continue from the checkpoint
                after that.
            name: Spark's name for the query, in its UI too. None: the name given by `named`, or else the windows and
                the key, with a number where a running query has that name.
            record: A folder in which the input is recorded, micro-batch by micro-batch, so that a `Recording` can
                replay it without Spark; or a `Recorder`, which can limit the keys and the size. A query that continues
                from its checkpoint continues its recording. It may also begin one there, which then contains the state
                that it begins with. If rows cannot be recorded, the query keeps running, and the recording says where
                it ends. For `one_pass`: the folder in which each query has a folder; or a mapping from the name of
                each query that is recorded to its folder or `Recorder`.

        Raises:
            QueryError: The input is static, or nothing advances its watermark; no checkpoint or no sink is given; an
                argument is not a sink or cannot take its output; two sinks write to the same place; a key of `record`
                is none of the query; or there is no query of a name.
            DurationError: `every` cannot be read.
            PolicyError: `every` has no unit, or is negative.
            SetupError: As for `results`.
            StateMismatchError: The checkpoint is of another query. Nothing was read or changed.
            StateError: The checkpoint is damaged or closed, or a folder is gone that it has written to.
            RecordingError: The folder has the recording of another query, or of a later time than the checkpoint.
        """
        if checkpoint is not None:
            check_path("checkpoint", checkpoint)
        if name is not None:
            check_name("name", name)
        request = WriteRequest(
            outputs=self._written(
                results=results,
                late_rows=late_rows,
                rejected_rows=rejected_rows,
                evicted_rows=evicted_rows,
                metrics=metrics,
            ),
            checkpoint=checkpoint,
            every=every,
            available_now=available_now,
            on_end=on_end,
            name=name,
            record=record,
        )
        return self._backend.write(request)

    def close_checkpoint(
        self,
        checkpoint: str | PathLike[str],
        *,
        results: SinksT | None = None,
        late_rows: SinksT | None = None,
        rejected_rows: SinksT | None = None,
        evicted_rows: SinksT | None = None,
        metrics: SinksT | None = None,
    ) -> None:
        """Close the stream of a checkpoint that no query runs on, so that its last windows are emitted.

        `write` with `on_end="close"` does this by itself. Call `close_checkpoint` for a query that was stopped without
        that, or killed while it closed its stream. The windows are emitted from the state, as one more micro-batch. No
        query can continue from the checkpoint after that.

        It does not work for a query over another query's results, nor on Spark Connect: send a row with
        `change = 'close'` there.

        Args:
            checkpoint: The checkpoint of the query.
            results: The sink of the results, as it was given to `write`. It gets the results of the last windows.
            late_rows: The sink of late rows, as it was given to `write`, and required if it was. It gets no more rows.
            rejected_rows: The sink of rejected rows, as it was given to `write`. It gets no more rows.
            evicted_rows: The sink of the second output, as it was given to `write`. It gets that of the last windows.
            metrics: The sink of metrics, as it was given to `write`. It gets the row of the last micro-batch.

        Raises:
            QueryError: The query cannot be closed, or something is not a sink.
            StateError: The checkpoint is closed, or of another query, or a micro-batch of it was cut short; or a sink
                is ahead of it or behind it, or has lost rows.
            SinkError: A sink failed. Call again with the same sinks when it works.
        """
        check_path("checkpoint", checkpoint)
        outputs = self._written(
            results=results,
            late_rows=late_rows,
            rejected_rows=rejected_rows,
            evicted_rows=evicted_rows,
            metrics=metrics,
        )
        self._backend.close_checkpoint(outputs, checkpoint)

    def check(self, checkpoint: str | PathLike[str]) -> list[str]:
        """Check that the query can continue from a checkpoint, and describe its changes since then.

        The state is read, in time proportional to its size: it must be of the query, and all of it in its place and of
        the last micro-batch. `write` checks only the identity that it stores in the checkpoint; the first micro-batch
        then finds other mismatches, before any state changes and any row is emitted. The query of the checkpoint may
        run meanwhile.

        Args:
            checkpoint: Spark's checkpoint location; an empty one is no error.

        Returns:
            Descriptions of the changes, and of their effect on results: aggregates that were added or removed, sources
            that join or leave, and modules and functions with other code of the same version. Empty if the query is the
            same.

        Raises:
            StateMismatchError: The checkpoint is of another query.
            StateError: Another version of Muntin wrote it, in a layout that this one cannot read; or it is damaged,
                closed, or has files of the state in the place of others.
        """
        check_path("checkpoint", checkpoint)
        return self._backend.check_checkpoint(self.queries_by_name, checkpoint)

    def explain(self, *, checkpoint: str | PathLike[str] | None = None) -> None:
        """Print the evaluation of the query, with reasons; `plan_text` returns it.

        In a chain the text begins with the queries whose results are read. For `one_pass` it has each query in turn.

        Args:
            checkpoint: A checkpoint: the text then says whether the query can continue from it, and which modules and
                functions have other code than at its beginning, with the same version.

        Raises:
            StateError: The checkpoint cannot be read. That it is of another query is no error: the lines say so.
        """
        # It prints as Spark's DataFrame.explain() does, which query writers know; plan_text() is for programs.
        print(self.plan_text(checkpoint=checkpoint))  # noqa: T201

    @abstractmethod
    def plan_text(self, *, checkpoint: str | PathLike[str] | None = None) -> str:
        """Return the text that `explain` prints; its arguments and errors are those of `explain`."""

    def _explain_checkpoint(self, checkpoint: str | PathLike[str]) -> str:
        """Return the lines of `explain` that say whether the queries can go on with a checkpoint.

        Raises:
            StateError: The checkpoint cannot be read. That it is of another query is no error: the lines say so.
        """
        try:
            facts = self.check(checkpoint)
        except StateMismatchError as error:
            facts = [str(error)]
        if not facts:
            facts = ["the query can go on with it, and is what it began with"]  # there is no change to describe
        heading = "checkpoint  "
        indent = " " * len(heading)
        lines: list[str] = []
        for fact in facts:
            lines.append(heading + fact.replace("\n", f"\n{indent}"))
        return "\n".join(lines)

    @property
    def _backend(self) -> Backend:
        """The backend that runs the queries, which read one input."""
        first_query = next(iter(self.queries_by_name.values()))
        return backend_of(first_query.source.df)

    def _written(self, **sinks: SinksT | None) -> WrittenOutputs:
        """Return the queries with the sinks of their outputs.

        Args:
            sinks: The sink of each output, by the name of the output; None for an output that is not written.
        """
        return WrittenOutputs(self.queries_by_name, self.sinks_by_query(sinks))
