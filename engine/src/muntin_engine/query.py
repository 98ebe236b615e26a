"""What a query writer names: a stream of events, a window, and modules by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from muntin import (
    ClipPolicy,
    Duration,
    EarlyEmission,
    EmitPolicy,
    HoppingWindows,
    Lateness,
    LatePolicy,
    Module,
    ProgressPolicy,
    Punctuated,
    QueryError,
    TimestampPolicy,
    WindowSpecification,
    bounded_delay,
    installed,
)
from muntin.lateness import parse_lateness
from muntin.policies import parse_policy
from muntin_engine.explanation import explain_plan
from muntin_engine.heartbeats import Heartbeat, heartbeat_of
from muntin_engine.plan import Evaluator, Plan, check_buckets, check_definition, check_sources, parse_evaluator

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from muntin_engine.spark.planning import Projection

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
        name: `"<plugin>.<module>"` of an installed plugin, or a module class defined in the program itself.
        inputs: Columns or expressions the module reads, in the order of its input type's fields. None for a module
            that only counts its members.
        parameters: The module's initial parameters, by name.

    Raises:
        UnknownModuleError: No installed plugin offers the name; the closest is suggested.
        PluginLoadError: Its plugin cannot be imported.

    Example:
        >>> module("stats.quantile", "delay", q=0.9).parameters
        {'q': 0.9}
    """
    cls = installed().module(name) if isinstance(name, str) else name
    return ModuleCall(cls, inputs, parameters)


def events(  # noqa: PLR0913  # each names a column that only some streams have
    df: DataFrame,
    *,
    key: ColumnLike | Sequence[ColumnLike] = (),
    id: ColumnLike | None = None,
    start: ColumnLike | None = None,
    end: ColumnLike | None = None,
    at: ColumnLike | None = None,
    edge: bool = False,
    change: ColumnLike | None = None,
    new_end: ColumnLike | None = None,
    signal: ColumnLike | None = None,
    delay: Duration | None = None,
    progress: ProgressPolicy | None = None,
    source: ColumnLike | None = None,
    sources: Sequence[str] = (),
    late: Lateness | LatePolicy | str = LatePolicy.SIDE,
    buckets: int = 16,
) -> EventStream:
    """Say which columns of a DataFrame make its rows events.

    Times are timestamps, or integers for an axis of any other kind; all of one query are of one kind.

    Args:
        df: A streaming DataFrame, or a static one, which is a stream that has ended.
        key: Columns to group by; windows, modules and results are per key. Null is a key like any other. None: all
            rows are one group.
        id: Names an event within its key, so that it may be revised, and a duplicate be noticed.
        start: Where an event's lifetime starts.
        end: Where it ends; null while that is not known. In a revision, the end so far, or null for "whatever it is".
        at: Instead of `start` and `end`, the time of a point event.
        edge: With `at`: each event is a sample that lasts until the next sample of its key. Samples cannot be revised.
        change: What a row does: `"insert"`, `"revise"` (a new end), `"retract"` (delete the event), `"punctuate"`
            (nothing before its `start`, or `at`, will change any more, of no key; the other columns do not matter),
            `"punctuate_key"` (the same for the row's key alone, if the progress policy has key punctuation), `"clock"`
            (it is now its `start`, or `at`), `"signal"` (an external event for triggers of early results, of no time or
            key) or `"close"` (the stream has ended). Without it every row is an insertion.
        new_end: The new end in a revision.
        signal: The name of a signal.
        delay: Short for `progress=bounded_delay(delay)`.
        progress: What says how complete the input is, besides rows of punctuation, which always do. For example
            `bounded_delay("10 minutes")` or `bounded_disorder(rows=100)`.
        source: Names the source of a row. The input is then as complete as the least complete of its sources, and rows
            of punctuation speak for their source; those without a source speak for all.
        sources: The sources that are waited for, all there are. Rows of another one are rejected.
        late: What becomes of a row that comes behind the punctuation: `"side"`, `"drop"`, `"adjust"` or, for example,
            `correct("1 hour")`.
        buckets: Over how many buckets keys are spread; 1 to 256. A checkpoint remembers it. Without keys there is one.

    Raises:
        QueryError: The columns do not make events, for example neither `start` nor `at` is given; or there is a delay
            and another policy.
        PolicyError: The delay is negative, or the text of a policy names none.
        DurationError: The delay cannot be read.
    """
    keys = tuple(key) if isinstance(key, list | tuple) else (key,)
    begins = start if at is None else at
    if begins is None or (start is not None and at is not None):
        given = "both" if begins is not None else "neither"
        raise QueryError(f"events need either start (with end) or at, for points and samples; got {given}")
    if at is not None and end is not None:
        raise QueryError("an event with at has no end of its own; use start and end for lifetimes")
    if edge and at is None:
        raise QueryError("edge=True turns samples at a time into events: give that time as at")
    if start is not None and end is None:
        raise QueryError("events with a start need an end; give at instead for point events")
    if new_end is not None and (id is None or change is None):
        raise QueryError("a revision names its event: new_end needs id and change as well")
    if signal is not None and change is None:
        raise QueryError("a signal is a row whose change says so: signal needs change as well")
    if delay is not None and progress is not None:
        raise QueryError(f"a delay is a progress policy of its own: give delay={delay!r} or progress={progress!r}")
    check_buckets(buckets)
    check_sources(source, tuple(sources))
    policy = progress or (Punctuated() if delay is None else bounded_delay(delay))
    stream = EventStream(df, keys, id, begins, end, edge, change, new_end, policy, buckets, signal)
    return replace(stream, source=source, sources=tuple(sources), late=parse_lateness(late))


