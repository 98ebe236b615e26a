"""Calls on an event stream that change the lifetimes of its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from typing_extensions import TypeIs

from muntin import Duration
from muntin.axis import spell_as_written, ticks
from muntin.errors import QueryError
from muntin.errors.messages import Argument, Call, WrittenExpression
from muntin.modules.call import check_column
from muntin.windows import WindowSpecification
from muntin_engine.api.arguments import check_flag, check_specification
from muntin_engine.api.payload import ChangesPayload, text_of
from muntin_engine.backends.choosing import backend_of
from muntin_engine.plan.request import SqlExpression
from muntin_engine.plan.steps import step
from muntin_engine.time.lifetimes import (
    Align,
    Extend,
    LengthColumn,
    LifetimeChange,
    PointsAtEnd,
    PointsAtStart,
    SetDuration,
    Shift,
    Shorten,
    ToEdges,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

    LengthOrColumn: TypeAlias = Duration | SqlExpression | Column


@dataclass(frozen=True)
class ChangesLifetimes(ChangesPayload):
    """The part of an event stream that changes the lifetimes of events. `EventStream` describes all such changes."""

    @step
    def shift(self, by: LengthOrColumn, *, at_least: Duration = 0, repeated: bool = False) -> Self:
        """Move the events along the axis, and the watermark with them.

        Args:
            by: The distance: `"1 hour"` to the future, `"-1 hour"` to the past; or a column.
            at_least: With a column, the least shift of any event, negative to the past: the watermark is shifted by
                this, and an event with a lower value is rejected.
            repeated: With a column, True if revisions and retractions repeat the payload of their event.

        Raises:
            DurationError: The length cannot be read.
            QueryError: A column of lengths cannot be computed, or is missing in some rows; or the length is not a
                column, and `at_least` or `repeated` is given.

        Example:
            >>> yesterday = rides.shift("1 day")  # beside today's  # doctest: +SKIP
        """
        if not _is_length(by):
            return self._by_column("shift", by, Shift, least=ticks(at_least), repeated=repeated)
        _check_one_length("shift", by, at_least=at_least, repeated=repeated)
        return self._changed(Shift(ticks(by)))

    @step
    def set_duration(self, length: LengthOrColumn, *, repeated: bool = False) -> Self:
        """Give each event a duration from its start on, whatever its end; the watermark stays.

        Revisions of ends then change nothing; retractions still do. Points and samples become events with ends.

        Args:
            length: The duration; or a column of durations above zero.
            repeated: With a column, True if revisions and retractions repeat the payload of their event.

        Raises:
            DurationError: The length cannot be read.
            QueryError: The length is not above zero; a column of lengths cannot be computed, or is missing in some
                rows; or the length is not a column, and `repeated` is given.

        Example:
            >>> clicks.set_duration("5 minutes").window(snapshot())  # the last five minutes  # doctest: +SKIP
            >>> offers.set_duration(expression("hours * INTERVAL '1' HOUR"))  # doctest: +SKIP
        """
        if not _is_length(length):
            return self._by_column("set_duration", length, SetDuration, least=1, repeated=repeated)
        _check_one_length("set_duration", length, repeated=repeated)
        return self._changed(SetDuration(_above_zero("set_duration", length)))

    @step
    def extend(self, by: LengthOrColumn, *, repeated: bool = False) -> Self:
        """End each event later; the watermark stays. An event without an end still has none.

        Args:
            by: The length to add; or a column of lengths that are zero or more.
            repeated: With a column, True if revisions and retractions repeat the payload of their event.

        Raises:
            DurationError: The length cannot be read.
            QueryError: The length is not above zero; a column of lengths cannot be computed, or is missing in some
                rows; the length is not a column, and `repeated` is given; or events are samples.
        """
        if not _is_length(by):
            return self._by_column("extend", by, Extend, least=0, repeated=repeated)
        _check_one_length("extend", by, repeated=repeated)
        return self._with_ends("extend", Extend(_above_zero("extend", by)))

    @step
    def shorten(self, by: Duration) -> Self:
        """End each event earlier, but keep one tick at least. An event without an end still has none.

        Where ends are revised, a revision now changes an earlier time, so the watermark moves back by the same length.

        Args:
            by: The length to subtract.

        Raises:
            DurationError: The length cannot be read.
            QueryError: The length is not above zero, or events are samples.
        """
        return self._with_ends("shorten", Shorten(_above_zero("shorten", by)))

    @step
    def to_points(self, at: Literal["start", "end"] = "start", *, repeated: bool = False) -> Self:
        """Make each event a point; the watermark stays.

        A point at the end is the first tick that its event does not cover. An event without an end has no such point:
        it is left out, and counted by the metric `filtered`. Where ends are revised, a revision deletes the point at
        the old end and inserts a point at the new end: so revisions have to have the old end and the payload.

        Args:
            at: `"start"`, or `"end"`.
            repeated: With `at="end"`, True if the rows of revisions repeat the payload of their event, and its end so
                far, which is null only if the event had no end. A stream with `new_end` needs that. For other streams
                it says what a null end in a retraction means: that the event had no end, and so no point. Without it,
                such an end is not known, and the row is rejected.

        Raises:
            QueryError: There is no such point; events are samples, whose ends are not known from one row; ends are
                revised and the rows of revisions do not repeat payload and end; or `repeated` is given for starts.

        Example:
            >>> arrivals = rides.to_points("end").window(tumbling("1 hour"))  # doctest: +SKIP
        """
        check_flag("repeated", repeated)
        if at == "start":
            if repeated:
                raise QueryError(
                    "{call} reads no end and no payload of revisions\n  leave repeated out: {right}",
                    call=Call("to_points", "start", Argument("repeated", True)),
                    right=Call("to_points", "start"),
                )
            return self._changed(PointsAtStart())
        if at != "end":
            raise QueryError("to_points({value!r}) is not a point of an event\n  there are 'start' and 'end'", value=at)
        if self._ends_are_revised and not repeated:
            raise QueryError(
                "to_points('end') makes a revision the deletion of one point and the insertion of another, and rows of "
                "revisions have no payload\n  if those of this stream repeat the payload of their event and its end so "
                "far, say so: {repeated}\n  otherwise take the points at the start, or ends that are never revised",
                repeated=Call("to_points", "end", Argument("repeated", True)),
            )
        return self._with_ends("to_points", PointsAtEnd(is_repeated=repeated))

    @step
    def to_edges(self) -> Self:
        """Make each event a sample that lasts until the next event of its key starts, as `events(..., edge=True)` does.

        The watermark stays. If several events of a key start together, the last one by `events(..., order=...)` is the
        sample; without an order, the greatest one by its values.

        Raises:
            QueryError: Ends are revised: samples cannot be.

        Example:
            >>> valid = prices.to_edges()  # each price holds until the next one  # doctest: +SKIP
        """
        if self._ends_are_revised:
            raise QueryError(
                "to_edges() makes samples, which last until the next one and cannot be revised, and this stream has "
                "new_end\n  call to_points('start').to_edges(), which does not read ends; retractions are rejected then"
            )
        return self._changed(ToEdges())

    @step
    def align_to(self, windows: WindowSpecification) -> Self:
        """Extend each event to the windows that it is in, from the start of the first one to the end of the last one.

        Events then overlap if, and only if, they share a window. `join(same_window=...)` is for windows that overlap.
        The watermark moves in steps: it stays at the start of the earliest window that has not ended.

        Args:
            windows: Windows that lie end to end, such as `tumbling("1 hour")` or `calendar("month")`.

        Raises:
            QueryError: The windows have gaps, overlap or are on no grid; or events are samples.

        Example:
            >>> whole_hours = rides.align_to(tumbling("1 hour"))  # doctest: +SKIP
        """
        return self._aligned(Align(windows))

    def _by_column(
        self, call: str, column: Column, change: Callable[[LengthColumn], LifetimeChange], *, least: int, repeated: bool
    ) -> Self:
        """Return the stream with lifetimes that change by a column of lengths.

        Args:
            call: The name of the call, for errors.
            column: The lengths: a column of the events, or an expression over these.
            change: Makes the change, given the column under its name in the stream.
            least: The least length that an event may have.
            repeated: True if revisions and retractions repeat the payload of their event.

        Raises:
            QueryError: The column cannot be computed, or is missing in some rows; or events have no ends to change.
        """
        check_column(call, column)
        check_flag("repeated", repeated)
        # Results of another query repeat the payload of their event in every row. That is not known of a union, which
        # has `rules` and may have other streams beside such results.
        are_results = bool(self.inner) and not self.rules
        repeats_payload = repeated or are_results
        # Without an id there are neither revisions nor retractions: every row is an event with its payload.
        if self.id is not None and not repeats_payload:
            raise QueryError(
                "{call}() by a column needs the payload in every row, and rows of revisions and retractions may have "
                "none\n  if those of this stream repeat the payload of their event, say so: {repeated}",
                call=call,
                repeated=Call(call, ..., Argument("repeated", True)),
            )

        # The lengths become a column of the events, under a name that no other column has.
        used_names = backend_of(self.df).inputs.column_names(self.df)
        number = 0
        while f"length_{number}" in used_names:
            number += 1
        name = f"length_{number}"
        stream = self._computed(call, names={}, columns={name: column}, keeps_others=True)
        lifetime_change = change(LengthColumn(name, text_of(column), least))
        if isinstance(lifetime_change, Extend):
            return stream._with_ends(call, lifetime_change)  # the only one of these changes that reads ends
        return stream._changed(lifetime_change)

    @property
    def _ends_are_revised(self) -> bool:
        """True if revisions may change ends: no earlier call, such as `set_duration`, has made these independent."""
        return self.new_end is not None and not any(change.fixes_ends for change in self.lifetime_changes)

    def _aligned(self, change: Align) -> Self:
        """Return the stream with lifetimes that are aligned to windows.

        Args:
            change: The change, with the windows: that of `align_to`, or that of `join(same_window=...)`, for which
                windows may overlap.

        Raises:
            QueryError: Lifetimes cannot be aligned to these windows, or events are samples.
        """
        check_specification(change.windows)
        grid = change.windows.grid()
        # Windows of a grid begin every `hop` ticks: they have gaps if they are shorter, and overlap if they are longer.
        if grid is None or grid.size < grid.hop:
            fact = "have gaps" if grid is not None else "are on no grid"
            overlapping = ", or hopping(...) with windows that overlap" if change.may_overlap else ""
            raise QueryError(
                f"{change.call}({change.windows}) cannot align lifetimes: these windows {fact}\n"
                f"  expected: tumbling(...){overlapping}"
            )
        if grid.size > grid.hop and not change.may_overlap:
            raise QueryError(
                f"{change.call}({change.windows}) cannot align lifetimes: these windows overlap, and events that have "
                "no window in common would meet\n"
                "  expected: tumbling(...); to join the events that share a window: join(..., same_window=...)"
            )
        return self._with_ends(change.call, change)

    def _with_ends(self, call: str, change: LifetimeChange) -> Self:
        """Return the stream with a change that reads the ends of events.

        Raises:
            QueryError: Events are samples.
        """
        if self.lifetimes == "edge":
            raise QueryError(
                f"{call}() reads the ends of events, and a sample lasts until the next one of its key, another row\n"
                "  call it on events with ends: set_duration(...) gives samples one"
            )
        return self._changed(change)

    def _changed(self, change: LifetimeChange) -> Self:
        """Return the stream with a further change of lifetimes, which follows those of earlier calls."""
        return replace(self, lifetime_changes=(*self.lifetime_changes, change))


def _is_length(value: object) -> TypeIs[Duration]:
    """Return True for one length of all events, and False for a column of lengths."""
    return isinstance(value, int | str | timedelta | Decimal) and not isinstance(value, SqlExpression)


def _check_one_length(call: str, length: Duration, *, at_least: Duration = 0, repeated: bool) -> None:
    """Raise if a call with one length for all events has an argument that only a column of lengths can have.

    Args:
        call: The name of the call.
        length: The length.
        at_least: The argument `at_least` of the call, if it has one.
        repeated: The argument `repeated` of the call.

    Raises:
        QueryError: `at_least` or `repeated` is given.
    """
    check_flag("repeated", repeated)
    for name, is_set in (("at_least", at_least != 0), ("repeated", repeated)):
        if is_set:
            raise QueryError(
                "{call} gives all events one length, and {name} is for lengths from a column\n"
                "  leave {name} out: {call}; or give a column: {by_column}",
                name=name,
                call=Call(call, length),
                by_column=Call(call, Call("expression", WrittenExpression("{}", "length")), ...),
            )


def _above_zero(call: str, length: Duration) -> int:
    """Return a length in ticks, which has to be above zero.

    Args:
        call: The name of the call that the length is for.
        length: The length.

    Raises:
        DurationError: The length cannot be read.
        QueryError: The length is zero or negative.
    """
    length_in_ticks = ticks(length)
    if length_in_ticks <= 0:
        raise QueryError(
            f"{call}({spell_as_written(length_in_ticks)}) is not above zero\n  expected: a length above zero"
        )
    return length_in_ticks
