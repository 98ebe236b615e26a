"""Tumbling row windows: batches of rows, and the rows from one that opens to one that closes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, ClassVar

from muntin.axis import Axis, Duration
from muntin.errors import WindowError
from muntin.rows.automaton import RowAutomaton
from muntin.rows.policies import (
    ConditionPolicy,
    CountPolicy,
    ElapsedPolicy,
    MarkerPolicy,
    RowPolicy,
    check_expression,
    elapsed,
    policy_of,
)
from muntin.rows.subwindows import Subwindows
from muntin.rows.view import Action, ActionKind
from muntin.windows.specification import WindowContext

# Windows ask for their policies at each row, and a policy checks its condition when it is made.
_condition = cache(ConditionPolicy)


@dataclass(frozen=True, slots=True, kw_only=True)
class _TumblingRows(RowAutomaton):
    """Row windows whose members leave all at once."""

    leaves_at_once: ClassVar[bool] = True

    within: ElapsedPolicy | None = None

    @property
    def _eviction_policy(self) -> None:
        """None: rows never leave one by one."""
        return None

    @property
    def _time_limit(self) -> int | None:
        """The time after its first row at which a window ends if nothing has ended it; None if it stays open."""
        return None if self.within is None else self.within.length


@dataclass(frozen=True, slots=True)
class RowBatches(_TumblingRows):
    """Batches of rows of each partition; made by `batch` (IBM Streams: tumbling windows).

    By count, a row is inserted, and then the full window is flushed with it. By delta, the window is flushed first,
    without the row. By time, windows are flushed at multiples of the period, counted from tick 0, before the rows at
    that tick. By marker, the windows of all partitions are flushed when a marker comes. A flushed partition is gone.

    The extent of a window that is flushed by time is the whole period; any other window starts with its oldest row, and
    if `within` ends it, it has that length. Time is that of the axis, so a replay gives the same batches. If all
    modules are incremental and not time-sensitive, their states are kept in place of the rows.

    The fields are the arguments of `batch`, with `evicts` for `size`; see also `PartitionedRows`.
    """

    name: ClassVar[str] = "batch"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "batches of rows"

    evicts: RowPolicy

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return a call of `batch`."""
        return "batch(10)"

    def __post_init__(self) -> None:
        """Refuse policies that contradict each other or end no batches, and empty windows where there can be none."""
        if self.within is not None and isinstance(self.evicts, ElapsedPolicy):
            raise WindowError(
                f"{self.spell()} is flushed by time twice: at multiples of {self.evicts.spell(Axis.TICKS)}, and within "
                f"{self.within.spell_length(Axis.TICKS)} of its first row\n  leave one of them out"
            )
        if isinstance(self.evicts, ConditionPolicy):
            raise WindowError(
                f"a batch does not end with {self.evicts.spell(Axis.TICKS)}\n"
                f"  write between(closes={self.evicts.condition!r}) for batches that end with such a row"
            )
        if self.shows_empty and self.partitions is not None:
            raise WindowError("a flushed partition is gone, so it has no empty windows: leave out .with_empty()")
        if self.shows_empty and not isinstance(self.evicts, ElapsedPolicy | MarkerPolicy):
            raise WindowError(
                f"batch({self.evicts.spell(Axis.TICKS)}) is flushed for a row, so it is never empty\n"
                "  leave out .with_empty(), or flush by time or by a marker"
            )

    @property
    def context(self) -> WindowContext:
        """Free if time alone cuts batches; backward if earlier rows do; forward if partitions may be removed."""
        if self._is_limited:
            return WindowContext.FORWARD  # later rows of other partitions may remove a row's partition
        if isinstance(self.evicts, ElapsedPolicy):
            return WindowContext.FREE
        return WindowContext.BACKWARD

    @property
    def least_events(self) -> int:
        """The number of rows of a full batch if nothing else flushes a batch; 1 otherwise."""
        if isinstance(self.evicts, CountPolicy) and self.within is None:
            return self.evicts.size
        return 1

    @property
    def _trigger_policy(self) -> RowPolicy:
        """The policy that flushes a batch."""
        return self.evicts

    def _call(self, axis: Axis) -> str:
        """Return the call of `batch`."""
        within = "" if self.within is None else f", within={self.within.spell_length(axis)}"
        return f"batch({self.evicts.spell(axis)}{within})"


