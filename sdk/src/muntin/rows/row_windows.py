"""RowWindows: the contract of windows that follow rows in their order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from muntin.axis import EARLIEST, INFINITY, Axis
from muntin.rows.view import Action, Row
from muntin.windows.specification import WindowSpecification


class RankedWindows(NamedTuple):
    """Windows that are runs of a key's rows by rank: a row's number in their order, from 1.

    The window that is computed at a row holds this row and those right before it. It starts at its oldest row, and ends
    right after its newest one.

    Attributes:
        size: The rows of a window; the first windows of a key have fewer.
        every: A window is computed at each row whose rank is a multiple of this.
        only_full: True if windows of fewer rows are not computed.
    """

    size: int
    every: int = 1
    only_full: bool = False


class RowWindows(WindowSpecification):
    """Windows that follow the rows of one key, one by one, in their order. Subclass it as a frozen dataclass.

    The order is data: by time, and at one time by the column that a query names as `order`. The engine gives rows in
    that order and once only, when no earlier one can come any more; so results depend neither on the order of arrival
    nor on micro-batches. Time passes on the axis and not by a clock.

    The engine calls `create_state` for a new key; `step` with each row; `advance` when the axis is complete up to a
    tick that `next_tick` named; `close` at the end of the stream. Each gets the state that the calls before left,
    and changes it in place. Between micro-batches the engine keeps what `to_data` returns.

    Laws (checked by `muntin.testing.RowWindowLaws`):

    1. *Members.* A row is inserted at most once, when it comes; only members leave, once; a flush and the removal of a
       partition take all of them. A window that is computed holds the times of its members.
    2. *Time.* After `advance` to a tick, `next_tick` lies after it. It makes no difference whether time is advanced at
       once, in several calls, or by the next row.
    3. *Plain data.* A state goes on after `to_data` and `from_data` as it would have without; the windows are
       themselves plain data, of which `to_dict` and `from_dict` are inverse.
    4. *No memory.* Nothing is remembered outside the state; one that `is_empty` computes the windows of a new one.
    5. *Future.* No window that is computed later starts before `earliest_start`.
    6. *Ranks.* Where `by_rank` returns windows, those are computed, and no others.

    Attributes:
        leaves_at_once: True if members leave by flushes, and with their partitions, alone. States of modules then take
            the place of rows, where modules have states.
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
        """Return a call of row windows."""
        return "last(10), or batch(10)"

    @property
    def reads(self) -> tuple[str, ...]:
        """The expressions whose values the windows need of each row; none by default."""
        return ()

    @property
    def partition_by(self) -> str | None:
        """The expression among `reads` whose value is the partition of a row; None where rows are not partitioned."""
        return None

    @property
    def is_marked(self) -> bool:
        """True if results say where the output of a window ends, in the column `ends_window`. False, by default."""
        return False

    @property
    def conditions(self) -> tuple[str, ...]:
        """The expressions among `reads` that are conditions; a query refuses them if they are of another type."""
        return ()

    def by_rank(self) -> RankedWindows | None:
        """Return the windows as runs of rows by rank; None, the default, if they are not known to be such runs.

        An engine may then compute many of them at once, and never calls `step`. It must make no difference.
        """
        return None

    @abstractmethod
    def create_state(self) -> Any:
        """Return the state of a key without rows."""

    @abstractmethod
    def step(self, state: Any, row: Row) -> Iterator[Action]:
        """Yield the actions of the next row, in order; those of the time up to the row come first."""

    def advance(self, state: Any, tick: int) -> Iterator[Action]:
        """Yield the actions that the passing of time brings: no row before the tick is to come. None, by default."""
        return iter(())

    def next_tick(self, state: Any) -> int:
        """Return the next tick at which `advance` has actions; `INFINITY`, the default, if there is none."""
        return INFINITY

    def earliest_start(self, state: Any, tick: int) -> int:
        """Return a lower bound of the starts of windows that are yet to be computed; `EARLIEST`, the default, for none.

        Results that have the lifetimes of their windows are complete only up to there. The axis is complete up to the
        tick.
        """
        return EARLIEST

    def close(self, state: Any, tick: int) -> Iterator[Action]:
        """Yield the actions at the end of the stream. None, by default.

        The tick is the first one after all rows and watermarks of all keys; for a key that ends before the stream,
        after its own rows and its watermark.
        """
        return iter(())

    def is_empty(self, state: Any) -> bool:
        """Return True if a state need not be kept: the same windows are computed with a new one. False, by default.

        A state is kept all the same once a module's `on_full` was called, because that happens once.
        """
        return False

    def to_data(self, state: Any) -> Any:
        """Return a state as plain data; itself, by default."""
        return state

    def from_data(self, data: Any) -> Any:
        """Undo `to_data`."""
        return data
