"""The calls that write queries to sinks and ask about their checkpoint: of one query, and of several in one pass."""

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
from muntin_engine.backends.write_request import OUTPUTS, WriteRequest, WrittenOutputs
from muntin_engine.errors import StateMismatchError

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin_engine.sinks import SinkLike
    from muntin_engine.sinks.recordings.recorder import RecordLike

SinksT = TypeVar("SinksT")
"""The type of the sinks of an output: a sink, or one for each query of a pass."""

RecordT = TypeVar("RecordT")
"""The type of the place of a recording, or of one for each query of a pass."""


class WriteOptions(TypedDict, total=False):
    """The arguments of `Query.write` besides the checkpoint, for calls that pass them on."""

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
        """The queries that are written together; the name of one that is written alone is empty."""

    @abstractmethod
    def sinks_by_query(self, sinks: Mapping[str, SinksT | None]) -> Mapping[str, Mapping[str, object]]:
        """Return sinks by the name of their query and by output, of what was given for each output.

        Raises:
            QueryError: Sinks are not named by queries.
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
        `s3://bucket/results`, a function of a DataFrame and the
        number of its micro-batch, or a `Sink`. Every sink gets every micro-batch, in the order of the arguments. After
        a crash the last micro-batch is repeated, with the same number; a sink that skips or replaces a number that it
        already has gets each row exactly once. The input is a stream; the results of a static one are written as any
        DataFrame is.

        One Spark query evaluates all queries of `one_pass`. Their sinks go by the names of the queries, as in
        `results={"hourly": "hourly", "sessions": "sessions"}`, and every query has at least one. If a sink fails, the
        micro-batch is repeated for all queries.

        A notebook shows the `StreamingQuery` that is returned as `queries` prints it, as of now, with the plan below
        it.

        Args:
            checkpoint: Spark's checkpoint location: one per query, kept as long as the query. It has to be given. That
                of `one_pass` remembers its queries by name, and none can be added, left out or changed.
            results: Takes what `results` returns.
            late_rows: Takes what `late_rows` returns. The query then runs on an evaluator that keeps rows: see
                `explain`.
            rejected_rows: Takes what `rejected_rows` returns.
            evicted_rows: Takes what `evicted_rows` returns.
            metrics: Takes one row per micro-batch: `batch_id`, the counts `accepted`, `late`, `rejected` and
                `results`, the `watermark` of the output, and the other `metrics` by name.
            every: The time from the start of a micro-batch to that of the next, with its unit, such as `"10 seconds"`.
                None: the next one starts when the last has ended.
            available_now: True to stop when all input that is there now has been read.
            on_end: What happens to open windows when the query ends. `"leave"`: they wait in the checkpoint for a later
                start. `"close"`: the stream is closed, and its last windows are emitted in one more micro-batch, when
                `awaitTermination()` finds the query ended, or in `stop()`. No query can continue from the checkpoint
                after that.
            name: Spark's name for the query, in its UI too. None: the name given by `named`, or else the windows and
                the key, with a number where a running query has that name.
            record: A folder in which what comes is recorded, micro-batch by micro-batch, so that a `Recording` can
                replay it without Spark; or a `Recorder`, which also says which keys and how much. A query that goes on
                with its checkpoint goes on with its recording, and may begin one; that has the state it begins with.
                Whatever keeps rows from being recorded, the query goes on, and the recording says where it ends. Of
                `one_pass`: the folder in which each query has a folder, or a place by the name of each query that is
                recorded.

        Raises:
            QueryError: The input is static, or nothing advances its watermark; no checkpoint or no sink is given, one
                is not a sink or cannot take its output, or two write to the same place; or there is no query of a name.
            DurationError: `every` cannot be read.
            PolicyError: It has no unit, or is negative.
            SetupError: As for `results`.
            StateMismatchError: The checkpoint is of another query. Nothing was read or changed.
            StateError: The checkpoint is damaged or closed, or a folder is gone that it has written to.
            RecordingError: The folder has the recording of another query, or of a later time than the checkpoint.
        """
        if checkpoint is not None:
            check_path("checkpoint", checkpoint)
        if name is not None:
            check_name("name", name)
        outputs = self._written(results, late_rows, rejected_rows, evicted_rows, metrics)
        return self._backend.write(WriteRequest(outputs, checkpoint, every, available_now, on_end, name, record))

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

        `write` with `on_end="close"` does that by itself; this is for a query that was stopped without it, or killed
        while it closed its stream. The windows are emitted from the state, as one more micro-batch. No query can
        continue from the checkpoint after that.

        It does not work for a query over another query's results, nor on Spark Connect: send a row with
        `change = 'close'` there.

        Args:
            checkpoint: The checkpoint of the query.
            results: As for `write`, the same sinks; the others too.
            late_rows: Gets no more rows, but has to be given if the query was started with it.
            rejected_rows: Gets no more rows.
            evicted_rows: Takes the second output of the last micro-batch.
            metrics: Gets the row of the last micro-batch.

        Raises:
            QueryError: The query cannot be closed, or something is not a sink.
            StateError: The checkpoint is closed, or of another query, or a micro-batch of it was cut short.
            SinkError: A sink failed. Call again with the same sinks when it works.
        """
        check_path("checkpoint", checkpoint)
        outputs = self._written(results, late_rows, rejected_rows, evicted_rows, metrics)
        self._backend.close_checkpoint(outputs, checkpoint)

    def check(self, checkpoint: str | PathLike[str]) -> list[str]:
        """Return what has changed since a checkpoint, in words; raise an error unless the query can continue from it.

        The state is read, in time proportional to its size: it must be of the query, and all of it in its place and of
        the last micro-batch. `write` checks the identity alone, which it stores in the checkpoint. What a start does
        not find, the first micro-batch does, before any state changes and any row is emitted. The query of the
        checkpoint may run meanwhile.

        Args:
            checkpoint: Spark's checkpoint location; an empty one is no error.

        Returns:
            What differs, and what that means for results: aggregates that were added or removed, sources that join or
            leave, and modules and functions with other code of the same version. Nothing if it is the same query.

        Raises:
            StateMismatchError: The checkpoint is of another query.
            StateError: Another version of Muntin wrote it, in a layout that this one cannot read; or it is damaged,
                closed, or has files of the state in the place of others.
        """
        check_path("checkpoint", checkpoint)
        return self._backend.check_checkpoint(self.queries_by_name, checkpoint)

    def explain(self, *, checkpoint: str | PathLike[str] | None = None) -> None:
        """Print the evaluation of the query, with reasons; `plan_text` returns it.

        In a chain it begins with the queries whose results are its input. Of `one_pass` it has each query in turn.

        Args:
            checkpoint: A checkpoint, to have it said whether the query can go on with it, and which modules and
                functions have other code than it began with, and the same version.

        Raises:
            StateError: As for `check`, where the checkpoint is not that of another query.
        """
        print(self.plan_text(checkpoint=checkpoint))  # noqa: T201  # as a DataFrame does

    @abstractmethod
    def plan_text(self, *, checkpoint: str | PathLike[str] | None = None) -> str:
        """Return the text that `explain` prints; arguments and errors are the same."""

    def _explain_checkpoint(self, checkpoint: str | PathLike[str]) -> str:
        """Return the lines of `explain` that say whether the queries can go on with a checkpoint.

        Raises:
            StateError: As for `check`, where the checkpoint is not that of another query.
        """
        try:
            facts = self.check(checkpoint)
        except StateMismatchError as error:
            facts = [str(error)]
        if not facts:
            facts = ["the query can go on with it, and is what it began with"]
        indented = "\n" + " " * len("checkpoint  ")
        return "\n".join(f"checkpoint  {fact}".replace("\n", indented) for fact in facts)

    @property
    def _backend(self) -> Backend:
        """The backend that runs the queries, which read one input."""
        first_query = next(iter(self.queries_by_name.values()))
        return backend_of(first_query.source.df)

    def _written(self, *sinks: SinksT | None) -> WrittenOutputs:
        """Return the queries with the sinks of their outputs, which are in the order of `OUTPUTS`."""
        sinks_by_output = dict(zip(OUTPUTS, sinks, strict=True))
        return WrittenOutputs(self.queries_by_name, self.sinks_by_query(sinks_by_output))