@dataclass(frozen=True)
class EventStream:
    """A DataFrame whose rows are events; made by `events`."""

    df: DataFrame
    keys: tuple[ColumnLike, ...]
    id: ColumnLike | None
    start: ColumnLike
    end: ColumnLike | None
    is_edge: bool
    change: ColumnLike | None
    new_end: ColumnLike | None
    progress: ProgressPolicy
    buckets: int
    signal: ColumnLike | None = None
    source: ColumnLike | None = None
    sources: tuple[str, ...] = ()
    late: Lateness = Lateness()  # noqa: RUF009  # it is frozen
    heartbeats: tuple[Heartbeat, ...] = ()
    clock: DataFrame | None = None

    def with_heartbeat(
        self, df: DataFrame, *, at: ColumnLike, delay: Duration = 0, source: ColumnLike | None = None
    ) -> EventStream:
        """Let another stream say how complete this one is.

        Each of its rows is punctuation: nothing will change any more before its time less the delay.

        Args:
            df: The other stream; streaming if this one is.
            at: The column with the time, of the kind of the events' times.
            delay: How far behind it the input is complete.
            source: Names the source that a row speaks for, if the input has sources; without it, it speaks for all.

        Raises:
            PolicyError: The delay is negative.
            DurationError: The delay cannot be read.
            QueryError: One is a stream and the other is not, or it names sources and the input has none.
        """
        beat = heartbeat_of(self.df, df, at, delay, source, has_sources=bool(self.sources))
        return replace(self, heartbeats=(*self.heartbeats, beat))

    def with_clock(self, clock: DataFrame | None = None, *, every: Duration = "10 seconds") -> EventStream:
        """Give the stream a clock, so that time passes and micro-batches happen also without rows.

        A reading moves nothing by itself: it tells for how long a source has been idle, and when a timer is due. Where
        times are integers, readings are microseconds since the epoch.

        Args:
            clock: A stream whose only column holds readings, as timestamps. None: the clock of the machine that runs
                the driver. With `availableNow` that is read once, when the query starts.
            every: How often that is read.

        Raises:
            QueryError: The events are not a stream.
            DurationError: `every` cannot be read.
        """
        from muntin_engine.spark.clock import clock_beside

        return replace(self, clock=clock_beside(self.df, every) if clock is None else clock)

    def window(
        self,
        specification: WindowSpecification,
        *,
        clip: ClipPolicy | str = ClipPolicy.NONE,
        timestamps: TimestampPolicy | str = TimestampPolicy.ALIGN,
        emit: EmitPolicy | EarlyEmission | str = EmitPolicy.FINAL,
        evaluator: str = "auto",
    ) -> WindowedStream:
        """Cut the axis into windows.

        Args:
            specification: For example `hopping("1 hour", "10 minutes")` or `snapshot()`.
            clip: What time-sensitive modules see of lifetimes that leave the window.
            timestamps: Which lifetime the output gets.
            emit: `"final"`: each window once, when nothing can change it. `"speculative"`: when the watermark passes
                its end, `"eager"`: at once; both with retractions, and the columns `change` and `event_id`.
                `early(...)`: final, and before that when a trigger fires, with the columns `timing` and `pane`.
            evaluator: How windows are computed; it makes no difference to the results. `"auto"`: in the cheapest way
                that is right; `"columnar"`, `"sliced"` or `"general"`: in that way, for tests and comparisons. A
                checkpoint remembers it.

        Raises:
            PolicyError: A policy's or an evaluator's text names none.
        """
        emission = emit if isinstance(emit, EarlyEmission) else parse_policy(EmitPolicy, emit)
        return WindowedStream(
            self,
            specification,
            parse_policy(ClipPolicy, clip),
            parse_policy(TimestampPolicy, timestamps),
            emission,
            parse_evaluator(evaluator),
        )

    def windows(
        self, *, timestamps: TimestampPolicy | str = TimestampPolicy.ALIGN, **specifications: HoppingWindows
    ) -> WindowedStream:
        """Cut the axis in several ways at once.

        Each row is merged once, into slices that all of them share, so another window costs little more than its
        results. These have a column `window_name`.

        Args:
            timestamps: Which lifetime the output gets, `"align"` or `"point_at_end"`.
            specifications: By name, hopping or tumbling windows.

        Raises:
            QueryError: There is no specification.

        Example:
            >>> from muntin import hopping, tumbling
            >>> call = dict(now=hopping("10 minutes", "1 minute"), day=tumbling("1 day"))  # stream.windows(**call)
        """
        if not specifications:
            raise QueryError("windows() needs at least one specification, for example windows(day=tumbling('1 day'))")
        first = next(iter(specifications.values()))
        windowed = self.window(first, timestamps=timestamps)
        return replace(windowed, named=specifications)


