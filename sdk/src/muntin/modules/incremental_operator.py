"""Operators that keep a state and update it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from typing_extensions import TypeVar

from muntin.events import Event
from muntin.modules.module import Module
from muntin.windows.extent import Window

In = TypeVar("In")
State = TypeVar("State")
Row = TypeVar("Row")


class IncrementalOperator(Module, ABC, Generic[In, State, Row]):
    """Turn the payloads of a window into any number of rows, updating a state as payloads come and go.

    As `IncrementalAggregate`, including the optional `remove_events`, `combine` and `deduct`, but
    `compute_result` returns rows; see `Operator` for what a row may be, also if it is time-sensitive.

    Laws (checked by `muntin.testing.IncrementalOperatorLaws`): those of `IncrementalAggregate`; rows are compared
    as a bag. If it is time-sensitive, *outputs obey the* declared `contract`.

    Cost: as `IncrementalAggregate`.

    Example:
        >>> class Seen(IncrementalOperator[str, set[str], str]):
        ...     name, version = "demo.seen", "1.0.0"
        ...     def create_state(self):
        ...         return set()
        ...     def add_events(self, state, payloads):
        ...         return state | set(payloads)
        ...     def compute_result(self, state):
        ...         return sorted(state)
        >>> seen = Seen()
        >>> seen.compute_result(seen.add_events(seen.create_state(), ["b", "a", "b"]))
        ['a', 'b']
        >>> class Latest(IncrementalOperator[str, list[int], str]):
        ...     name, version = "demo.latest", "1.0.0"
        ...     is_time_sensitive = True
        ...     def create_state(self, window):
        ...         return []
        ...     def add_events(self, state, events, window):
        ...         return [max([*state, *(event.start for event in events)])]
        ...     def compute_result(self, state, window):
        ...         return [Event.point(state[0], "here")]
        >>> latest, window = Latest(), Window(0, 10)
        >>> latest.compute_result(latest.add_events([], [Event(2, 7, "a"), Event(4, 5, "b")], window), window)
        [Event(start=4, end=5, payload='here')]
    """

    _roles: ClassVar[tuple[str, ...]] = ("input", "state", "result")
    is_incremental: ClassVar[bool] = True
    is_operator: ClassVar[bool] = True

    if TYPE_CHECKING:  # what a type checker compares a method with; at run time there is only what is defined

        @property
        @abstractmethod
        def create_state(self) -> Callable[[], State] | Callable[[Window], State]:
            """Return the state of a window without members. Called at any time; never return a shared object."""

        @property
        @abstractmethod
        def add_events(
            self,
        ) -> Callable[[State, Sequence[In]], State] | Callable[[State, Sequence[Event[In]], Window], State]:
            """Return the state with more members; it is yours to change."""

        @property
        @abstractmethod
        def compute_result(
            self,
        ) -> Callable[[State], Iterable[Row]] | Callable[[State, Window], Iterable[Event[Row] | Row]]:
            """Return the rows of a window that has at least one member. The state stays as it was."""

        @property
        def remove_events(
            self,
        ) -> Callable[[State, Sequence[In]], State] | Callable[[State, Sequence[Event[In]], Window], State] | None:
            """Take members out of a state, where removing can undo adding."""

        @property
        def combine(self) -> Callable[[State, State], State] | None:
            """Merge two states, where they can be merged."""

        @property
        def deduct(self) -> Callable[[State, State], State] | None:
            """Undo a merge, where it can be undone."""

        @property
        def upgrade_state(self) -> Callable[[Any, str], State] | Callable[[Any, str, Window], State] | None:
            """Return today's state of one that an older version wrote, where checkpoints outlive versions."""

    else:

        @abstractmethod
        def create_state(self):
            """Return the state of a window without members. Called at any time; never return a shared object."""

        @abstractmethod
        def add_events(self, state, payloads):
            """Return the state with more members.

            Args:
                state: Yours to change and return.
                payloads: The new ones, at least one; in any order, unless `reads_order`. Read-only.
            """

        @abstractmethod
        def compute_result(self, state):
            """Return the rows of a window that has at least one member. The state stays as it was."""
