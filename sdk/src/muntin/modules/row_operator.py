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
    """Handle the rows of row windows one by one: each handler is called for one kind of step, and may return rows.

    Define the handlers that you need; the others do nothing. They return rows of the results, except `on_evict`, which
    is called for rows that leave a window: it returns rows of a second output, `Query.evicted_rows()`. The types in
    brackets are those of a payload, of the state, of a row of the results, and of a row of the second output; the last
    one is None if `on_evict` returns nothing.

    The engine keeps one state per key. Each handler gets it first, and the window in question last. Handlers change the
    state in place, so it is a dict, a list or a dataclass, of plain data. Each row comes once, in the order that the
    query names, when the watermark has passed it. So results do not depend on micro-batches and restarts.

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
            """Return today's state of one that an older version wrote, where checkpoints outlive versions."""

    @classmethod
    def evicted_field(cls) -> Field | None:
        """Return the type of a row of the second output, from the class's generics; None if there is no such output."""
        evicted = cls._types()["evicted"]
        return None if evicted in (None, NoneType) else describe(evicted, "evicted")

    @abstractmethod
    def create_state(self) -> State:
        """Return the state of a new key. Called at any time; never return a shared object."""

    def on_insert(self, state: State, row: MemberRow[In], window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Handle a row that became a member; the window has it."""

    def on_pass(self, state: State, row: MemberRow[In], window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Handle a row that is no member: one that `admit` leaves out, or a marker, after its effect on the window."""

    def on_evict(self, state: State, rows: Sequence[MemberRow[In]], window: RowsInWindow[In]) -> Iterable[Left] | None:
        """Handle rows that left, the oldest first: they were evicted, flushed, or removed with their partition.

        Members of a sliding window at the end of the stream do not leave. It returns rows of the second output.
        """

    def on_trigger(self, state: State, window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Compute a sliding window."""

    def on_flush(self, state: State, window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Compute a tumbling window; all members leave after it."""

    def on_full(self, state: State, window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Handle a sliding window that is full for the first time: it has its number of rows, or one is about to leave.

        It is called once for each partition, also where the window is empty for a time; again if the partition was
        removed. So a key of which it was called is not forgotten.
        """

    def on_empty(self, state: State, window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Handle a marker that came while the window had no member."""

    def on_remove(self, state: State, window: RowsInWindow[In]) -> Iterable[Row] | None:
        """Handle a partition that is about to be removed; its rows, which the window still holds, leave after this."""


HANDLERS: Final = tuple(name for name in vars(RowOperator) if name.startswith("on_"))
"""The handlers, called when something happens to rows."""
