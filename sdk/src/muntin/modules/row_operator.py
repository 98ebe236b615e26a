"""Operators over row windows, with handlers that are called when rows enter or leave a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic

from typing_extensions import TypeVar

from muntin.modules.module import Module
from muntin.modules.needs import Needs
from muntin.rows.row_windows import RowWindows
from muntin.rows.view import MemberRow, RowsInWindow
from muntin.schemas import Field, describe

In = TypeVar("In")
State = TypeVar("State")
Row = TypeVar("Row")
Left = TypeVar("Left")


class RowOperator(Module, ABC, Generic[In, State, Row, Left]):
    """Handle the rows of row windows one by one, by a handler for each kind of step, which may return rows.

    Define the handlers that you need; the others do nothing. They return rows of the results, except `on_evict`, which
    is called for rows that leave a window: it returns rows of a second output, `Query.evicted_rows()`. The types in
    brackets are those of a payload, of the state, of a row of the results, and of a row of the second output; the last
    one is None if `on_evict` returns nothing.

    The engine keeps one state per key. Each handler gets the state as its first argument, and the window as its last.
    Handlers change the state in place, so it is a dict, a list or a dataclass of plain data. Each row comes once, in
    the query's order, when the watermark has passed it. So results do not depend on micro-batches and restarts.

    Results of `on_trigger` and `on_flush` have the extent of the window that is computed. Results of all other handlers
    are points at the tick of the step.

    Laws (checked by `muntin.testing.RowOperatorLaws`): 1. *Types.* Rows of both outputs are of the declared types.
    2. *Plain data.* A state that was stored and read back gives the same results. 3. *No memory.* Results depend on the
    state and the rows alone: not on other attributes, a clock or randomness. 4. *Rows are read-only.*

    Cost: a call per row, and one for each eviction, trigger and flush; a handler that reads `window.rows` costs the
    members of the window. Rows are kept while they are members.

    Example:
        >>> class Stay(RowOperator[str, dict[int, int], str, tuple[str, int]]):
        ...     name, version = "demo.stay", "1.0.0"
        ...     def create_state(self):
        ...         return {}
        ...     def on_insert(self, state, row, window):
        ...         state[row.number] = row.time
        ...         return [row.payload]
        ...     def on_evict(self, state, rows, window):
        ...         return [(row.payload, window.time - state.pop(row.number)) for row in rows]
        >>> from muntin import Event
        >>> from muntin.rows import last
        >>> from muntin.testing import Computation, WindowedQuery, evaluate_evicted
        >>> rows = [Event.point(1, "a"), Event.point(4, "b"), Event.point(9, "c")]
        >>> [left.value for left in evaluate_evicted(WindowedQuery(last(1), [Computation(Stay())]), rows)]
        [('a', 3), ('b', 5)]
    """

    _roles: ClassVar[tuple[str, ...]] = ("input", "state", "result", "evicted")
    is_operator: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs(windows=(RowWindows,))

    if TYPE_CHECKING:  # a type checker compares an optional method with this; at run time a class has it or not

        @property
        def upgrade_state(self) -> Callable[[Any, str], State] | None:
            """Return the state of this version for a state that an older version wrote into a checkpoint; optional."""

    @classmethod
    def evicted_field(cls) -> Field | None:
        """Return the type of a row of the second output, from the class's generics; None if there is no such output."""
        evicted = cls._types()["evicted"]
        return None if evicted in (None, NoneType) else describe(evicted, "evicted")

    @abstractmethod
    def create_state(self) -> State:
        """Return the state of a new key. Called at any time; never return a shared object."""

    def on_insert(self, state: State, row: MemberRow[In], window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Handle a row that became a member of the window, which holds it already."""

    def on_pass(self, state: State, row: MemberRow[In], window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Handle a row that is no member: one that `admit` leaves out, or a marker after its effect on the window."""

    def on_evict(self, state: State, rows: Sequence[MemberRow[In]], window: RowsInWindow[In]) -> Iterable[Left] | None:
        """Handle rows that left the window, the oldest first, and return rows of the second output.

        Rows leave when they are evicted or flushed, or when their partition is removed. The members of a sliding window
        at the end of the stream do not leave.
        """

    def on_trigger(self, state: State, window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Return the result rows of a sliding window, when it triggers."""

    def on_flush(self, state: State, window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Return the result rows of a tumbling window, when it is flushed; all members leave afterwards."""

    def on_full(self, state: State, window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Handle a sliding window that is full for the first time: it has all its rows, or the first is about to leave.

        It is called once for each partition, even if the window is empty in between; once more if the partition was
        removed and comes again. To know that, the engine does not forget a key after this call.
        """

    def on_empty(self, state: State, window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Handle a marker that came while the window had no member."""

    def on_remove(self, state: State, window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Handle a partition that is about to be removed; its rows, which the window still holds, leave after this."""


HANDLERS: Final = tuple(name for name in vars(RowOperator) if name.startswith("on_"))
"""The names of the handlers, which are called when something happens to rows."""
