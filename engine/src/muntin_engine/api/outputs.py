"""The output of a planned query: results as DataFrames, to sinks, and as text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Self

from muntin import Duration, QueryError
from muntin_engine.api.arguments import check_name, check_path
from muntin_engine.api.planned_query import PlannedQuery
from muntin_engine.api.query_text import html_of, text_of
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.planner import keeping_late_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin_engine.writing import SinkLike


@dataclass(frozen=True, repr=False)
class Outputs(PlannedQuery):
    """The output of a planned query: results as DataFrames, to sinks, and as text."""

    def __repr__(self) -> str:
        """Return the query in three lines."""
        return text_of(self.plan)

    def _repr_html_(self) -> str:
        """Return the explanation of the query, for notebooks."""
        return html_of(self.plan, self.inner)

    def show(self, rows: int = 20, *, truncate: bool | int = True) -> None:
        """Print the first results of a static input, in the order of their windows, as `DataFrame.show` does.

        Args:
            rows: How many.
            truncate: Whether long values are cut, or to how many characters.

        Raises:
            QueryError: The input is a stream, or what `results` raises.
        """
        if self.source.df.isStreaming:
            raise QueryError(
                "show() takes all results of an input that has an end, and this one is a stream\n"
                "  write them: query.write(results='results', checkpoint='checkpoint'), or try the query on a part of\n"
                "  the data: events(spark.read..., ...)"
            )
        keys = [f"`{key.name}`" for key in self.plan.keys]
        self.results().orderBy("window", *keys).show(rows, truncate)

    def named(self, metrics_name: str) -> Self:
        """Return the query with a name of its own for its metrics."""
        check_name("metrics_name", metrics_name)
        return replace(self, metrics_name=metrics_name, is_named=True)

    def untimed(self) -> Self:
        """Return the query without measuring how long its stages and modules take."""
        return replace(self, is_timed=False)

    def results(self, watermark: str | None = None) -> DataFrame:
        """Return the results: the key columns, `window` with `start` and `end`, and what the modules compute.

        With timestamps other than `align` there is a column `lifetime` too. Speculative results have `change`
        (`insert` or `retract`) and `event_id`, which names a result among those of its key. Where a module is
        time-bound and its results are emitted eagerly, `change` may also be `revise`: the result's lifetime ends at
        `new_end` from now on. A lifetime without an end has a null `end`. Early results have `timing` (`early` or
        `final`) and `firing`, which counts how often their window was emitted before; where they are retracted they
        have `change` and `event_id` as well.

        A static input is taken as a whole: nothing in it is late, and every window is complete.

        While a streaming query of it runs, its progress has observed metrics under its name: the input, output and
        durations of each micro-batch. `batch_metrics` reads them and `monitor` shows them.

        Args:
            watermark: The name of a column to add, the start of the result's lifetime, with a watermark of Spark's that
                follows the output's watermark even where no window has a result. Spark's own windows, joins and
                de-duplication over that column then make progress and drop nothing. A Spark query has one watermark
                column on its way, so it must not set another. For final results of hopping, tumbling and calendar
                windows over timestamps of events without ids; others do not come in the order of their windows.

        Raises:
            QueryError: The input is a stream that never says how complete it is, or contains another query whose counts
                have the same name; or the results cannot have a watermark.
            SetupError: The session's state store cannot hold the state, the modules cannot travel to the workers, or
                the workers lack what they need: a task on each says so before anything runs, unless the session's
                setting `spark.muntin.preflight` is `false`.
        """
        from muntin_engine.spark.pipeline import results

        if watermark is not None:
            check_name("watermark", watermark)
        return results(self, watermark)

    def late(self) -> DataFrame:
        """Return the rows that came behind the watermark: `reason`, `message`, the `row` as JSON and `late_by`.

        `late_by` is how far its sync time lay behind the watermark, in ticks (microseconds where the axis is time);
        null if the row came after the end of the stream.

        A streaming query of these rows is one of its own, with its own checkpoint and its own state: it evaluates the
        whole once more, from its rows (see `explain`), to know what is late. Its counts are those of `results`.

        Raises:
            QueryError: Late rows are dropped, so there are none to return; or the query must be evaluated over slices,
                as several windows share them or an evaluator was asked for, and slices have no rows in them.
        """
        from muntin_engine.spark.pipeline import side_output

        return side_output(self, "late")

    def rejected(self) -> DataFrame:
        """Return the rows that make no sense where they came: `reason`, `message`, the `row` as JSON, and a null.

        As `late` does, a streaming query of these rows evaluates the whole.
        """
        from muntin_engine.spark.pipeline import side_output

        return side_output(self, "rejected")

    def evicted(self) -> DataFrame:
        """Return the second output of a `RowOperator`: what its `on_evict` returned for rows that left their window.

        It has the key columns, `partition` if rows are partitioned, `window` (the tick at which the rows left), and the
        fields of a row, as the class declares them.

        As `late` does, a streaming query of it evaluates the whole; `write(results=..., evicted=...)` evaluates it once
        for both.

        Raises:
            QueryError: The query has no such output: its module is another one, or declares None for it.
        """
        from muntin_engine.spark.pipeline import evicted

        return evicted(self)

    def write(  # noqa: PLR0913  # a sink for each output, and how it runs
        self,
        *,
        checkpoint: str | PathLike[str],
        results: SinkLike | None = None,
        late: SinkLike | None = None,
        rejected: SinkLike | None = None,
        evicted: SinkLike | None = None,
        progress: SinkLike | None = None,
        trigger: Duration | None = None,
        on_end: str = "leave",
        name: str | None = None,
    ) -> StreamingQuery:
        """Start a Spark query that evaluates each micro-batch once and hands its outputs to sinks.

        A sink is the path of a folder for Parquet files (see `ParquetFolder`), a function of a DataFrame and the
        number of its micro-batch, or a `Sink`. Every sink gets every micro-batch, in the order of the arguments. After
        a crash the last one comes again, with its number; sinks that go by it have each row exactly once.

        Args:
            checkpoint: Where Spark keeps how far the query is; its own, for as long as the query is.
            results: Takes what `results` returns.
            late: Takes what `late` returns. The query is then evaluated in general, from its rows: see `explain`.
            rejected: Takes what `rejected` returns.
            evicted: Takes what `evicted` returns.
            progress: Takes one row per micro-batch: `batch_id`, the counts `accepted`, `late`, `rejected` and
                `results`, the `watermark` of the output, and the other `metrics` by name.
            trigger: How long from the start of a micro-batch to that of the next, with its unit, such as
                `"10 seconds"`; at once if it is None; `"available_now"` to stop when all that there is has been read.
            on_end: What becomes of open windows when the query ends. `"leave"`: they wait in the checkpoint for a later
                start. `"close"`: the stream is closed, so its last windows come out, in a micro-batch of their own,
                when `awaitTermination()` finds that all there is was read, or when `stop()` ends the query. The
                checkpoint is then closed for good: a query that is started with it is refused.
            name: Spark's name for the query.

        Raises:
            QueryError: The input is static, or never says how complete it is; no sink is named, one is none or cannot
                take its output, or two write in the same place.
            DurationError: The trigger cannot be read.
            PolicyError: It has no unit, or is negative.
            SetupError: As for `results`.
            StateMismatchError: The checkpoint is of another query. Nothing was read or changed.
            StateError: The checkpoint is damaged or closed, or a folder is gone that it has written to.
        """
        check_path("checkpoint", checkpoint)
        if name is not None:
            check_name("name", name)
        from muntin_engine.spark.writing.write import write

        sinks = {"results": results, "late": late, "rejected": rejected, "evicted": evicted, "progress": progress}
        return write(self, sinks, checkpoint, trigger, on_end, name)

    def close_checkpoint(
        self,
        checkpoint: str | PathLike[str],
        *,
        results: SinkLike | None = None,
        late: SinkLike | None = None,
        rejected: SinkLike | None = None,
        evicted: SinkLike | None = None,
        progress: SinkLike | None = None,
    ) -> None:
        """Close the stream of a checkpoint that no query runs on, so that its last windows come out.

        `write` with `on_end="close"` does that by itself; this is for a query that was stopped without, and for one
        that was killed while it closed its stream. The windows come out of the state, as one more micro-batch. The
        checkpoint is closed for good then.

        Args:
            checkpoint: The checkpoint of the query.
            results: As for `write`, the same sinks; the others too.
            late: Gets no more rows; but a query that keeps late rows is evaluated in another way.
            rejected: Gets no more rows.
            evicted: Takes what rows give that leave at the end.
            progress: Gets the row of the last micro-batch.

        Raises:
            QueryError: The query cannot be closed, or a sink is none.
            StateError: The checkpoint is closed, or of another query, or a micro-batch of it was cut short.
            SinkError: A sink failed. Call again with the same sinks when it works.
        """
        check_path("checkpoint", checkpoint)
        from muntin_engine.spark.writing.closing import close_checkpoint

        sinks = {"results": results, "late": late, "rejected": rejected, "evicted": evicted, "progress": progress}
        close_checkpoint(self, sinks, checkpoint)

    def check_checkpoint(self, checkpoint: str | PathLike[str], *, late: bool = False) -> None:
        """Raise unless the query can go on with a checkpoint; it may be one that nothing was written to yet.

        `write` does so by itself, from a note that it keeps in the checkpoint. Of a checkpoint that was started by
        `results().writeStream` the state is read, which takes as long as reading what the query holds; such a query
        otherwise finds out in its first micro-batch, before any state changes and any row is emitted.

        Args:
            checkpoint: Where Spark keeps how far the query is.
            late: True for the query with late rows kept, as `write` with a sink for them has it.

        Raises:
            StateMismatchError: The checkpoint is of another query.
            StateError: Another version of Muntin wrote it, in a layout that this one cannot read; or it is damaged, or
                closed.
            QueryError: Late rows cannot be kept.
        """
        check_path("checkpoint", checkpoint)
        from muntin_engine.spark.writing.write import check_checkpoint

        check_checkpoint(self, checkpoint, late=late)

    def explain(self, *, late: bool = False) -> str:
        """Explain the evaluation of the query, with reasons.

        Args:
            late: True for the evaluation with late rows kept, as `write` with a sink for them has it.

        Raises:
            QueryError: Late rows cannot be kept, as several windows share their slices.
        """
        return explain_plan(keeping_late_rows(self.plan) if late else self.plan, self.inner)
