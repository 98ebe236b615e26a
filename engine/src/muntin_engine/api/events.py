"""A stream of events: which columns make rows events, what says how complete they are, and how the axis is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Never, TypeAlias

from muntin import (
    ClipPolicy,
    Duration,
    EarlyEmission,
    EmitPolicy,
    Lateness,
    LatePolicy,
    ProgressPolicy,
    Punctuated,
    QueryError,
    TimestampPolicy,
    WindowKind,
    bounded_delay,
)
from muntin.lateness import parse_lateness
from muntin.policies import parse_policy
from muntin_engine.api.arguments import (
    check_dataframe,
    check_each,
    check_flag,
    check_period,
    check_progress,
    check_specification,
    key_columns,
)
from muntin_engine.api.heartbeats import Heartbeat, heartbeat_of
from muntin_engine.api.query import WindowedStream
from muntin_engine.evaluators.registry import parse_evaluator
from muntin_engine.plan import check_buckets, check_columns, check_sources

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from muntin_engine.plan import Plan

    ColumnLike: TypeAlias = str | Column


def events(  # noqa: PLR0913  # each names a column that only some streams have
    df: DataFrame,
    *,
    key: ColumnLike | Sequence[ColumnLike] | None = None,
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
    unit: str | None = None,
) -> EventStream:
    """Say which columns of a DataFrame make its rows events.

    Times are timestamps, or integers for an axis of any other kind; all of one query are of one kind.

    Args:
        df: A streaming DataFrame, or a static one, which is a stream that has ended.
        key: One column to group by, or several; windows, modules and results are per key. A null in one is a key like
            any other. None: all rows are one group.
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
            of watermark speak for their source; those without a source speak for all.
        sources: The sources that are waited for, all there are. Rows of another one are rejected.
        late: What becomes of a row that comes behind the watermark: `"side"`, `"drop"`, `"adjust"` or, for example,
            `correct("1 hour")`.
        buckets: Over how many buckets keys are spread; 1 to 256. A checkpoint remembers it. Without keys there is one.
        unit: Where times are integers that count `"s"`, `"ms"`, `"us"` or `"ns"`: which of these. All lengths are then
            given as time, such as `"10 minutes"`, and results have times in the same unit.

    Raises:
        QueryError: The columns do not make events, for example neither `start` nor `at` is given; or there is a delay
            and another policy.
        PolicyError: The delay is negative, or the text of a policy names none.
        DurationError: The delay cannot be read.
    """
    check_dataframe("events", df)
    keys = key_columns(key)
    begins = start if at is None else at
    roles = {"start": start, "end": end, "at": at, "id": id, "change": change, "new_end": new_end, "signal": signal}
    check_each({**roles, "source": source})
    check_flag("edge", edge)
    check_progress(progress)
    check_columns({name for name, column in roles.items() if column is not None}, is_edge=edge)
    assert begins is not None
    if delay is not None and progress is not None:
        raise QueryError(f"a delay is a progress policy of its own: give delay={delay!r} or progress={progress!r}")
    check_buckets(buckets)
    check_sources(source, sources)
    policy = progress or (Punctuated() if delay is None else bounded_delay(delay))
    stream = EventStream(df, keys, id, begins, end, edge, change, new_end, policy, buckets, signal)
    return replace(stream, source=source, sources=tuple(sources), late=parse_lateness(late), unit=unit)


@dataclass(frozen=True)
class EventStream:
    """A DataFrame whose rows are events; made by `events`. Those of `Query.as_events` know the queries before them."""

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
    inner: tuple[Plan, ...] = ()
    conditions: tuple[Column, ...] = ()
    unit: str | None = None

    def where(self, condition: ColumnLike) -> EventStream:
        """Leave out the events that do not meet a condition.

        New events are tested. What is said later of one that is left out, a new end or that it is deleted, goes with
        it, although such rows have no payload that could be tested. All other rows pass: watermark, readings of a
        clock, signals and the end of the stream. So the input stays as complete as its rows say, those that are left
        out included, and a sample that is left out ends the one before it.

        Several conditions hold together. `filtered` among the numbers of a batch counts what was left out.

        Args:
            condition: A condition on the columns of a row, as text or as a column. Null leaves an event out, as in SQL.

        Raises:
            QueryError: It is not of type boolean.

        Example:
            >>> rides.where("km > 2").window(tumbling("1 hour"))  # doctest: +SKIP
        """
        from muntin_engine.spark.planning import condition_of

        return replace(self, conditions=(*self.conditions, condition_of(self.df, condition)))

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
        check_dataframe("with_heartbeat", df)
        check_each({"at": at, "source": source})
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
            PolicyError: `every` is not above zero, or a number without a unit.
            DurationError: `every` cannot be read.
        """
        from muntin_engine.spark.clock import clock_beside

        if isinstance(clock, str | int | timedelta):
            raise QueryError(
                f"{clock!r} is no stream of readings\n  a period goes by name: with_clock(every={clock!r})"
            )
        if clock is not None:
            check_dataframe("with_clock", clock)
        check_period("every", every)
        return replace(self, clock=clock_beside(self.df, every) if clock is None else clock)

    def window(
        self,
        specification: WindowKind,
        *,
        clip: ClipPolicy | str | None = None,
        timestamps: TimestampPolicy | str | None = None,
        emit: EmitPolicy | EarlyEmission | str = EmitPolicy.FINAL,
        evaluator: str = "auto",
    ) -> WindowedStream:
        """Cut the axis into windows.

        Args:
            specification: For example `hopping("1 hour", "10 minutes")` or `snapshot()`.
            clip: What time-sensitive modules see of lifetimes that leave the window. Unsaid, it is the one that the
                modules are made for; `"none"` if they do not mind.
            timestamps: Which lifetime the output gets. Unsaid, it is the one that the modules are made for; `"align"`
                if they do not mind.
            emit: `"final"`: each window once, when nothing can change it. `"speculative"`: when the watermark passes
                its end, `"eager"`: at once; both with retractions, and the columns `change` and `event_id`.
                `early(...)`: final, and before that when a trigger fires, with the columns `timing` and `firing`.
            evaluator: How windows are computed; it makes no difference to the results. `"auto"`: in the cheapest way
                that is right; `"columnar"`, `"sliced"` or `"general"`: in that way, for tests and comparisons. A
                checkpoint remembers it.

        Raises:
            QueryError: The specification is none.
            PolicyError: A policy's or an evaluator's text names none.
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
        )

    def windows(
        self,
        *unnamed: Never,
        timestamps: TimestampPolicy | str | None = None,
        **specifications: WindowKind,
    ) -> WindowedStream:
        """Cut the axis in several ways at once.

        Each row is merged once, into slices that all of them share, so another window costs little more than its
        results. These have a column `window_name`. A row that is late for one of the windows is late for all: they
        show the same rows. Queries of their own, whose results are united, decide each by itself.

        Args:
            unnamed: None: each specification has a name.
            timestamps: Which lifetime the output gets, `"align"` or `"point_at_end"`; unsaid, as for `window`.
            specifications: By name, hopping or tumbling windows.

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
