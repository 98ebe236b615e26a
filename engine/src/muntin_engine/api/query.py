"""The steps of a query. Each returns the next: events, their windows, modules, and results that are events again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from types import EllipsisType
from typing import TYPE_CHECKING, Never, cast
from uuid import uuid4

from typing_extensions import Unpack

from muntin import ClipPolicy, Duration, EarlyEmission, EmitPolicy, JoinKind, StreamOperator, TimestampPolicy
from muntin.axis import ticks
from muntin.errors import QueryError
from muntin.modules.call import ModuleCall
from muntin.policies import parse_policy
from muntin.windows import WindowSpecification
from muntin.windows.specification import Unwindowed
from muntin_engine.api.arguments import (
    check_call,
    check_shedding,
    check_specification,
    columns_by_name,
    key_columns,
    order_columns,
)
from muntin_engine.api.lifetimes import ChangesLifetimes
from muntin_engine.api.outputs import Outputs
from muntin_engine.api.spark_words import KnowsSparkWords
from muntin_engine.api.text.has_text import HasText
from muntin_engine.api.timed_input import TimedInput
from muntin_engine.api.writes_outputs import WriteOptions
from muntin_engine.backends.choosing import backend_of, backend_of_all
from muntin_engine.evaluators.declarations import parse_evaluator
from muntin_engine.plan import check_buckets, check_kind
from muntin_engine.plan.request import JoinCondition, JoinRequest, WindowRequest, queries_before
from muntin_engine.plan.steps import step
from muntin_engine.time.lifetimes import ShareWindows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.plan.request import ColumnLike


@dataclass(frozen=True)
class EventStream(ChangesLifetimes, TimedInput, KnowsSparkWords):
    """A DataFrame whose rows are events; made by `events`, `union` and `Query.as_events`.

    Each call returns another stream, and several calls are applied one after the other. Columns are computed for new
    events, and for revisions and retractions that repeat the payload of their event; the columns that make rows events
    stay as they are.

    Calls that give events other lifetimes (`shift`, `set_duration`, `extend`, `shorten`, `to_points`, `to_edges`,
    `align_to`) follow from one event alone. Revisions and retractions are changed as their events are, and the
    watermark moves as far as they do, so nothing is kept for a change and every query can follow it. Rows are late by
    their changed lifetimes and the changed watermark, and `late_rows()` shows them so. Policies that derive the
    watermark, `with_heartbeat` and rows of punctuation speak of the events as they come; readings of a clock are not
    changed. An event whose changed lifetime leaves the axis is rejected. `explain()` says what becomes of the
    watermark. A checkpoint stores the changes.

    `shift`, `set_duration` and `extend` also take a column of the payload, which says the length for each event: an
    interval where times are timestamps, else a number like the times. Every row of an event then needs the payload: so
    where rows are revisions or retractions, and not results of another query, which have it, `repeated=True` has to say
    that they repeat that of their event. An event whose length is null, or less than it may be, is rejected.
    """

    @step
    def where(self, condition: ColumnLike) -> EventStream:
        """Leave out the events that do not meet a condition.

        Only insertions are tested, because other rows have no payload. Revisions and retractions of an event that is
        left out are left out with it. Punctuation, clock readings, signals and the end of the stream pass. All rows
        advance the watermark, those that are left out too, and a sample that is left out still ends the one before it.

        Several calls are combined with "and". The metric `filtered` counts the insertions that were left out.

        Args:
            condition: A condition on the columns of a row, as text or as a column. Null leaves an event out, as in SQL.

        Raises:
            QueryError: It is not of type boolean.

        Example:
            >>> rides.where("km > 2").window(tumbling("1 hour"))  # doctest: +SKIP
        """
        checked_condition = backend_of(self.df).inputs.condition(self.df, condition)
        return replace(self, conditions=(*self.conditions, checked_condition))

    @step
    def shedding(self, *, most_held: int, when_full: str = "shed") -> EventStream:
        """Limit the events that a key holds, so that one hot key cannot use up the memory of a worker.

        A micro-batch takes as many new events of a key as the key has room for: `most_held`, less the events that it
        held before. The ones that start earliest are taken. The others are shed: they are counted by the metric `shed`
        and go to `late_rows()`, with the reason `shed`. There is room again when windows close and their events leave.

        Results of such a key cover a part of its events, and which ones these are depends on how the input is cut into
        micro-batches. A micro-batch that is repeated after a failure sheds the same events.

        Revisions and retractions are never shed. A revision of an event that was shed waits for the event, and is
        rejected when the event would be late.

        The general evaluator runs such a query, or the one for row windows: no other holds events. In row windows, rows
        that wait for the watermark count, and those in windows. A static input is one batch after which nothing is
        held, so nothing of it is shed. A query may continue from its checkpoint with another limit. With
        `late_policy="drop"` events that are shed are counted only. If called again, the last limit counts.

        `explain()` says where a full key may stay full. A limit that is not above what windows such as `last(10)` or
        `count_by_start(10)` always hold is refused.

        Args:
            most_held: The limit; well above what one window of a key needs, because a window that cannot become
                complete never makes room. The metric `events_held` counts the events that all keys hold now.
            when_full: `"shed"`, or `"fail"`: the micro-batch fails with a `StateError` that names the key, before any
                of its output is written, and the query goes on when it is started with a higher limit.

        Raises:
            QueryError: It is not a whole number above zero, or `when_full` is something else.

        Example:
            >>> clicks.shedding(most_held=100_000).window(session("30 minutes"))  # doctest: +SKIP
        """
        check_shedding(most_held, when_full)
        return replace(self, most_held=most_held, fails_when_full=when_full == "fail")

    @step
    def to_query(self, *, emit: EmitPolicy | str = EmitPolicy.FINAL) -> Query:
        """Return the events themselves as the results of a query: filtered, with their new columns and lifetimes.

        Results have the key columns, `lifetime`, and the other columns of the stream without those that became keys,
        times or kinds of changes; `select` keeps fewer. Late rows and duplicates are no results, as before windows.
        Without a watermark no row is late, and points and intervals that are never revised pass as they come, without a
        shuffle and a state.

        Args:
            emit: `"final"`: each event once. One that may be revised, or a sample, waits until the watermark has passed
                its end; all others are final when they come. `"eager"`: at once, with the columns `change`, `event_id`
                and `new_end`, a row for each change.

        Raises:
            QueryError: A column has the name of another column of the results; or samples or events with ids never say
                how complete they are.
            PolicyError: `emit` names nothing that events without windows can do, or the stream sheds events, corrects
                late rows or has key punctuation.

        Example:
            >>> long_rides = rides.where("km > 20").extend("10 minutes").to_query()  # doctest: +SKIP
            >>> long_rides.write(checkpoint="checkpoint", results="long_rides")  # doctest: +SKIP
        """
        columns = backend_of(self.df).inputs.payload_columns(self.df, self._own_columns())
        request = WindowRequest(
            self if self.lifetimes == "edge" else replace(self, order=None),
            Unwindowed(),
            emit=parse_policy(EmitPolicy, emit),
            join=JoinRequest(JoinKind.ANTI, (columns,)),
        )
        return _planned(request, {})

    def results(self, watermark: str | None = None) -> DataFrame:
        """Return the events as a DataFrame, as `to_query().results()` does.

        Args:
            watermark: As for `Query.results`.

        Raises:
            QueryError: As for `to_query` and `Query.results`.
            PolicyError: As for `to_query`.
            SetupError: As for `Query.results`.

        Example:
            >>> rides.where("km > 20").results().show()  # doctest: +SKIP
        """
        return self.to_query().results(watermark)

    def write(
        self, *, checkpoint: str | PathLike[str] | None = None, **options: Unpack[WriteOptions]
    ) -> StreamingQuery:
        """Start a Spark query that writes the events to sinks, as `to_query().write(...)` does.

        Args:
            checkpoint: Spark's checkpoint location. It has to be given.
            options: The sinks and the other arguments of `Query.write`.

        Raises:
            QueryError: As for `to_query` and `Query.write`.
            PolicyError: As for `to_query`.
            SetupError, StateMismatchError, StateError: As for `Query.write`.

        Example:
            >>> rides.where("km > 20").write(checkpoint="checkpoint", results="long_rides")  # doctest: +SKIP
        """
        return self.to_query().write(checkpoint=checkpoint, **options)

    @step
    def apply(self, operator: ModuleCall) -> Query:
        """Follow the events of each key with a stream operator, without windows.

        The operator gets each event when the watermark has passed it, in order of time, and is called at the times that
        it asks for. Events of one time come in the order of the column `events(order=...)`, and those that are alike in
        it, or all of them without such a column, in an order of their values.

        Results have a column `lifetime` in place of `window`: a point at the time of the call, unless the operator
        returns another one. They are final, and complete as far as the input is. For operators over windows, see
        `WindowedStream.apply`.

        Args:
            operator: The operator and the columns that it reads.

        Raises:
            QueryError: The module is not a stream operator, or events last longer than a tick.
            ParameterError: Its constructor does not take its parameters.
            TypeMismatchError: Its inputs are not of the types it reads.
            PolicyError: Late rows are to be adjusted or to correct results.

        Example:
            >>> stream.apply(module("patterns.silence", after="10 minutes")).results()  # doctest: +SKIP
        """
        check_call(operator, ModuleCall, "apply({})".format)
        if not issubclass(operator.cls, StreamOperator):
            kind = "operator" if operator.cls.is_operator else "aggregate"
            call = f"apply(module({operator.cls.name!r}, ...))"
            raise QueryError(
                f"{operator.cls.name} is an {kind} over windows, and no windows come before {call}\n"
                "  cut the axis first: .window(tumbling('10 minutes'))"
            )
        return _planned(WindowRequest(self, Unwindowed()), {"": operator})

    @step
    def window(
        self,
        specification: WindowSpecification,
        *,
        clip: ClipPolicy | str | None = None,
        timestamps: TimestampPolicy | str | None = None,
        emit: EmitPolicy | EarlyEmission | str = EmitPolicy.FINAL,
        forget_keys_after: Duration | None = None,
        evaluator: str = "auto",
    ) -> WindowedStream:
        """Cut the axis into windows.

        With `forget_keys_after` the events of a key are split into *lives*: an event that starts more than that time
        after the last tick of all earlier ones begins the next life; one that starts exactly so much later is still in
        the old one. Each life is evaluated as a key of its own, and its windows end where the life does, one tick after
        the time. Windows that are then the same are one. When the watermark reaches that tick, the results of the life
        are final and nothing of the key is kept; the metric `keys_forgotten` counts it. Until then, a late event may
        join two lives and a retraction may split one. Windows of two lives are never the same, but they may overlap: a
        daily window that ends early after an hour of silence may be there twice, with one start and two ends. Such
        queries run on the general evaluator. Early results need `refinement="retract"`, because a window that was cut
        gets another end when its key has another event; its trigger goes on.

        Args:
            specification: For example `hopping("1 hour", "10 minutes")`, `snapshot()` or `last(10).trigger(2)`.
            clip: How lifetimes are cut to the window before time-sensitive modules see them. By default the clip that
                the modules need, or `"none"`.
            timestamps: Which lifetime the output gets. By default the one that the modules need, or `"align"`.
            emit: `"final"`: each window once, when nothing can change it. `"speculative"`: when the max event time
                passes its end, `"eager"`: at once; both with retractions, and the columns `change` and `event_id`.
                `early(...)`: final, and before that when a trigger fires, with the columns `timing` and `firing`.
            forget_keys_after: For how long a key may be silent before it is forgotten, for example `"30 days"`; by
                default it never is. An event that has not ended keeps its key. It is part of the checkpoint. Not for
                windows that follow rows, whose partitions can be evicted, samples, time-bound results, or early ones
                that are not retracted.
            evaluator: How windows are computed; it makes no difference to the results. `"auto"`: in the cheapest way
                that is right; `"columnar"`, `"sliced"`, `"grouped"` or `"general"`: in that way, for tests and
                comparisons, or with an error where it cannot. A checkpoint remembers it.

        Raises:
            QueryError: The specification is not one of windows.
            PolicyError: A policy's or an evaluator's text names none.
            DurationError: The time for which a key may be silent cannot be read.
        """
        check_specification(specification)
        emission = emit if isinstance(emit, EarlyEmission) else parse_policy(EmitPolicy, emit)
        return WindowedStream(
            self,
            specification,
            None if clip is None else parse_policy(ClipPolicy, clip),
            None if timestamps is None else parse_policy(TimestampPolicy, timestamps),
            emission,
            parse_evaluator(evaluator),
            forget_keys_after=None if forget_keys_after is None else ticks(forget_keys_after),
        )

    @step
    def windows(
        self,
        *unnamed: Never,
        timestamps: TimestampPolicy | str | None = None,
        **specifications: WindowSpecification,
    ) -> WindowedStream:
        """Cut the axis in several ways at once.

        Each row is merged once, into slices that all specifications share, so one more costs little more than its
        results. Results have a column `window_name`. A row that is late for one of the windows is late for all, so that
        all results come from the same rows: with a window of 15 minutes a row is late that would still count for an
        hour alone. Write separate queries if each should decide by itself. Events may last, and must not have ids.

        Args:
            unnamed: None: each specification has a name.
            timestamps: Which lifetime the output gets, `"align"` or `"point_at_end"`; by default as for `window`.
            specifications: By name, hopping or tumbling windows, or calendar windows of one zone that are made of
                days, or of months.

        Raises:
            QueryError: There is no specification.

        Example:
            >>> from muntin import hopping, tumbling
            >>> call = dict(now=hopping("10 minutes", "1 minute"), day=tumbling("1 day"))  # stream.windows(**call)
        """
        if unnamed or not specifications:
            raise QueryError(
                "windows() needs at least one specification, each with a name: windows(day=tumbling('1 day'))"
            )
        for name, specification in specifications.items():
            check_specification(specification, name)
        first = next(iter(specifications.values()))
        windowed = self.window(first, timestamps=timestamps)
        return replace(windowed, named=specifications)

    @step
    def join(
        self,
        right: EventStream,
        how: JoinKind | str = JoinKind.INNER,
        *,
        left_columns: str | Sequence[str] | Mapping[str, ColumnLike] = (),
        right_columns: str | Sequence[str] | Mapping[str, ColumnLike] = (),
        on: JoinCondition | None = None,
        same_window: WindowSpecification | None = None,
        emit: EmitPolicy | str = EmitPolicy.FINAL,
    ) -> Query:
        """Join this stream with another one: events of equal keys meet where their lifetimes overlap.

        Results have the key columns, as this stream names them, `lifetime`, and the columns asked for. Revisions of
        either stream change them. A row is late by the watermark of its own stream alone, and an event is kept until
        the watermark of the other stream has passed its end, or longer where its own end may move; so lifetimes bound
        the state. In metrics and side outputs the streams are called `left` and `right`.

        Args:
            right: The other stream. Its keys and times are of the same types as those of this one.
            how: `"inner"`: each pair of events, over the ticks that both live. `"anti"`: the parts of the events of
                this stream that no event of the other covers; `"semi"`: the parts that are covered, each once.
                `"left"`: the pairs, and those parts that are not covered, with nulls for the columns of the other.
                `"clip"`: each event of this stream, up to the first of the other that starts after it does; only the
                starts of the other stream's events count, and only until then is an event kept.
            left_columns: The columns of this stream that results have: their names, or columns by new names.
            right_columns: Those of the other stream; none for `"anti"`, `"semi"` and `"clip"`.
            on: A condition on columns of both, made by `condition`. Events that do not meet it make no pair, and
                the one neither covers nor clips the other.
            same_window: Windows on a grid, such as `hopping("10 minutes", "1 minute")`. Events then meet if they share
                a window, once however many they share, whether they overlap or not. A lifetime in the results goes from
                the start of the first shared window to that of the next one after the last. Not for `"clip"`.
            emit: `"final"`: each row once, when nothing can change it. A pair of events whose ends do not move, as they
                have no ids and are no samples, is final when both are there. A part of an event is when the watermark
                of the other stream has passed it. `"eager"`: at once, with the columns `change`, `event_id` and
                `new_end`, a row for each change.

        Raises:
            QueryError: The other is not an event stream, one is static and one is not, keys or times are of other
                types, a column does not exist, no column is named, `on` is not a condition, or windows are not on a
                grid, or have gaps.
            ParameterError, TypeMismatchError: The condition does not take its parameters, or its columns.
            PolicyError: `how` or `emit` names nothing that a join can do, or a stream sheds events, corrects late rows
                or has key punctuation.

        Example:
            >>> bids.join(auctions, left_columns=["price"], right_columns=["seller"])  # doctest: +SKIP
        """
        if not isinstance(right, EventStream):
            raise QueryError(
                f"join() takes another event stream, got {right!r:.80}\n  write .join(events(df, ...), ...)"
            )
        if not isinstance(on, JoinCondition | None):
            raise QueryError(
                f"on={on!r:.80} is not a condition of two streams, whose columns Spark does not bring together\n"
                "  equal columns are keys; for others write on=condition(function, left='km', right='limit')"
            )
        columns = (columns_by_name("left_columns", left_columns), columns_by_name("right_columns", right_columns))
        kind, left = parse_policy(JoinKind, how), self
        if same_window is not None:
            if kind is JoinKind.CLIP:
                raise QueryError(
                    "how='clip' goes by the starts of events, and same_window= by their windows: leave one out"
                )
            left, right = (stream._aligned(ShareWindows(same_window)) for stream in (self, right))
        if kind is JoinKind.CLIP and right.lifetimes != "point":
            right = right.to_points("start")
        request = WindowRequest(
            replace(left, name="left"),
            Unwindowed(),
            emit=parse_policy(EmitPolicy, emit),
            beside=(replace(right, name="right"),),
            join=JoinRequest(kind, columns, on),
        )
        return _planned(request, {})


@dataclass(frozen=True)
class WindowedStream(WindowRequest, KnowsSparkWords):
    """Events with a window; made by `EventStream.window`."""

    @step
    def aggregate(self, /, *unnamed: Never, **modules: ModuleCall) -> Query:
        """Compute one row per window and key, with a column per module.

        Each module decides about nulls in its own input: it skips a row with a null that it does not accept, and the
        other modules still get the row. The result of a module that skipped all rows of a window is null.

        Args:
            unnamed: None: each result column has a name.
            modules: By the name of its result column, each an aggregate.

        Raises:
            QueryError: No module is given, one is an operator or something else, or a name is taken.
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
        return _planned(self, modules)

    @step
    def apply(self, operator: ModuleCall) -> Query:
        """Compute any number of rows per window and key with an operator, whose row's fields become columns.

        Args:
            operator: The operator and the columns that it reads.

        Raises:
            QueryError: The module is not an operator.
            ParameterError: Its constructor does not take its parameters.
            TypeMismatchError: Its inputs are not of the types it reads.
            PolicyError: It is not right under the window's policies, or needs other windows.

        Example:
            >>> rides.window(tumbling("1 hour")).apply(stats.top_k("km", k=2)).results()  # doctest: +SKIP
        """
        check_call(operator, ModuleCall, "apply({})".format)
        check_kind(operator.cls, is_operator=True)
        return _planned(self, {"": operator})


