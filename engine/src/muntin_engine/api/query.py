"""The steps of a query: events, their windows, their modules, and results that are events again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from types import EllipsisType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, Never, cast, overload
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
from muntin_engine.api.input_types import InputT, Path
from muntin_engine.api.lifetimes import ChangesLifetimes
from muntin_engine.api.outputs import Outputs
from muntin_engine.api.spark_words import KnowsSparkWords
from muntin_engine.api.text.has_text import HasText
from muntin_engine.api.timed_input import TimedInput
from muntin_engine.api.writes_outputs import WriteOptions
from muntin_engine.backends.choosing import backend_of, backend_of_all
from muntin_engine.evaluators.declarations import parse_evaluator
from muntin_engine.plan import check_buckets, check_kind
from muntin_engine.plan.request import JoinCondition, JoinRequest, WindowRequest, column_text, queries_before
from muntin_engine.plan.steps import step
from muntin_engine.time.lifetimes import ShareWindows

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.streaming.query import StreamingQuery

    from muntin_engine.backends.planned_query import PlannedQuery
    from muntin_engine.plan.request import ColumnLike, Frame


@dataclass(frozen=True)
class EventStream(ChangesLifetimes, TimedInput, KnowsSparkWords, Generic[InputT]):
    """A DataFrame whose rows are events; made by `events`, `union` and `Query.as_events`.

    Each call returns another stream, and several calls are applied one after the other. Columns are computed for new
    events, and for revisions and retractions that repeat the payload of their event. The columns that make rows events
    stay as they are.

    Some calls change the lifetimes of events: `shift`, `set_duration`, `extend`, `shorten`, `to_points`, `to_edges` and
    `align_to`. The new lifetime depends on one event alone. Revisions and retractions change with their events, and the
    watermark moves with the lifetimes, so no state is kept for a change, and any query can follow it. Whether a row is
    late depends on its changed lifetime and the changed watermark; `late_rows()` has the changed lifetime. Policies
    that derive the watermark, `with_heartbeat` and rows of punctuation refer to the unchanged events. Readings of a
    clock are not changed. An event whose changed lifetime leaves the axis is rejected. `explain()` shows the changed
    watermark. A checkpoint stores the changes.

    `shift`, `set_duration` and `extend` also take a column of the payload, which has the length for each event: an
    interval if times are timestamps, otherwise a number like the times. Every row of an event then needs the payload.
    If the stream has revisions or retractions, pass `repeated=True` to say that they repeat the payload of their event;
    results of another query always do. An event whose length is null, or less than allowed, is rejected.
    """

    @property
    def _first_input(self) -> Frame:
        """The input, by which `KnowsSparkWords` advises."""
        return self.df

    @step
    def where(self, condition: ColumnLike) -> EventStream[InputT]:
        """Leave out the events that do not meet a condition.

        Only insertions are tested, because other rows have no payload. Revisions and retractions of an event that is
        left out are left out with it. Punctuation, clock readings, signals and the end of the stream pass. All rows
        advance the watermark, even rows that are left out, and a sample that is left out still ends the one before it.

        Several calls are combined with "and". The metric `filtered` counts the insertions that were left out.

        Args:
            condition: A condition on the columns of a row, as text or as a column. Null leaves an event out, as in SQL.

        Raises:
            QueryError: The condition is not of type boolean.

        Example:
            >>> rides.where("km > 2").window(tumbling("1 hour"))  # doctest: +SKIP
        """
        checked_condition = backend_of(self.df).inputs.condition(self.df, condition)
        return replace(self, conditions=(*self.conditions, checked_condition))

    @step
    def shedding(self, *, most_held: int, when_full: str = "shed") -> EventStream[InputT]:
        """Limit the events that a key holds, so that one hot key cannot use up the memory of a worker.

        A micro-batch accepts as many new events of a key as the key has room for: `most_held`, less the events that it
        held before. It accepts those that start earliest. The others are shed: the metric `shed` counts them, and they
        go to `late_rows()` with the reason `shed`. There is room again when windows close and their events leave.

        Results of such a key cover a part of its events. Which part depends on how the input is cut into micro-batches.
        A micro-batch that is repeated after a failure sheds the same events.

        Revisions and retractions are never shed. A revision of an event that was shed waits for the event, and is
        rejected when the event would be late.

        The general evaluator or the evaluator for row windows runs such a query, because no other one holds events. In
        row windows, rows that wait for the watermark count as well as those in windows. A static input is one batch
        after which nothing is held, so nothing of it is shed. A query may continue from its checkpoint with another
        limit. With `late_policy="drop"` events that are shed are only counted. If called again, the last limit counts.

        `explain()` says where a full key may stay full. A limit that is not above what windows such as `last(10)` or
        `count_by_start(10)` always hold is refused.

        Args:
            most_held: The limit; well above what one window of a key needs, because a window that cannot become
                complete never makes room. The metric `events_held` counts the events that all keys hold now.
            when_full: `"shed"`, or `"fail"`: the micro-batch fails with a `StateError` that names the key, before any
                of its output is written, and the query goes on when it is started with a higher limit.

        Raises:
            QueryError: `most_held` is not a whole number above zero, or `when_full` is something else.

        Example:
            >>> clicks.shedding(most_held=100_000).window(session("30 minutes"))  # doctest: +SKIP
        """
        check_shedding(most_held, when_full)
        return replace(self, most_held=most_held, fails_when_full=when_full == "fail")

    @step
    def to_query(self, *, emit: EmitPolicy | str = EmitPolicy.FINAL) -> Query[InputT]:
        """Return the events themselves as the results of a query: filtered, with their new columns and lifetimes.

        Results have the key columns, `lifetime`, and the other columns of the stream, except those that are keys, times
        or kinds of changes; `select` keeps fewer. Late rows and duplicates are left out, as with windows. Without a
        watermark no row is late, and points and intervals that are never revised pass at once, without shuffle and
        state.

        Args:
            emit: `"final"`: each event once. Samples, and events that may be revised, wait until the watermark has
                passed their end; all others are final when they arrive. `"eager"`: at once, a row for each change, with
                the columns `change`, `event_id` and `new_end`.

        Raises:
            QueryError: A column has the name of another column of the results; or nothing advances the watermark of
                samples, or of events with ids.
            PolicyError: `emit` names nothing that events without windows can do, or the stream has a limit of
                `shedding`, corrects late rows or has key punctuation.

        Example:
            >>> long_rides = rides.where("km > 20").extend("10 minutes").to_query()  # doctest: +SKIP
            >>> long_rides.write(checkpoint="checkpoint", results="long_rides")  # doctest: +SKIP
        """
        # Of several samples at one time the last one by `order` counts; for other events the order means nothing here.
        events = self if self.lifetimes == "edge" else replace(self, order=None)
        # The events are planned as an anti join without a second stream, which returns all of them whole: see
        # `Plan.passes_events`.
        columns = backend_of(self.df).inputs.payload_columns(self.df, self._columns_of_events())
        request = WindowRequest(
            events,
            Unwindowed(),
            emit=parse_policy(EmitPolicy, emit),
            join=JoinRequest(JoinKind.ANTI, (columns,)),
        )
        return _plan_query(request)

    @overload
    def results(self: EventStream[Path], watermark: str | None = None, *, workers: int | None = None) -> pa.Table: ...

    @overload
    def results(self, watermark: str | None = None, *, workers: int | None = None) -> InputT: ...

    def results(self, watermark: str | None = None, *, workers: int | None = None) -> Any:
        """Return the events as a table of the kind of the input, as `to_query().results()` does.

        Args:
            watermark: As for `Query.results`.
            workers: As for `Query.results`.

        Raises:
            QueryError: As for `to_query` and `Query.results`.
            PolicyError: As for `to_query`.
            SetupError: As for `Query.results`.

        Example:
            >>> rides.where("km > 20").results().show()  # doctest: +SKIP
        """
        return self.to_query().results(watermark, workers=workers)

    def write(
        self, *, checkpoint: str | PathLike[str] | None = None, **options: Unpack[WriteOptions]
    ) -> StreamingQuery:
        """Start a Spark query that writes the events to sinks, as `to_query().write(...)` does.

        Args:
            checkpoint: Spark's checkpoint location; required.
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
    def apply(self, operator: ModuleCall) -> Query[InputT]:
        """Follow the events of each key with a stream operator, without windows.

        The operator gets each event when the watermark has passed it, in order of time, and is called at the times that
        it asks for. Events of the same time are ordered by the column `events(order=...)`, then by their values.

        Results have a column `lifetime` in place of `window`: a point at the time of the call, unless the operator
        returns another one. They are final, and complete as far as the input is. For operators over windows, see
        `WindowedStream.apply`.

        Args:
            operator: The operator and the columns that it reads.

        Raises:
            QueryError: The module is not a stream operator, or events last longer than a tick.
            ParameterError: The module's constructor does not take its parameters.
            TypeMismatchError: The module's inputs are not of the types it reads.
            PolicyError: Late rows are to be adjusted or to correct results.

        Example:
            >>> stream.apply(module("patterns.silence", after="10 minutes")).results()  # doctest: +SKIP
        """
        check_call(operator, "apply({})".format)
        if not issubclass(operator.cls, StreamOperator):
            kind = "operator" if operator.cls.is_operator else "aggregate"
            call = f"apply(module({operator.cls.name!r}, ...))"
            raise QueryError(
                f"{operator.cls.name} is an {kind} over windows, and no windows come before {call}\n"
                "  cut the axis first: .window(tumbling('10 minutes'))"
            )
        return _plan_query(WindowRequest(self, Unwindowed()), {_OPERATOR: operator})

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
    ) -> WindowedStream[InputT]:
        """Cut the axis into windows.

        With `forget_keys_after` the events of a key are split into *lives*. An event begins the next life if it starts
        more than that time after the last tick of all earlier events; if it starts exactly that time later, it is still
        in the old life. Each life is evaluated like a key of its own. Its windows end with the life, one tick after
        that time, and windows that become equal by this are merged. When the watermark reaches that tick, the results
        of the life are final and all state of the key is dropped; the metric `keys_forgotten` counts it. Until then, a
        late event may join two lives, and a retraction may split a life. Windows of two lives are never equal, but they
        may overlap: a daily window that ends early after an hour of silence may appear twice, with one start and two
        ends. Such queries run on the general evaluator. Early results need `refinement="retract"`, because a window
        that ends early gets another end when its key has another event. Its trigger then goes on with its state.

        Args:
            specification: The windows, for example `hopping("1 hour", "10 minutes")`, `snapshot()` or
                `last(10).trigger(2)`.
            clip: The cut of lifetimes to the window before time-sensitive modules see them. By default the clip that
                the modules need, or `"none"`.
            timestamps: The lifetime of the output. By default the one that the modules need, or `"align"`.
            emit: `"final"`: each window once, when nothing can change it. `"speculative"`: when the max event time
                passes its end, `"eager"`: at once; both with retractions, and the columns `change` and `event_id`.
                `early(...)`: final, and before that when a trigger fires, with the columns `timing` and `firing`.
            forget_keys_after: The time for which a key may be silent before it is forgotten, for example `"30 days"`;
                by default no key is forgotten. A key with an event that has not ended is kept. The checkpoint stores
                this time. It is refused for samples, for time-bound results, for early results that are not retracted,
                and for windows that follow rows, whose partitions can be evicted instead.
            evaluator: The way of computing windows, which does not affect the results. `"auto"`: the cheapest correct
                one; `"columnar"`, `"sliced"`, `"grouped"` or `"general"`: this one, for tests and comparisons, or an
                error if it cannot run the query. The checkpoint stores it.

        Raises:
            QueryError: `specification` is no specification of windows.
            PolicyError: A text names no policy, or no evaluator.
            DurationError: `forget_keys_after` cannot be read.
        """
        check_specification(specification)
        return WindowedStream(
            self,
            specification,
            clip=None if clip is None else parse_policy(ClipPolicy, clip),
            timestamps=None if timestamps is None else parse_policy(TimestampPolicy, timestamps),
            emit=emit if isinstance(emit, EarlyEmission) else parse_policy(EmitPolicy, emit),
            evaluator=parse_evaluator(evaluator),
            forget_keys_after=None if forget_keys_after is None else ticks(forget_keys_after),
        )

    @step
    def windows(
        self,
        *unnamed: Never,
        timestamps: TimestampPolicy | str | None = None,
        **specifications: WindowSpecification,
    ) -> WindowedStream[InputT]:
        """Cut the axis in several ways at once.

        Each row is merged once, into slices that all specifications share, so another specification costs little more
        than its results. Results have a column `window_name`. A row that is late for one of the windows is late for
        all of them, so that all results are computed from the same rows. For example, beside windows of 15 minutes a
        row may be late that windows of an hour alone would still count. Write a query for each if each should decide by
        itself. Events may have a duration, but no ids.

        Args:
            unnamed: Nothing: each specification has a name.
            timestamps: The lifetime of the output, `"align"` or `"point_at_end"`; by default as for `window`.
            specifications: Windows by name: hopping, tumbling, or calendar windows of one zone that are made of days,
                or of months.

        Raises:
            QueryError: There is no specification.

        Example:
            >>> rides.windows(now=hopping("10 minutes", "1 minute"), day=tumbling("1 day"))  # doctest: +SKIP
        """
        if unnamed or not specifications:
            raise QueryError(
                "windows() needs at least one specification, each with a name: windows(day=tumbling('1 day'))"
            )
        for name, specification in specifications.items():
            check_specification(specification, name)
        # A windowed stream has one specification in any case: here the first one. `named` has all of them.
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
    ) -> Query[InputT]:
        """Join this stream with another one: events of equal keys meet where their lifetimes overlap.

        Results have the key columns, as this stream names them, `lifetime`, and the columns asked for. Revisions of
        either stream change results. Whether a row is late depends on the watermark of its own stream alone. An event
        is kept until the watermark of the other stream has passed its end, or longer if its own end may move; so
        lifetimes bound the state. In metrics and side outputs the streams are called `left` and `right`.

        Args:
            right: The other stream. Its keys and times are of the same types as those of this stream.
            how: `"inner"`: each pair of events, over the ticks that their lifetimes share. `"anti"`: the parts of the
                events of this stream that no event of the other one covers; `"semi"`: the parts that are covered, each
                once. `"left"`: the pairs, and the parts that are not covered, with nulls for the columns of the other
                stream. `"clip"`: each event of this stream, up to the first event of the other one that starts after
                it; only the starts of the other stream's events count, and an event is kept only until then.
            left_columns: The columns of this stream that results have: their names, or columns by new names.
            right_columns: The columns of the other stream; none for `"anti"`, `"semi"` and `"clip"`.
            on: A condition on columns of both streams, made by `condition`. Two events that do not meet it make no
                pair, and neither covers or clips the other.
            same_window: Windows on a grid, such as `hopping("10 minutes", "1 minute")`. Events then meet if they share
                a window, whether they overlap or not. They meet once, however many windows they share: the lifetime in
                the results goes from the start of the first shared window to the start of the window after the last
                one. Not for `"clip"`.
            emit: `"final"`: each row once, when nothing can change it. A pair of events whose ends do not move, because
                they have no ids and are no samples, is final when both have arrived. A part of an event is final when
                the watermark of the other stream has passed it. `"eager"`: at once, a row for each change, with the
                columns `change`, `event_id` and `new_end`.

        Raises:
            QueryError: The other stream is not an event stream, one of them is static and one is not, keys or times are
                of different types, a column does not exist, no column is named, `on` is not a condition, or windows are
                not on a grid, or have gaps.
            ParameterError, TypeMismatchError: The condition does not take its parameters, or its columns.
            PolicyError: `how` or `emit` names nothing that a join can do, or a stream has a limit of `shedding`,
                corrects late rows or has key punctuation.

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
        kind = parse_policy(JoinKind, how)

        # Events that share a window overlap once both streams are extended to whole windows.
        left = self
        if same_window is not None:
            if kind is JoinKind.CLIP:
                raise QueryError(
                    "how='clip' goes by the starts of events, and same_window= by their windows: leave one out"
                )
            left = self._aligned(ShareWindows(same_window))
            right = right._aligned(ShareWindows(same_window))
        if kind is JoinKind.CLIP and right.lifetimes != "point":
            right = right.to_points("start")  # only starts count, and points are not kept until the events end

        request = WindowRequest(
            replace(left, name="left"),
            Unwindowed(),
            emit=parse_policy(EmitPolicy, emit),
            beside=(replace(right, name="right"),),
            join=JoinRequest(kind, columns, on),
        )
        return _plan_query(request)


@dataclass(frozen=True)
class WindowedStream(WindowRequest, KnowsSparkWords, Generic[InputT]):
    """Events with a window; made by `EventStream.window`."""

    @step
    def aggregate(self, /, *unnamed: Never, **modules: ModuleCall) -> Query[InputT]:
        """Compute one row per window and key, with a column per module.

        Each module decides about nulls in its own input: it skips a row with a null that it does not accept, and the
        other modules still get the row. The result of a module that skipped all rows of a window is null.

        Args:
            unnamed: Nothing: each result column has a name.
            modules: Aggregates, by the names of their result columns.

        Raises:
            QueryError: No module is given, a module is an operator or something else, or a name is in use.
            ParameterError: A module's constructor does not take its parameters.
            TypeMismatchError: A module's inputs are not of the types it reads.
            PolicyError: A module gives wrong results under the window's policies, or needs other windows; or two
                modules are made for different policies, and the query names none.
        """
        if unnamed or not modules:
            raise QueryError(
                "aggregate() needs at least one module, each with the name of its result: "
                "aggregate(n=module('stats.count'))"
            )
        for name, call in modules.items():
            check_call(call, f"aggregate({name}={{}})".format)
            check_kind(call.cls, is_operator=False)
        return _plan_query(self, modules)

    @step
    def apply(self, operator: ModuleCall) -> Query[InputT]:
        """Compute any number of rows per window and key with an operator, whose row's fields become columns.

        Args:
            operator: The operator and the columns that it reads.

        Raises:
            QueryError: The module is not an operator.
            ParameterError: The operator's constructor does not take its parameters.
            TypeMismatchError: The operator's inputs are not of the types it reads.
            PolicyError: The operator gives wrong results under the window's policies, or needs other windows.

        Example:
            >>> rides.window(tumbling("1 hour")).apply(stats.top_k("km", k=2)).results()  # doctest: +SKIP
        """
        check_call(operator, "apply({})".format)
        check_kind(operator.cls, is_operator=True)
        return _plan_query(self, {_OPERATOR: operator})  # an operator has no name of a result


_OPERATOR: Final = ""
"""The name of an operator among the modules of a query. It names no column: the fields of its rows do."""


def _plan_query(request: WindowRequest, modules: Mapping[str, ModuleCall] = MappingProxyType({})) -> Query[Any]:
    """Make the query of a request, planned by the backend of its inputs.

    Args:
        request: The events and their windows, or their join.
        modules: The aggregates by the names of their result columns, or one operator under the name `_OPERATOR`; none
            for a join, and where the results are the events.
    """
    backend = backend_of_all(stream.df for stream in request.streams)
    sources, plan = backend.plan(request, modules)
    return Query(sources, plan, inner=cast("tuple[PlannedQuery, ...]", queries_before(request.streams)))


@dataclass(frozen=True, repr=False)
class Query(Outputs[InputT], HasText, KnowsSparkWords):
    """A planned query; made by `aggregate` or `apply`. Nothing runs until one of its DataFrames does.

    A prompt shows a query in three lines: its windows, its modules and the columns of its results. A notebook shows
    the way of its rows as a picture, with the text of `explain` folded below it. If the input is a table in memory with
    few rows, it also runs the query, and draws the rows of one key with their windows.
    """

    @property
    def _first_input(self) -> Frame:
        """The first input, by which `KnowsSparkWords` advises."""
        return self.source.df

    @step
    def as_events(
        self,
        *,
        key: ColumnLike | Sequence[ColumnLike] | EllipsisType | None = ...,
        order: ColumnLike | Sequence[ColumnLike] | None = None,
        buckets: int = 16,
        output: str = "results",
    ) -> EventStream[InputT]:
        """Return the results as events of another query, in the same query of Spark's.

        An event has the lifetime of its result: the window, unless `timestamps` differs. Retracting or revising a
        result retracts or revises the event. The watermark of the other query is the output watermark of this one, in
        the same micro-batch, even while no window has a result. `explain()` shows how far it is behind the input. The
        stream may be joined, and united with others. A query with `select` or `where` is refused, because these are the
        last steps of results.

        Args:
            key: The columns of the results to group by, as in `events`. By default the keys of this query; None makes
                all results one group.
            order: The order of events of the same time, as in `events`.
            buckets: The number of buckets over which the other query's keys are spread.
            output: `"results"`, or `"evicted_rows"` for the second output of a `RowOperator`: points at the ticks at
                which rows left their windows, with the watermark of this query's input.

        Raises:
            QueryError: As for `results`; or there are early results that are not retracted, the results are selected,
                or there is no such output.
        """
        if key is ...:
            # The keys of this query, by the names of their columns in its results. A name that is no identifier would
            # be read as an expression without quotes.
            names = [plan_key.name for plan_key in self.plan.keys]
            key = list(map(column_text, names))
        keys = key_columns(key)
        row_order = order_columns(order)
        check_buckets(buckets)
        if output not in ("results", "evicted_rows"):
            raise QueryError(
                f"output={output!r} has no rows that can be events\n  there are 'results' and 'evicted_rows'"
            )

        # This query and the reader, the query that reads its results, run in one Spark query. So the metrics of this
        # query need another name than those of the reader. The reader may read this query in several places, and all
        # of them have one recording: the tasks find it by an id.
        inner = replace(self, metrics_name=f"{self.metrics_name}.input", inner_id=uuid4().hex)
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
