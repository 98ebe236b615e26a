"""What a query writer computes over a stream of events with a window: modules by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Never, TypeAlias

from muntin import (
    ClipPolicy,
    Duration,
    EarlyEmission,
    EmitPolicy,
    Function,
    Module,
    QueryError,
    TimestampPolicy,
    WindowKind,
    installed,
)
from muntin_engine.api.arguments import (
    check_call,
    check_function,
    check_inputs,
    check_module,
    check_name,
    check_path,
    check_session,
)
from muntin_engine.api.query_text import html_of, text_of
from muntin_engine.plan import Plan, check_kind
from muntin_engine.plan.explanation import explain_plan
from muntin_engine.plan.planner import keeping_late_rows
from muntin_engine.shipping.code_version import with_version

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin_engine.api.events import EventStream
    from muntin_engine.spark.planning import Projection
    from muntin_engine.spark.sessions import AnySession
    from muntin_engine.writing import SinkLike

    ColumnLike: TypeAlias = str | Column


@dataclass(frozen=True)
class ModuleCall:
    """A module named in a query, with its inputs and parameters; made by `module`."""

    cls: type[Module]
    inputs: tuple[ColumnLike, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)


def module(name: str | type[Module], *inputs: ColumnLike, **parameters: Any) -> ModuleCall:
    """Name a module for a query.

    Args:
        name: `"<plugin>.<module>"` of an installed plugin, or a module class. A class of the program's own may leave
            its version out: it is then a hash of its code, and with it what the query's checkpoint depends on.
        inputs: Columns or expressions the module reads, in the order of its input type's fields. None for a module
            that only counts its members.
        parameters: The module's initial parameters, by name.

    Raises:
        UnknownModuleError: No installed plugin offers the name; the closest is suggested.
        PluginLoadError: Its plugin cannot be imported.
        ModuleDefinitionError: The class is not a complete module.
        QueryError: An input is no column.

    Example:
        >>> module("stats.quantile", "delay", q=0.9).parameters
        {'q': 0.9}
    """
    check_module(name)
    cls = installed().module(name) if isinstance(name, str) else with_version(name)
    cls.check_definition()
    check_inputs(cls, inputs)
    return ModuleCall(cls, inputs, parameters)


@dataclass(frozen=True)
class WindowedStream:
    """Events with a window; made by `EventStream.window`."""

    events: EventStream
    specification: WindowKind
    clip: ClipPolicy | None
    timestamps: TimestampPolicy | None
    emit: EmitPolicy | EarlyEmission
    evaluator: str | None = None
    named: Mapping[str, WindowKind] = field(default_factory=dict)

    def aggregate(self, *unnamed: Never, **modules: ModuleCall) -> Query:
        """Compute one row per window and key, with a column per module.

        Each decides for its own input: a row with a null that one of them does not read is not given to that one, and
        to the others it is. Where none is left its result is null.

        Args:
            unnamed: None: each result column has a name.
            modules: By the name of its result column, each an aggregate.

        Raises:
            QueryError: There is no module, one is none or an operator, or a name is taken.
            ParameterError: A module's constructor does not take its parameters.
            TypeMismatchError: A module's inputs are not of the types it reads.
            PolicyError: A module is not right under the window's policies, needs other windows, or is made for other
                policies than another one is and the query names none.
        """
        if unnamed or not modules:
            raise QueryError(
                "aggregate() needs at least one module, each with the name of its result: "
                "aggregate(n=module('stats.count'))"
            )
        for name, call in modules.items():
            check_call(call, ModuleCall, f"aggregate({name}={{}})".format)
            check_kind(call.cls, is_operator=False)
        return self._query(modules)

    def apply(self, operator: ModuleCall) -> Query:
        """Compute any number of rows per window and key with an operator, whose row's fields become columns.

        Raises:
            QueryError: The module is none, or an aggregate.
            ParameterError: Its constructor does not take its parameters.
            TypeMismatchError: Its inputs are not of the types it reads.
            PolicyError: It is not right under the window's policies, or needs other windows.
        """
        check_call(operator, ModuleCall, "apply({})".format)
        check_kind(operator.cls, is_operator=True)
        return self._query({"": operator})

    def _query(self, modules: Mapping[str, ModuleCall]) -> Query:
        from muntin_engine.spark.planning import plan_query

        source, plan = plan_query(self, modules)
        return Query(source, plan, inner=self.events.inner)


@dataclass(frozen=True, repr=False)
class Query:
    """A planned query; made by `aggregate` or `apply`. Nothing runs until one of its DataFrames does.

    Attributes:
        source: The projected input.
        plan: What will be evaluated, and how.
        counters: What a streaming query is called in its numbers (see `results`).
        is_timed: True if it reports how long its stages and modules take.
        inner: The plans of the queries whose results are its input, the first one first.
        is_named: True if it was given that name. It otherwise reports under one that differs by itself from those of
            other queries in the same query of Spark's; `batch_metrics` says what they are called.
    """

    source: Projection
    plan: Plan
    counters: str = "muntin"
    is_timed: bool = True
    inner: tuple[Plan, ...] = ()
    is_named: bool = False

    def __repr__(self) -> str:
        """Return the query in three lines."""
        return text_of(self.plan)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how the query is evaluated, as `explain` says it."""
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
        keys = [f"`{key.name}`" for key in self.plan.columns.keys]
        self.results().orderBy("window", *keys).show(rows, truncate)

    def named(self, counters: str) -> Query:
        """Return the query with a name of its own for its numbers."""
        check_name("counters", counters)
        return replace(self, counters=counters, is_named=True)

    def untimed(self) -> Query:
        """Return the query without measuring how long its stages and modules take."""
        return replace(self, is_timed=False)

    def results(self, watermark: str | None = None) -> DataFrame:
        """Return the results: the key columns, `window` with `start` and `end`, and what the modules compute.

        With timestamps other than `align` there is a column `lifetime` too. Speculative results have `change`
        (`insert` or `retract`) and `event_id`, which names a result among those of its key. Where a module is
        time-bound and its results are put out eagerly, `change` may also be `revise`: the result's lifetime ends at
        `new_end` from now on. A lifetime without an end has a null `end`. Early results have `timing` (`early` or
        `final`) and `firing`, which counts how often their window was emitted before; where they are retracted they
        have `change` and `event_id` as well.

        A static input is taken as a whole: nothing in it is late, and every window is complete.

        While a streaming query of it runs, its progress has observed metrics under the name `counters`: what each
        micro-batch brought, put out and took. `batch_metrics` reads them and `monitor` shows them.

        Args:
            watermark: The name of a column to add, the start of the result's lifetime, with a watermark of Spark's that
                follows the output's watermark even where no window has a result. Spark's own windows, joins and
                de-duplication over that column then make progress and drop nothing. A Spark query has one watermark
                column on its way, so it must not set another. For final results of hopping and tumbling windows over
                timestamps of events without ids; others do not come in the order of their windows.

        Raises:
            QueryError: The input is a stream that never says how complete it is, or contains another query whose counts
                have the same name; or the results cannot have a watermark.
            SetupError: The session's state store cannot hold the state, the modules cannot travel to the workers, or
                the workers lack what they need: a task on each says so before anything runs, unless the session's
                setting `spark.muntin.probe` is `false`.
        """
        from muntin_engine.spark.pipeline import results

        if watermark is not None:
            check_name("watermark", watermark)
        return results(self, watermark)

    def as_events(self, *, key: ColumnLike | Sequence[ColumnLike] | None = None, buckets: int = 16) -> EventStream:
        """Return the results as events of another query, in the same query of Spark's.

        An event has the lifetime of its result: the window, unless timestamps say otherwise. Results that are retracted
        or revised are retracted or revised events. The input of the other query is complete as far as the results of
        this one are settled, in the very micro-batch in which they are, also where no window has a result. `explain()`
        says how far that is behind the input of this one.

        Args:
            key: Columns of the results to group by, as in `events`.
            buckets: Over how many buckets the other query's keys are spread.

        Raises:
            QueryError: What `results` raises; or there are early results that are not taken back.
        """
        from muntin_engine.api.events import events
        from muntin_engine.spark.chaining import roles
        from muntin_engine.spark.pipeline import results_as_events

        inner = replace(self, counters=f"{self.counters}.input")
        stream = events(results_as_events(inner), key=key, buckets=buckets, unit=self.plan.unit, **roles(self.plan))
        return replace(stream, inner=(*self.inner, self.plan))

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
        from muntin_engine.spark.pipeline import refused

        return refused(self, "late")

    def rejected(self) -> DataFrame:
        """Return the rows that make no sense where they came: `reason`, `message`, the `row` as JSON, and a null.

        As `late` does, a streaming query of these rows evaluates the whole.
        """
        from muntin_engine.spark.pipeline import refused

        return refused(self, "rejected")

    def write(
        self,
        *,
        checkpoint: str | PathLike[str],
        results: SinkLike | None = None,
        late: SinkLike | None = None,
        rejected: SinkLike | None = None,
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
            progress: Takes one row per micro-batch: `batch_id`, the counts `accepted`, `late`, `rejected` and
                `results`, the `watermark` of the output, and the other `counters` by name.
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
        from muntin_engine.spark.writing import write

        sinks = {"results": results, "late": late, "rejected": rejected, "progress": progress}
        return write(self, sinks, checkpoint, trigger, on_end, name)

    def close_checkpoint(
        self,
        checkpoint: str | PathLike[str],
        *,
        results: SinkLike | None = None,
        late: SinkLike | None = None,
        rejected: SinkLike | None = None,
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
            progress: Gets the row of the last micro-batch.

        Raises:
            QueryError: The query cannot be closed, or a sink is none.
            StateError: The checkpoint is closed, or of another query, or a micro-batch of it was cut short.
            SinkError: A sink failed. Call again with the same sinks when it works.
        """
        check_path("checkpoint", checkpoint)
        from muntin_engine.spark.closing import close_checkpoint

        sinks = {"results": results, "late": late, "rejected": rejected, "progress": progress}
        close_checkpoint(self, sinks, checkpoint)

    def check_checkpoint(self, checkpoint: str | PathLike[str], *, late: bool = False) -> None:
        """Raise unless the query can go on with a checkpoint; it may be one that nothing was written to yet.

        `write` does so by itself, from a note that it keeps in the checkpoint. Of a checkpoint that was started by
        `results().writeStream` the state is read, which takes as long as reading what the query holds; such a query
        otherwise finds out in its first micro-batch, before any state changes and any row is put out.

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
        from muntin_engine.spark.writing import check_checkpoint

        check_checkpoint(self, checkpoint, late=late)

    def explain(self, *, late: bool = False) -> str:
        """Return how the query is evaluated, and why.

        Args:
            late: True for the evaluation with late rows kept, as `write` with a sink for them has it.

        Raises:
            QueryError: Late rows cannot be kept, as several windows share their slices.
        """
        return explain_plan(keeping_late_rows(self.plan) if late else self.plan, self.inner)


def functions(spark: AnySession, *names: str | Function[..., Any]) -> list[str]:
    """Register functions with Spark SQL and return the names they have there.

    Args:
        spark: The session.
        names: Full names of functions that installed plugins offer, such as `"stats.clamp"`, or functions of one's own
            that `muntin.function` made; all installed ones if none is given. In SQL the dot is an underscore:
            `stats_clamp(x, 0, 1)`.

    Raises:
        QueryError: The session is none, or a function is neither.
        UnknownModuleError: No installed plugin offers a name.
    """
    check_session("functions", spark)
    for name in names:
        check_function(name)
    from muntin_engine.spark.functions import register

    return register(spark, names)