@dataclass(frozen=True)
class WindowedStream:
    """Events with a window; made by `EventStream.window`."""

    events: EventStream
    specification: WindowSpecification
    clip: ClipPolicy
    timestamps: TimestampPolicy
    emit: EmitPolicy | EarlyEmission
    evaluator: Evaluator | None = None
    named: Mapping[str, HoppingWindows] = field(default_factory=dict)

    def aggregate(self, **modules: ModuleCall) -> Query:
        """Compute one row per window and key, with a column per module.

        The modules share their events: a row with a null that one of them does not accept is rejected for all.

        Args:
            modules: By the name of its result column, each an aggregate.

        Raises:
            QueryError: There is no module, one is an operator, or a name is taken.
            ParameterError: A module's constructor does not take its parameters.
            TypeMismatchError: A module's inputs are not of the types it reads.
            PolicyError: A module is not right under the window's policies.
        """
        if not modules:
            raise QueryError("aggregate() needs at least one module, for example aggregate(n=module('stats.count'))")
        for call in modules.values():
            check_definition(call.cls, is_operator=False)
        return self._query(modules)

    def apply(self, operator: ModuleCall) -> Query:
        """Compute any number of rows per window and key with an operator, whose row's fields become columns.

        Raises:
            QueryError: The module is an aggregate.
            ParameterError: Its constructor does not take its parameters.
            TypeMismatchError: Its inputs are not of the types it reads.
            PolicyError: It is not right under the window's policies.
        """
        check_definition(operator.cls, is_operator=True)
        return self._query({"": operator})

    def _query(self, modules: Mapping[str, ModuleCall]) -> Query:
        from muntin_engine.spark.planning import plan_query

        source, plan = plan_query(self, modules)
        return Query(source, plan)


