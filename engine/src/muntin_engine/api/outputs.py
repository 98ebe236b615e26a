"""The output of a planned query: as tables, to sinks, and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Self, overload

from muntin.errors import QueryError
from muntin_engine.api.arguments import check_name
from muntin_engine.api.input_types import InputT, Path
from muntin_engine.api.writes_outputs import WritesOutputs
from muntin_engine.backends.choosing import is_stream
from muntin_engine.backends.planned_query import PlannedQuery
from muntin_engine.plan.explanation import explain_plan, text_of
from muntin_engine.plan.request import backquoted
from muntin_engine.plan.steps import step
from muntin_engine.sinks.recordings.recorder import Recorder, RecordLike
from muntin_engine.sinks.sink import SinkLike

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class Outputs(PlannedQuery, WritesOutputs[SinkLike, RecordLike], Generic[InputT]):
    """The output of a planned query: as tables of the kind of its first input, to sinks, and as text."""

    def __repr__(self) -> str:
        """Return the query in three lines."""
        return text_of(self.plan)

    def _repr_html_(self) -> str:
        """Return charts and the explanation for notebooks, after those of the queries whose results are read.

        A query over a table in memory with few rows is run, and the rows of a key are drawn with their windows.
        """
        from muntin_engine.plan.plan_html import html_of  # only notebooks need pictures

        memory = self._backend.memory_in_words(self)
        return html_of(self.plan, self.inner_plans, memory=memory, picture=self._backend.picture(self))

    @property
    def is_stream(self) -> bool:
        """True if the input is a stream, and False if it is static."""
        return is_stream(self.source.df)

    def show(self, rows: int = 20, *, truncate: bool | int = True, workers: int | None = None) -> None:
        """Print the first results of a static input, in the order of their windows, as `DataFrame.show` does.

        Args:
            rows: The number of results.
            truncate: True to cut long values, or the number of characters to cut them to.
            workers: As for `results`.

        Raises:
            QueryError: The input is a stream; or as for `results`.
            ModuleFailedError: A module failed over tables in this process, with its key and window.
            pyspark.errors.PythonException: A module failed on Spark. The message begins with its error.
        """
        if self.is_stream:
            raise QueryError(
                "show() takes all results of an input that has an end, and this one is a stream\n"
                "  write them: query.write(results='results', checkpoint='checkpoint'), or try the query on a part of\n"
                "  the data: events(spark.read..., ...)"
            )
        self._backend.show(self._run_by(workers), rows, truncate=truncate)

    def named(self, metrics_name: str) -> Self:
        """Return the query with a name for its metrics.

        Without a name, metrics are called `muntin`; if a Spark query contains several queries, the window is added.
        """
        check_name("metrics_name", metrics_name)
        return replace(self, metrics_name=metrics_name, is_named=True)

    def untimed(self) -> Self:
        """Return the query without measuring how long its stages and modules take."""
        return replace(self, is_timed=False)

    @step
    def select(self, /, *names: str, **columns: str) -> Self:
        """Select columns of the results, and compute others from them.

        The columns of changes, `change`, `event_id`, `new_end`, `timing` and `firing`, are kept, after the selected
        ones. Modules, state and checkpoint do not change. If called again, the last call counts.

        Args:
            names: The names of columns to keep.
            columns: Expressions in SQL over the results, by name, such as `window_start="window.start"`.

        Raises:
            QueryError: There is no such column, or an expression cannot be computed.

        Example:
            >>> query.select("station", start="window.start", share="late / n")  # doctest: +SKIP
        """
        expressions = {name: backquoted(name) for name in names}
        expressions |= columns
        return replace(self, selection=self._backend.select_results(self, columns=expressions, condition=None))

    @step
    def where(self, condition: str) -> Self:
        """Keep only the results that meet a condition, like HAVING in SQL.

        A retraction has the values of its result and so passes if the result did: a changelog stays complete. Where
        ends of results are revised, the condition should not read `lifetime`. Several calls are combined with "and".

        Args:
            condition: A condition in SQL, over all columns of the results.

        Raises:
            QueryError: The condition cannot be computed, or is of another type than boolean.

        Example:
            >>> query.where("n > 10")  # doctest: +SKIP
        """
        return replace(self, selection=self._backend.select_results(self, columns=None, condition=condition))

    @overload
    def results(self: Outputs[Path], watermark: str | None = None, *, workers: int | None = None) -> pa.Table: ...

    @overload
    def results(self, watermark: str | None = None, *, workers: int | None = None) -> InputT: ...

    def results(self, watermark: str | None = None, *, workers: int | None = None) -> Any:
        """Return the results: the key columns, `window` with `start` and `end`, and the results of the modules.

        A query without windows has a column `lifetime` in place of `window`. With timestamps other than `align` there
        is a column `lifetime` as well; its `end` is null for a result without an end.

        Speculative and eager results have `change` (`insert` or `retract`) and `event_id`, which identifies a result
        within its key. For time-bound results `change` may also be `revise`: the result's lifetime then ends at
        `new_end`. Early results have `timing` (`early` or `final`) and `firing`, the number of earlier firings of the
        window; with `refinement="retract"` they have `change` and `event_id` as well.

        A static input is one batch: nothing in it is late, and every window is complete. The results of a stream are
        written with `write`, or with `results().writeStream` in append mode for a sink of Spark's own; `collect`,
        `count`, `show` and `toPandas` raise a `QueryError` that says so.

        Over tables in this process the results are a table of the kind of the first input: a data frame of pandas or
        Polars, a relation of DuckDB, or a `pyarrow.Table` for Arrow data and files. The query runs in this call.

        The progress of a running streaming query has its metrics: the input, output and durations of each micro-batch.
        `batch_metrics` reads them and `monitor` shows them.

        Args:
            watermark: The name of a column to add: the start of the result's lifetime, with a Spark watermark that
                follows the output watermark, even while no window has a result. Spark's own windows, joins and
                deduplication over that column then make progress and drop nothing: no later result or retraction starts
                before it. Where results may be retracted, Spark's operators see each change as a row, so their
                expressions must take `change` into account. Do not call `withWatermark` on the results as well. The
                times must be timestamps, and the ends of results must never be revised.
            workers: The number of processes over which a query of tables in this process is spread if it takes longer
                than a moment; without it, the cores that this process may use. The results are the same for any number.
                Code of modules that prints, logs or counts does so in these processes. With 1 everything is in this
                process. Spark has executors, and refuses it.

        Raises:
            QueryError: The input is a stream whose watermark nothing advances, or contains another query whose metrics
                have the same name; or the results cannot have a watermark: the message says why.
            SetupError: The session's state store cannot hold the state, the modules cannot be sent to the workers, or
                the workers lack packages or modules of the query. A preflight check finds this before the query runs,
                unless the session's setting `spark.muntin.preflight` is `false`.
        """
        if watermark is not None:
            check_name("watermark", watermark)
        return self._backend.results(self._run_by(workers), watermark)

    @overload
    def late_rows(self: Outputs[Path], *, workers: int | None = None) -> pa.Table: ...

    @overload
    def late_rows(self, *, workers: int | None = None) -> InputT: ...

    def late_rows(self, *, workers: int | None = None) -> Any:
        """Return the late rows, and rows that were shed: `reason`, `message`, the `row` as JSON and `late_by`.

        `late_by` is the distance from the sync time of the row, the earliest time that it changes, to the watermark: an
        interval if times are timestamps, otherwise a number of their type. It is null if the row came after the end of
        the stream. Which rows are late, and by how much, depends on how rows are cut into micro-batches.

        A streaming query of these rows is a separate Spark query, with its own checkpoint and its own state: it
        evaluates the whole query again, from its rows (see `explain`). Its metrics are those of `results`.

        Args:
            workers: As for `results`.

        Raises:
            QueryError: The query drops late rows; or it must be evaluated over slices, which contain no rows, because
                several windows share them or `evaluator` says so.
        """
        return self._backend.refused_rows(self._run_by(workers), "late_rows")

    @overload
    def rejected_rows(self: Outputs[Path], *, workers: int | None = None) -> pa.Table: ...

    @overload
    def rejected_rows(self, *, workers: int | None = None) -> InputT: ...

    def rejected_rows(self, *, workers: int | None = None) -> Any:
        """Return the invalid rows: `reason`, `message`, the `row` as JSON, and null as `late_by`.

        As with `late_rows`, a streaming query of these rows evaluates the whole query again.

        Args:
            workers: As for `results`.
        """
        return self._backend.refused_rows(self._run_by(workers), "rejected_rows")

    @overload
    def evicted_rows(self: Outputs[Path], *, workers: int | None = None) -> pa.Table: ...

    @overload
    def evicted_rows(self, *, workers: int | None = None) -> InputT: ...

    def evicted_rows(self, *, workers: int | None = None) -> Any:
        """Return the second output of a `RowOperator`: the results of its `on_evict` for rows that left their window.

        It has the key columns, `partition` if rows are partitioned, `window` (the tick at which the rows left), and the
        fields of a row, as the class declares them.

        As with `late_rows`, a streaming query of this output evaluates the whole query again;
        `write(results=..., evicted_rows=...)` evaluates it once for both.

        Args:
            workers: As for `results`.

        Raises:
            QueryError: The query has no second output: its module is not a `RowOperator`, or declares None for it.
        """
        return self._backend.evicted_rows(self._run_by(workers))

    def record(self, record: RecordLike) -> None:
        """Run the query over its tables in this process, and record it, so that `Recording(...)` tells its story.

        The recording has the rows as the query reads them, and is explained as that of a stream: which rows made each
        result, and the fate of each row. It is a stream of one micro-batch, which then ends. A stream on Spark is
        recorded while it runs, by `write(record=...)`.

        Args:
            record: A folder for the recording, which has none yet; or a `Recorder`, which can limit the keys.

        Raises:
            QueryError: The input is a DataFrame of Spark's, or `record` is no place for a recording, or has a key that
                is none of the query.
            RecordingError: The folder has a recording.
            ModuleFailedError: A module raised an exception. The recording has the rows up to it.

        Cost: that of the query in one process, and its rows on disk.

        Example:
            >>> query.record("wrong_number")  # doctest: +SKIP
            >>> print(Recording("wrong_number").story(keys=["north"]))  # doctest: +SKIP
        """
        self._backend.record(self, Recorder.of(record))

    def _run_by(self, workers: int | None) -> Self:
        """Return the query to be run by a number of processes; None lets the backend choose the number."""
        if workers is None:
            return self
        self._backend.check_workers(workers)
        return replace(self, workers=workers)

    @property
    def queries_by_name(self) -> Mapping[str, PlannedQuery]:
        """The query alone, under an empty name."""
        return {"": self}

    def sinks_by_query(self, sinks: Mapping[str, SinkLike | None]) -> Mapping[str, Mapping[str, object]]:
        """Return the sinks by output under an empty name, which is the name of a query that is written alone."""
        return {"": sinks}

    def plan_text(self, *, checkpoint: str | PathLike[str] | None = None) -> str:
        """Return the text that `explain` prints; its arguments and errors are those of `explain`."""
        evaluation = explain_plan(self.plan, self.inner_plans, memory=self._backend.memory_in_words(self))
        if checkpoint is None:
            return evaluation
        return f"{evaluation}\n{self._explain_checkpoint(checkpoint)}"
