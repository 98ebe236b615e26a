"""The output of a planned query: results as DataFrames, to sinks, and as text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Final, Self, TypedDict

from muntin import Duration
from muntin.errors import QueryError
from muntin_engine.api.arguments import check_name, check_path
from muntin_engine.backends.planned_query import PlannedQuery, Selection
from muntin_engine.plan.explanation import explain_plan, html_of, text_of
from muntin_engine.plan.steps import step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin_engine.sinks import SinkLike
    from muntin_engine.sinks.recordings.recorder import RecordLike


OUTPUTS: Final = ("results", "late_rows", "rejected_rows", "evicted_rows", "metrics")
"""The outputs that `write` has sinks for."""


class WriteOptions(TypedDict, total=False):
    """The arguments of `Outputs.write` besides the checkpoint, for calls that pass them on."""

    results: SinkLike | None
    late_rows: SinkLike | None
    rejected_rows: SinkLike | None
    metrics: SinkLike | None
    every: Duration | None
    available_now: bool
    on_end: str
    name: str | None
    record: RecordLike | None


@dataclass(frozen=True, repr=False)
class Outputs(PlannedQuery):
    """The output of a planned query: results as DataFrames, to sinks, and as text."""

    def __repr__(self) -> str:
        """Return the query in three lines."""
        return text_of(self.plan)

    def _repr_html_(self) -> str:
        """Return the query for notebooks: its explanation as a table, after those of the queries before it."""
        return html_of(self.plan, self.plans[:-1])

    def show(self, rows: int = 20, *, truncate: bool | int = True) -> None:
        """Print the first results of a static input, in the order of their windows, as `DataFrame.show` does.

        Args:
            rows: The number of results.
            truncate: True to cut long values, or the number of characters to cut them to.

        Raises:
            QueryError: The input is a stream; or as for `results`.
            pyspark.errors.PythonException: A module failed. The message begins with its error.
        """
        if self.source.df.isStreaming:
            raise QueryError(
                "show() takes all results of an input that has an end, and this one is a stream\n"
                "  write them: query.write(results='results', checkpoint='checkpoint'), or try the query on a part of\n"
                "  the data: events(spark.read..., ...)"
            )
        keys = [f"`{key.name}`" for key in self.plan.keys]
        order = "window" if self.plan.is_windowed else self.plan.lifetime_column
        from muntin_engine.backends.spark.failures import module_first
        from muntin_engine.backends.spark.selecting import selected

        with module_first():
            ordered = replace(self, selection=Selection()).results().orderBy(order, *keys)
            selected(ordered, self.selection).show(rows, truncate)

    def named(self, metrics_name: str) -> Self:
        """Return the query with a name, which its metrics have.

        Without one they are called `muntin`, or `muntin` and the window where a Spark query contains several queries.
        """
        check_name("metrics_name", metrics_name)
        return replace(self, metrics_name=metrics_name, is_named=True)

    def untimed(self) -> Self:
        """Return the query without measuring how long its stages and modules take."""
        return replace(self, is_timed=False)

    @step
    def select(self, /, *names: str, **columns: str) -> Self:
        """Return the query with some columns of its results, and with others that are computed from them.

        Columns that say what becomes of a result, `change`, `event_id`, `new_end`, `timing` and `firing`, stay after
        them. Modules, state and checkpoint are the same. If called again, the last call counts.

        Args:
            names: The names of columns to keep.
            columns: By name, expressions in SQL over the results, such as `window_start="window.start"`.

        Raises:
            QueryError: There is no such column, or an expression cannot be computed.

        Example:
            >>> query.select("station", start="window.start", share="late / n")  # doctest: +SKIP
        """
        from muntin_engine.backends.spark.pipeline import select_results

        wanted = {**{name: f"`{name}`" for name in names}, **columns}
        return replace(self, selection=select_results(self, wanted, None))

    @step
    def where(self, condition: str) -> Self:
        """Return the query with those results that meet a condition, as HAVING has them in SQL.

        A result that is retracted meets it as it did when it was emitted, so a changelog stays whole. Where ends of
        results are revised, the condition should not read `lifetime`. Several calls are combined with "and".

        Args:
            condition: In SQL, over all columns of the results.

        Raises:
            QueryError: It cannot be computed, or is of another type than boolean.

        Example:
            >>> query.where("n > 10")  # doctest: +SKIP
        """
        from muntin_engine.backends.spark.pipeline import select_results

        return replace(self, selection=select_results(self, None, condition))

    def results(self, watermark: str | None = None) -> DataFrame:
        """Return the results: the key columns, `window` with `start` and `end`, and what the modules compute.

        A query without windows has a column `lifetime` in its place.
        With timestamps other than `align` there is a column `lifetime` too; its `end` is null if there is none.
        Speculative and eager results have `change` (`insert` or `retract`) and `event_id`, which identifies a result
        within its key. For time-bound results `change` may also be `revise`: the result's lifetime then ends at
        `new_end`. Early results have `timing` (`early` or `final`) and `firing`, the number of earlier firings of the
        window; with `refinement="retract"` they have `change` and `event_id` as well.

        A static input is taken as a whole: nothing in it is late, and every window is complete. The results of a
        stream are written with `write`, or with `results().writeStream` in append mode for a sink of Spark's own;
        `collect`, `count`, `show` and `toPandas` raise a `QueryError` that says so.

        The progress of a running streaming query has its metrics: the input, output and durations of each micro-batch.
        `batch_metrics` reads them and `monitor` shows them.

        Args:
            watermark: The name of a column to add: the start of the result's lifetime, with a Spark watermark that
                follows the output watermark, also while no window has a result. Spark's own windows, joins and
                deduplication over that column then make progress and drop nothing: no later result starts before it,
                and none that is retracted. Where results may be retracted, Spark's operators see each change as a row,
                and what they compute must heed `change`. Do not call `withWatermark` on the results as well. Needs
                timestamps, and results that are never revised to another end.

        Raises:
            QueryError: The input is a stream whose watermark nothing advances, or contains another query whose metrics
                have the same name; or the results cannot have a watermark, for the reason that it gives.
            SetupError: The session's state store cannot hold the state, the modules cannot be sent to the workers, or
                the workers lack something that the query needs. A preflight check finds that out before the query runs,
                unless the session's setting `spark.muntin.preflight` is `false`.
        """
        from muntin_engine.backends.spark.pipeline import results

        if watermark is not None:
            check_name("watermark", watermark)
        return results(self, watermark)

    def late_rows(self) -> DataFrame:
        """Return the late rows: `reason`, `message`, the `row` as JSON and `late_by`; also rows that were shed.

        `late_by` is the distance from the sync time of the row, the earliest time that it changes, to the watermark: an
        interval if times are timestamps, otherwise a number of their type. It is null if the row came after the end of
        the stream. Which rows are late, and by how much, depends on how rows are cut into micro-batches.

        A streaming query of these rows is a separate Spark query, with its own checkpoint and its own state: it
        evaluates the whole query again, from its rows (see `explain`). Its metrics are those of `results`.

        Raises:
            QueryError: The query drops late rows; or it must be evaluated over slices, because several windows share
                them or `evaluator` says so, and slices contain no rows.
        """
        from muntin_engine.backends.spark.pipeline import side_output

        return side_output(self, "late_rows")

    def rejected_rows(self) -> DataFrame:
        """Return the invalid rows: `reason`, `message`, the `row` as JSON, and a null in the place of `late_by`.

        As with `late_rows`, a streaming query of these rows evaluates the whole query again.
        """
        from muntin_engine.backends.spark.pipeline import side_output

        return side_output(self, "rejected_rows")

    def evicted_rows(self) -> DataFrame:
        """Return the second output of a `RowOperator`: what its `on_evict` returned for rows that left their window.

        It has the key columns, `partition` if rows are partitioned, `window` (the tick at which the rows left), and the
        fields of a row, as the class declares them.

        As with `late_rows`, a streaming query of it evaluates the whole query again;
        `write(results=..., evicted_rows=...)` evaluates it once for both.

        Raises:
            QueryError: The query has no second output: its module is not a `RowOperator`, or declares None for it.
        """
        from muntin_engine.backends.spark.pipeline import evicted

        return evicted(self)

    def write(  # noqa: PLR0913  # a sink for each output, and how it runs
        self,
        *,
        checkpoint: str | PathLike[str] | None = None,
        results: SinkLike | None = None,
        late_rows: SinkLike | None = None,
        rejected_rows: SinkLike | None = None,
        evicted_rows: SinkLike | None = None,
        metrics: SinkLike | None = None,
        every: Duration | None = None,
        available_now: bool = False,
        on_end: str = "leave",
        name: str | None = None,
        record: RecordLike | None = None,
    ) -> StreamingQuery:
        """Start a Spark query that evaluates each micro-batch once and hands its outputs to sinks.

        A sink is the path of a folder for Parquet files (see `ParquetFolder`), an address such as `delta:PATH` or
        `s3://bucket/results`, a function of a DataFrame and the
        number of its micro-batch, or a `Sink`. Every sink gets every micro-batch, in the order of the arguments. After
        a crash the last micro-batch is repeated, with the same number; a sink that skips or replaces a number that it
        already has gets each row exactly once. The input is a stream; the results of a static one are written as any
        DataFrame is.

        A notebook shows the `StreamingQuery` that is returned as `queries` prints it, as of now, with the plan below
        it.

        Args:
            checkpoint: Spark's checkpoint location: one per query, kept as long as the query. It has to be given.
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
                Whatever keeps rows from being recorded, the query goes on, and the recording says where it ends.

        Raises:
            QueryError: The input is static, or nothing advances its watermark; no checkpoint or no sink is given, one
                is not a sink or cannot take its output, or two write to the same place.
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
        from muntin_engine.backends.spark.writing.write import write

        sinks = dict(zip(OUTPUTS, (results, late_rows, rejected_rows, evicted_rows, metrics), strict=True))
        return write({"": self}, {"": sinks}, checkpoint, every, available_now, on_end, name, record)

    def close_checkpoint(
        self,
        checkpoint: str | PathLike[str],
        *,
        results: SinkLike | None = None,
        late_rows: SinkLike | None = None,
        rejected_rows: SinkLike | None = None,
        evicted_rows: SinkLike | None = None,
        metrics: SinkLike | None = None,
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
        from muntin_engine.backends.spark.writing.closing import close_checkpoint

        sinks = dict(zip(OUTPUTS, (results, late_rows, rejected_rows, evicted_rows, metrics), strict=True))
        close_checkpoint({"": self}, {"": sinks}, checkpoint)

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
        from muntin_engine.backends.spark.writing.write import check_checkpoint

        return check_checkpoint({"": self}, checkpoint)

    def explain(self, *, checkpoint: str | PathLike[str] | None = None) -> None:
        """Print the evaluation of the query, with reasons; `plan_text` returns it.

        In a chain it begins with the queries whose results are its input.

        Args:
            checkpoint: A checkpoint, to have it said whether the query can go on with it, and which modules and
                functions have other code than it began with, and the same version.

        Raises:
            StateError: As for `check`, where the checkpoint is not that of another query.
        """
        print(self.plan_text(checkpoint=checkpoint))  # noqa: T201  # as a DataFrame does

    def plan_text(self, *, checkpoint: str | PathLike[str] | None = None) -> str:
        """Return the text that `explain` prints; arguments and errors are the same."""
        evaluation = explain_plan(self.plan, self.plans[:-1])
        if checkpoint is None:
            return evaluation
        check_path("checkpoint", checkpoint)
        from muntin_engine.backends.spark.writing.write import explain_checkpoint

        return f"{evaluation}\n{explain_checkpoint({'': self}, checkpoint)}"