@dataclass(frozen=True)
class Query:
    """A planned query; made by `aggregate` or `apply`. Nothing runs until one of its DataFrames does.

    Attributes:
        source: The projected input.
        plan: What will be evaluated, and how.
        counters: The name under which a streaming query reports its counts (see `results`).
    """

    source: Projection
    plan: Plan
    counters: str = "muntin"

    def named(self, counters: str) -> Query:
        """Return the query with another name for its counts, for a Spark query that contains several."""
        return replace(self, counters=counters)

    def results(self, watermark: str | None = None) -> DataFrame:
        """Return the results: the key columns, `window` with `start` and `end`, and what the modules compute.

        With timestamps other than `align` there is a column `lifetime` too. Speculative results have `change`
        (`insert` or `retract`) and `event_id`, which names a result among those of its key. Where a module is
        time-bound and its results are put out eagerly, `change` may also be `revise`: the result's lifetime ends at
        `new_end` from now on. A lifetime without an end has a null `end`. Early results have `timing` (`early` or
        `final`) and `pane`, which counts how often their window was put out before; where they are retracted they have
        `change` and `event_id` as well.

        A static input is taken as a whole: nothing in it is late, and every window is complete.

        While a streaming query of it runs, its progress has observed metrics under the name `counters`: the rows
        accepted, late, rejected and put out by each micro-batch.

        Args:
            watermark: The name of a column to add, the start of the result's lifetime, with a watermark of Spark's that
                follows the output's punctuation even where no window has a result. Spark's own windows, joins and
                de-duplication over that column then make progress and drop nothing. A Spark query has one watermark
                column on its way, so it must not set another. For final results of hopping and tumbling windows over
                timestamps of events without ids; others do not come in the order of their windows.

        Raises:
            QueryError: The input is a stream that never says how complete it is, or contains another query whose counts
                have the same name; or the results cannot have a watermark.
            SetupError: The session's state store cannot hold the state, or the modules cannot travel to the workers.
        """
        from muntin_engine.spark.pipeline import results

        return results(self, watermark)

    def late(self) -> DataFrame:
        """Return the rows that came behind the punctuation: `reason`, `message`, the `row` as JSON and `late_by`.

        `late_by` is how far its sync time lay behind the punctuation, in ticks (microseconds where the axis is time);
        null if the row came after the end of the stream.

        A streaming query of these rows is one of its own, with its own checkpoint and its own state: it evaluates the
        whole once more to know what is late. Its counts are those of `results`.

        Raises:
            QueryError: Late rows are dropped, so there are none to return.
        """
        from muntin_engine.spark.pipeline import refused

        return refused(self, "late")

    def rejected(self) -> DataFrame:
        """Return the rows that make no sense where they came: `reason`, `message`, the `row` as JSON, and a null.

        As `late` does, a streaming query of these rows evaluates the whole.
        """
        from muntin_engine.spark.pipeline import refused

        return refused(self, "rejected")

    def explain(self) -> str:
        """Return how the query is evaluated, and why."""
        return explain_plan(self.plan)


def functions(spark: SparkSession, *names: str) -> list[str]:
    """Register functions of installed plugins with Spark SQL and return the names they have there.

    Args:
        spark: The session.
        names: Full names such as `"stats.clamp"`; all installed ones if none is given. In SQL the dot is an
            underscore: `stats_clamp(x, 0, 1)`.

    Raises:
        UnknownModuleError: No installed plugin offers a name.
    """
    from muntin_engine.spark.functions import register

    return register(spark, names)