def batch(size: RowPolicy | int | str | timedelta, *, within: Duration | None = None) -> RowBatches:
    """Return tumbling windows: a number of rows at a time, or the rows up to the next flush.

    Three events, and the windows that `batch(2)` makes of them, with the number of members:

    ```text
             1         11
    event a  [)
    event b     [)
    event c             [)
    window   [---)           2
    window              [)   1
    ```

    Args:
        size: The rows of a window: a number of rows; the rows of a length of time, such as `"5 minutes"`; with `delta`,
            the rows whose attribute is not too far from that of the first; or, with `marker`, the rows up to one that
            ends the window.
        within: The time after its first row at which a window is flushed though it is not full. It is time of the axis,
            and the rows at that tick are not in the window.

    Raises:
        WindowError: The size is not a policy, or both the size and `within` are lengths of time.
        DurationError: A length of time cannot be read.

    Example:
        >>> from muntin.rows import marker
        >>> print(batch(100), batch(marker("is_last")), batch(100, within="5 seconds").describe(Axis.TIME))
        batch(100) batch(marker('is_last')) batch(100, within='5 seconds')
    """
    time_limit = None if within is None else elapsed(within)
    return RowBatches(policy_of(size), within=time_limit)


@dataclass(frozen=True, slots=True)
class RowsBetween(_TumblingRows):
    """The rows from one that opens to one that closes, of each partition; made by `between`.

    Each partition has at most one open window. It starts at the time of its first row, and ends right after the row
    that closes it, or where it is broken off without such a row. A row for which a condition is null neither opens nor
    closes.

    | the row | no window is open | a window is open |
    |---|---|---|
    | opens | begins a window | is a member; with `reopens` ends the window, and begins another |
    | closes | is in no window | is the last member; with `closing_row=False` ends it and is no member |
    | does both | is a window of its own | is the last member |
    | does both, with `closing_row=False` | begins a window | ends the window, and begins another |
    | does neither | is in no window | is a member |

    With `closed_only` only windows that a row has closed give a result. Otherwise a window also gives one if it is
    broken off: by a row that reopens it, by its age, or by the end of the stream.

    The fields are the arguments of `between`; for `partitions` and other modifiers see `PartitionedRows`.
    """

    name: ClassVar[str] = "between"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "windows between rows that open and close"

    opens: str | None = None
    closes: str | None = None
    closing_row: bool = True
    reopens: bool = False
    closed_only: bool = False

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return a call of `between`."""
        return "between(\"kind = 'login'\", \"kind = 'logout'\")"

    def __post_init__(self) -> None:
        """Refuse windows without a condition, and options that mean nothing with the conditions that there are."""
        if self.opens is None and self.closes is None:
            raise WindowError(
                "between() has no condition\n  say which rows open, which close, or both: between(\"kind = 'login'\")"
            )
        for condition in (self.opens, self.closes):
            if condition is not None:
                check_expression("between", condition)
        if self.opens is None and not self.closing_row:
            raise WindowError(
                f"between(closes={self.closes!r}, closing_row=False) has rows that belong to no window and only "
                f"separate them\n  write batch(marker({self.closes!r}))"
            )
        if self.reopens and (self.opens is None or self.closes is None):
            raise WindowError(
                f"{self.spell()} has {'rows that close' if self.opens is None else 'rows that open'} alone\n"
                "  leave out reopens=True: it is for rows that open while a window waits for one that closes"
            )
        if self.shows_empty:
            raise WindowError(
                f"{self.spell()} holds the row that opens it, so it is never empty: leave out .with_empty()"
            )

    @property
    def policies(self) -> tuple[RowPolicy, ...]:
        """The conditions of rows that open and close."""
        return tuple(_condition(condition) for condition in (self.opens, self.closes) if condition is not None)

    @property
    def context(self) -> WindowContext:
        """Backward, as earlier rows open windows; forward if later rows decide that a window gives no result."""
        return WindowContext.FORWARD if self._is_limited or self.closed_only else WindowContext.BACKWARD

    @property
    def _trigger_policy(self) -> RowPolicy | None:
        """The condition of rows that close a window as its last members; other rows end it in `_compute_before`."""
        if self.closes is None or not self.closing_row:
            return None
        return _condition(self.closes)

    def _may_begin(self, values: Sequence[Any]) -> bool:
        """Return True if a row opens a window: its condition is the first value, and without one any row does."""
        return self.opens is None or bool(values[0])

    def _compute_before(
        self, state: Subwindows, partition: Hashable, values: Sequence[Any], time: int
    ) -> Iterator[Action] | None:
        """Return the actions of an open window that a row ends without being its member; None if it ends none.

        Args:
            state: The state of the key.
            partition: The partition of the row, which has a window.
            values: The values of the conditions for the row. The first is that of `opens`, the last that of `closes`. A
                single condition has the first and the last value.
            time: The time of the row.
        """
        if not state.partitions[partition].size:
            return None  # the row is the first of its window
        opens = self._may_begin(values)
        if self.closes is None:
            # Without rows that close, the next row that opens ends the window.
            return self._compute(state, partition, time) if opens else None
        closes = bool(values[-1])
        if closes:
            # A closing row that is a member ends the window only after it was inserted; see `_trigger_policy`.
            return None if self.closing_row else self._compute(state, partition, time)
        if opens and self.reopens:
            return self._break_off(state, partition, time)  # with no result if only closed windows have one
        return None

    def _break_off(self, state: Subwindows, partition: Hashable, time: int) -> Iterator[Action]:
        """Yield the end of a window that no row has closed: with `closed_only` it is removed without a result."""
        if not self.closed_only:
            yield from self._compute(state, partition, time)
            return
        state.remove(partition)
        yield Action(ActionKind.REMOVE, partition)

    def _call(self, axis: Axis) -> str:
        """Return the call of `between`, with the options that differ from their default."""
        arguments: list[str] = []
        if self.opens is not None:
            arguments.append(repr(self.opens))
        if self.closes is not None:
            arguments.append(repr(self.closes) if arguments else f"closes={self.closes!r}")
        if not self.closing_row:
            arguments.append("closing_row=False")
        if self.reopens:
            arguments.append("reopens=True")
        if self.within is not None:
            arguments.append(f"within={self.within.spell_length(axis)}")
        if self.closed_only:
            arguments.append("closed_only=True")
        return f"between({', '.join(arguments)})"


def between(
    opens: str | None = None,
    closes: str | None = None,
    *,
    closing_row: bool = True,
    reopens: bool = False,
    within: Duration | None = None,
    closed_only: bool = False,
) -> RowsBetween:
    """Return windows from a row that opens to a row that closes: from login to logout.

    Conditions are SQL expressions over the columns of the input. With only `opens`, a window goes from each row that
    opens to the next one, which it does not hold. With only `closes`, it goes from the row after one that closes to the
    next one that closes, which it holds.

    Args:
        opens: The condition of rows that begin a window, if none is open; such a row is its first member.
        closes: The condition of rows that end the window that is open; if none is open, they are ignored.
        closing_row: True, the default, if the row that closes is a member.
        reopens: True if a row that opens while a window is open ends that window and begins another. By default the row
            is a member.
        within: The time after its first row at which a window ends if no row has closed it. With None, a window that is
            never closed is kept until the end of the stream.
        closed_only: True to compute only windows that a row has closed.

    Raises:
        WindowError: There is no condition, or options contradict one another.
        DurationError: A length of time cannot be read.

    Example:
        >>> print(between("kind = 'login'", "kind = 'logout'", within=3600).partition("device"))
        between("kind = 'login'", "kind = 'logout'", within=3600).partition('device')
        >>> print(between(closes="is_last"))
        between(closes='is_last')
    """
    time_limit = None if within is None else elapsed(within)
    return RowsBetween(
        opens=opens,
        closes=closes,
        closing_row=closing_row,
        reopens=reopens,
        closed_only=closed_only,
        within=time_limit,
    )
