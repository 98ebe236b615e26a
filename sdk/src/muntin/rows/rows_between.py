"""Windows from a row that opens to a row that closes, in an order that is data."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from muntin.axis import Axis, Duration, ticks
from muntin.errors import WindowError
from muntin.rows.partitioned import PartitionedRows
from muntin.rows.policies import ElapsedPolicy, MarkerPolicy, RowPolicy, check_expression
from muntin.rows.row_batches import OpenBatches
from muntin.rows.subwindows import OpenBatch, Subwindows
from muntin.rows.view import Action, ActionKind, Row
from muntin.windows.extent import Window
from muntin.windows.specification import WindowContext


@dataclass(frozen=True, slots=True)
class RowsBetween(OpenBatches):
    """The rows from one that opens to one that closes, of each partition; made by `between`.

    Of each partition at most one window is open. Without one, a row that opens begins a window and is its first
    member, and any other row is ignored. While it is open each row is a member, up to the first that closes. A row for
    which a condition is null does neither.

    Attributes:
        opens: The condition of rows that open; None if each row does.
        closes: The condition of rows that close; None if rows that open end the window before.
        closing_row: True if the row that closes is a member. Otherwise the window ends before it, and the row begins
            the next one if it opens too.
        reopens: True if a row that opens ends the window that is open, before the row, and begins another.
        within: The time after its first row at which a window ends without a row that closes; None if it stays open.
        closed_only: True if windows that end without a row that closes give no result: those that are reopened, as old
            as `within`, or open at the end of the stream.
        partitions: How rows are partitioned.
    """

    name: ClassVar[str] = "between"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "windows between rows that open and close"

    opens: str | None = None
    closes: str | None = None
    closing_row: bool = True
    reopens: bool = False
    closed_only: bool = False

    def __post_init__(self) -> None:
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
        """The conditions, as markers."""
        return tuple(MarkerPolicy(condition) for condition in (self.opens, self.closes) if condition is not None)

    @property
    def context(self) -> WindowContext:
        """Rows before, which say if a window is open; where windows may give no result, also rows after."""
        return WindowContext.FORWARD if self._is_limited or self.closed_only else WindowContext.BACKWARD

    def step(self, state: Subwindows[OpenBatch], row: Row) -> Iterator[Action]:
        """Take a row, and yield what is done."""
        yield from self.advance(state, row.time)
        if not self._is_admitted(row):
            return
        partition, values = self._read(row)
        opens = self.opens is None or bool(values[0])
        closes = opens if self.closes is None else bool(values[-1])
        keeps_closing = self.closes is not None and self.closing_row
        is_open = partition in state.partitions
        if is_open and closes and not keeps_closing:
            yield from self._compute(state, partition, row.time)
            is_open = False
        elif is_open and opens and self.reopens and not closes:
            yield from self._break_off(state, partition, row.time)
            is_open = False
        if not is_open and not opens:
            return
        self._insert(state, partition, row.number, row.time)
        yield Action(ActionKind.INSERT, partition, (row.number,))
        if closes and keeps_closing:
            yield from self._compute(state, partition, row.time)
        yield from self._limit(state, row.time)

    def close(self, state: Subwindows[OpenBatch], tick: int) -> Iterator[Action]:
        """Yield the end of windows that are still open."""
        yield from self.advance(state, tick)
        for partition in [*state.partitions]:
            yield from self._break_off(state, partition, tick)

    @property
    def _period(self) -> None:
        return None

    def _break_off(self, state: Subwindows[OpenBatch], partition: Hashable, now: int) -> Iterator[Action]:
        """Yield the end of a window that no row closes."""
        if self.closed_only:
            state.remove(partition)
            yield Action(ActionKind.REMOVE, partition)
        else:
            yield from self._compute(state, partition, now)

    def _compute(self, state: Subwindows[OpenBatch], partition: Hashable, now: int) -> Iterator[Action]:
        found = state.partitions[partition]
        state.remove(partition)
        yield Action(ActionKind.FLUSH, partition, window=Window(found.first, max(now, found.last + 1)))

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `between`, and those after it."""
        if "." in self.name:
            return PartitionedRows.spell(self, axis)
        said = [] if self.opens is None else [repr(self.opens)]
        if self.closes is not None:
            said.append(repr(self.closes) if said else f"closes={self.closes!r}")
        said += [] if self.closing_row else ["closing_row=False"]
        said += ["reopens=True"] if self.reopens else []
        said += [self._spell_within(axis).removeprefix(", ")] if self.within is not None else []
        said += ["closed_only=True"] if self.closed_only else []
        return f"between({', '.join(said)}){self._spell_more(axis)}"


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

    Conditions are SQL expressions over the columns of the input. With `opens` alone a window goes from each row that
    opens to the next one, without it; with `closes` alone, from the row after one that closes to the next one, with it.

    Args:
        opens: True of rows that begin a window, if none is open; such a row is its first member.
        closes: True of rows that end the window that is open; without one they are ignored.
        closing_row: Let the row that closes be a member.
        reopens: Let a row that opens while a window is open end it and begin another. By default it is a member.
        within: The time after its first row at which a window ends if no row has closed it. Without it, a window that
            is never closed is kept until the end of the stream.
        closed_only: Compute only windows that a row has closed.

    Raises:
        WindowError: There is no condition, or options contradict one another.
        DurationError: A length of time cannot be read.

    Example:
        >>> print(between("kind = 'login'", "kind = 'logout'", within=3600).partition("device"))
        between("kind = 'login'", "kind = 'logout'", within=3600).partition('device')
        >>> print(between(closes="is_last"))
        between(closes='is_last')
    """
    limit = None if within is None else ElapsedPolicy(ticks(within))
    return RowsBetween(opens, closes, closing_row, reopens, closed_only, within=limit)
