"""RowWindows: the contract of windows that follow rows in their order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from muntin.axis import EARLIEST, INFINITY, Axis
from muntin.rows.view import Action, Row
from muntin.windows.specification import WindowSpecification


class RankedWindows(NamedTuple):
    """Windows that are runs of a key's rows by rank, which is the number of a row in their order, from 1 on.

    The window that is computed at a row holds this row and the ones right before it. It starts at its oldest row, and
    ends right after its newest one.

    Attributes:
        size: The number of rows in a window; the first windows of a key have fewer.
        every: The distance in ranks: a window is computed at each row whose rank is a multiple of it.
        only_full: True if windows of fewer rows than `size` are not computed.
    """

    size: int
    every: int = 1
    only_full: bool = False


class RowWindows(WindowSpecification):
    """Windows that follow the rows of one key, one by one, in their order. Subclass it as a frozen dataclass.

    Rows are ordered by time, and rows of the same time by the column that a query names as `order`. The engine gives
    rows in that order and only once, when no earlier row can come any more; so results depend neither on the order of
    arrival nor on micro-batches. Time passes on the axis and not by a clock.

    The engine calls `create_state` for a new key; `step` with each row; `advance` when the axis is complete up to a
    tick that `next_tick` returned; `close` at the end of the stream. Each call gets the state as the calls before left
    it, and changes it in place. Between micro-batches the engine keeps the data that `to_data` returns.

    Laws (checked by `muntin.testing.RowWindowLaws`):

    1. *Members.* A row is inserted at most once, when it comes; only members leave, and only once; a flush and the
       removal of a partition take all of them. The extent of a window that is computed holds the times of its members.
    2. *Time.* After `advance` to a tick, `next_tick` lies after it. Time may be advanced in one call, in several, or by
       the next row: the actions are the same.
    3. *Plain data.* A state goes on after `to_data` and `from_data` as it would have without them. The windows are
       plain data, too: `to_dict` and `from_dict` are inverse.
    4. *No memory.* Nothing is remembered outside the state; a state that `is_empty` computes the same windows as a new
       one.
    5. *Future.* No window that is computed later starts before `earliest_start`.
    6. *Ranks.* If `by_rank` returns windows, exactly these are computed.

    Attributes:
        leaves_at_once: True if members leave only by flushes and with their partitions. The states of modules, if they
            have states, then take the place of rows.
        reads: SQL expressions over the columns of the input; `Row.values` has their values.

    Example:
        Each row with the one before it:

        >>> from dataclasses import dataclass
        >>> from muntin import Window
        >>> from muntin.rows import Action, ActionKind
        >>> @dataclass(frozen=True, slots=True)
        ... class Pairs(RowWindows):
        ...     name, version = "retail.pairs", "1.0"
        ...     def create_state(self):
        ...         return []
        ...     def step(self, state, row):
        ...         state.append((row.number, row.time))
        ...         yield Action(ActionKind.INSERT, rows=(row.number,))
        ...         if len(state) == 2:
        ...             yield Action(ActionKind.TRIGGER, window=Window(state[0][1], row.time + 1))
        ...             yield Action(ActionKind.EVICT, rows=(state.pop(0)[0],))
        >>> pairs, state = Pairs(), []
        >>> for row in (Row(1, 10), Row(2, 12)):
        ...     print(*(f"{action.kind} {action.window or list(action.rows)}" for action in pairs.step(state, row)))
        insert [1]
        insert [2] trigger Window(start=10, end=13) evict [1]
    """

    __slots__ = ()

    title: ClassVar[str] = "row windows"
    leaves_at_once: ClassVar[bool] = False

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return calls that make row windows."""
        return "last(10), or batch(10)"

    @property
    def reads(self) -> tuple[str, ...]:
        """The expressions whose values the windows need of each row; none by default."""
        return ()

    @property
    def partition_by(self) -> str | None:
        """The expression among `reads` whose value is the partition of a row; None if rows are not partitioned."""
        return None

    @property
    def is_marked(self) -> bool:
        """True if results have the column `ends_window`, for the last row of a window. The default is False."""
        return False

    @property
    def conditions(self) -> tuple[str, ...]:
        """The expressions among `reads` that are conditions; a query refuses them if they are of another type."""
        return ()

    def by_rank(self) -> RankedWindows | None:
        """Return the windows as runs of rows by rank; None, the default, if they are not known to be such runs.

        An engine may then compute many windows at once and never call `step`, so the windows must be the same.
        """
        return None

    @abstractmethod
    def create_state(self) -> Any:
        """Return the state of a key without rows."""

    @abstractmethod
    def step(self, state: Any, row: Row) -> Iterator[Action]:
        """Yield the actions of the next row, in order; first those that `advance` to the row's time would yield."""

    def advance(self, state: Any, tick: int) -> Iterator[Action]:
        """Yield the actions of the time that passes up to a tick, before which no row comes any more.

        By default there are none.
        """
        return iter(())

    def next_tick(self, state: Any) -> int:
        """Return the next tick at which `advance` has actions; `INFINITY`, the default, if there is none."""
        return INFINITY

    def earliest_start(self, state: Any, tick: int) -> int:
        """Return a lower bound of the starts of windows that are yet to be computed; `EARLIEST`, the default, for none.

        Results that have the lifetimes of their windows are complete only up to this bound.

        Args:
            state: The state of the key.
            tick: The tick up to which the axis is complete.
        """
        return EARLIEST

    def close(self, state: Any, tick: int) -> Iterator[Action]:
        """Yield the actions at the end of the stream. By default there are none.

        Args:
            state: The state of the key.
            tick: The first tick after all rows and watermarks of all keys; for a key that ends before the stream, after
                its own rows and its watermark.
        """
        return iter(())

    def is_empty(self, state: Any) -> bool:
        """Return True if a state need not be kept, as a new one would compute the same windows. The default is False.

        After a call of a module's `on_full` a state is kept all the same, because that call must come only once.
        """
        return False

    def to_data(self, state: Any) -> Any:
        """Return a state as plain data; by default the state itself."""
        return state

    def from_data(self, data: Any) -> Any:
        """Return the state from the data that `to_data` returned; by default the data itself."""
        return data
