"""Other streams that advance the time of an event stream: heartbeats, and readings of a clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from numbers import Number
from typing import TYPE_CHECKING, Final, Self

from muntin import Duration
from muntin.errors import PolicyError, QueryError
from muntin.errors.messages import Argument, Call
from muntin.progress import bounded_delay
from muntin_engine.api.arguments import check_dataframe, check_each_column
from muntin_engine.backends.choosing import backend_of, backend_of_all, is_stream
from muntin_engine.plan.request import Heartbeat, InputRequest
from muntin_engine.plan.steps import step

if TYPE_CHECKING:
    from muntin_engine.plan.request import ColumnLike, Frame


_PERIOD: Final = "10 seconds"
"""The default period in which the clock of the driver's machine is read."""


@dataclass(frozen=True)
class TimedInput(InputRequest):
    """The part of an event stream that adds other streams for the time."""

    @step
    def with_heartbeat(
        self, df: Frame, *, at: ColumnLike, delay: Duration = 0, source: ColumnLike | None = None
    ) -> Self:
        """Advance the watermark of this stream by the rows of another stream.

        Each row of the other stream is punctuation: nothing will change any more before its time less the delay.

        Args:
            df: The other stream; streaming if this one is.
            at: The column with the time, of the same kind as the events' times.
            delay: The delay of the watermark behind that time.
            source: The column with the source that a row is punctuation for, if the input has sources; by default a row
                is punctuation for all of them.

        Raises:
            PolicyError: The delay is negative.
            DurationError: The delay cannot be read.
            QueryError: One input is streaming and the other is static, the heartbeat names sources and the input has
                none, or lifetimes were changed before: the heartbeat refers to the unchanged events.
        """
        check_dataframe("with_heartbeat", df)
        df = backend_of_all([self.df, df]).inputs.opened(df)
        if self.lifetime_changes:
            raise QueryError(
                f"the heartbeat's times are those of the events as they come, and {self.lifetime_changes[0].call} has "
                "changed these\n  call with_heartbeat() first"
            )
        check_each_column({"at": at, "source": source})
        if is_stream(self.df) != is_stream(df):
            kind_of_events = "a stream" if is_stream(self.df) else "static"
            kind_of_heartbeat = "a stream" if is_stream(df) else "static"
            raise QueryError(
                f"events and their heartbeat come together; the events are {kind_of_events}, these are "
                f"{kind_of_heartbeat}"
            )
        if source is not None and not self.sources:
            raise QueryError(
                "the heartbeat names sources, and the events have none\n"
                "  give {events} a source and sources, or leave it out",
                events=Call("events"),
            )
        heartbeat = Heartbeat(df, at, delay=bounded_delay(delay).delay, source=source)  # the policy checks the delay
        return replace(self, heartbeats=(*self.heartbeats, heartbeat))

    @step
    def with_clock(self, clock: Frame | None = None, *, every: Duration = _PERIOD) -> Self:
        """Give the stream a clock, so that time passes and micro-batches run even without rows.

        A reading does not advance the watermark: it is processing time, by which sources become idle and timers fire.
        Where times are integers, readings are microseconds since the epoch.

        Args:
            clock: A stream with one column, which has readings as timestamps. None: the clock of the driver's machine.
                With `availableNow` that clock is read once, when the query starts.
            every: The period in which the clock of the driver's machine is read.

        Raises:
            QueryError: The events are not a stream, or a stream of readings has a period.
            PolicyError: `every` is not above zero, or a number without a unit.
            DurationError: `every` cannot be read.
        """
        if isinstance(clock, str | int | timedelta):
            raise QueryError(
                "{value!r} is not a stream of readings\n  a period goes by name: {call}",
                value=clock,
                call=Call("with_clock", Argument("every", clock)),
            )
        if clock is not None:
            check_dataframe("with_clock", clock)
            backend_of_all([self.df, clock])  # raises if the two are of different backends
            if every != _PERIOD:
                raise QueryError(
                    f"with_clock(clock, every={every!r}) has two clocks: a stream of readings comes as it comes\n"
                    "  leave one of them out: with_clock(clock), or with_clock(every=...) for that of the driver"
                )
        if isinstance(every, Number):
            raise PolicyError(
                "{argument} has no unit\n  expected, for example, {example}",
                argument="every",
                value=every,
                example=Argument("every", "10 seconds"),
            )
        if clock is None:
            if not is_stream(self.df):
                raise QueryError("a static input has ended, so no time passes for it: leave the clock out")
            clock = backend_of(self.df).inputs.clock(self.df, every)
        return replace(self, clock=clock)