def _planned(request: WindowRequest, modules: Mapping[str, ModuleCall]) -> Query:
    backend = backend_of_all(stream.df for stream in request.streams)
    sources, plan = backend.plan(request, modules)
    return Query(sources, plan, inner=cast("tuple[PlannedQuery, ...]", queries_before(request.streams)))


@dataclass(frozen=True, repr=False)
class Query(Outputs, HasText, KnowsSparkWords):
    """A planned query; made by `aggregate` or `apply`. Nothing runs until one of its DataFrames does.

    A prompt shows it in three lines: its windows, its modules and the columns of its results. A notebook shows what
    `explain` says, as a picture where `muntin-cli` is installed and otherwise as a table.
    """

    @step
    def as_events(
        self,
        *,
        key: ColumnLike | Sequence[ColumnLike] | EllipsisType | None = ...,
        order: ColumnLike | Sequence[ColumnLike] | None = None,
        buckets: int = 16,
        output: str = "results",
    ) -> EventStream:
        """Return the results as events of another query, in the same query of Spark's.

        An event has the lifetime of its result: the window, unless `timestamps` differs. Retracting or revising a
        result retracts or revises the event. The watermark of the other query is the output watermark of this one, in
        the same micro-batch, also while no window has a result. `explain()` shows how far it is behind the input. The
        stream may be joined, and united with others. `select` and `where` of this query are not read: they are the last
        steps of results.

        Args:
            key: Columns of the results to group by, as in `events`. By default those of this query; None makes all
                results one group.
            order: Orders events of the same time, as in `events`.
            buckets: The number of buckets over which the other query's keys are spread.
            output: `"results"`, or `"evicted_rows"` for the second output of a `RowOperator`: points at the ticks at
                which rows left their windows, with the watermark of this query's input.

        Raises:
            QueryError: As `results`; or there are early results that are not retracted, or there is no such output.
        """
        own = [name if name.isidentifier() else f"`{name}`" for name in (key.name for key in self.plan.keys)]
        keys = key_columns(own if key is ... else key)
        row_order = order_columns(order)
        check_buckets(buckets)
        if output not in ("results", "evicted_rows"):
            raise QueryError(
                f"output={output!r} has no rows that can be events\n  there are 'results' and 'evicted_rows'"
            )
        inner = replace(self, metrics_name=f"{self.metrics_name}.input", place_name=uuid4().hex)
        rows = self._backend.output_as_events(inner, output, row_order)
        return EventStream(
            df=rows.df,
            keys=keys,
            order=row_order,
            buckets=buckets,
            unit=self.plan.unit,
            inner=(inner,),
            **rows.columns,
        )
