"""Aggregates and operators that keep a state of a window and update it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from typing_extensions import TypeVar

from muntin.events import Event
from muntin.modules.module import Module
from muntin.windows.extent import Window

if TYPE_CHECKING:
    from muntin.modules.columnar_aggregate import ColumnarAggregate
    from muntin.schemas import Field

In = TypeVar("In")
State = TypeVar("State")
Out = TypeVar("Out")
Row = TypeVar("Row")


class Incremental(Module, ABC, Generic[In, State]):
    """The methods that make a state and change it, for aggregates and operators alike."""

    is_incremental: ClassVar[bool] = True

    # Properties, as a method may have either of two signatures, with a window or without one.
    if TYPE_CHECKING:  # a type checker compares methods with these; at run time a class has optional ones or not

        @property
        @abstractmethod
        def create_state(self) -> Callable[[], State] | Callable[[Window], State]:
            """Return the state of a window without members. Called at any time; never return a shared object."""

        @property
        @abstractmethod
        def add_events(
            self,
        ) -> Callable[[State, Sequence[In]], State] | Callable[[State, Sequence[Event[In]], Window], State]:
            """Return the state with more members; the state may be changed and returned."""

        @property
        def remove_events(
            self,
        ) -> Callable[[State, Sequence[In]], State] | Callable[[State, Sequence[Event[In]], Window], State] | None:
            """Return the state without some members; optional, for a state from which members can be removed."""

        @property
        def combine(self) -> Callable[[State, State], State] | None:
            """Return the state of the members of two states; optional, for states that can be merged."""

        @property
        def deduct(self) -> Callable[[State, State], State] | None:
            """Return the first state without the members of the second; optional, for a merge that can be undone."""

        @property
        def upgrade_state(self) -> Callable[[Any, str], State] | Callable[[Any, str, Window], State] | None:
            """Return the state of this version for a state that an older version wrote into a checkpoint; optional."""

    else:

        @abstractmethod
        def create_state(self):
            """Return the state of a window without members. Called at any time; never return a shared object."""

        @abstractmethod
        def add_events(self, state, payloads):
            """Return the state with more members.

            Args:
                state: The state, which the method may change and return.
                payloads: The new payloads, at least one; in any order, unless `reads_order`. Read-only.
            """

        @abstractmethod
        def compute_result(self, state):
            """Return the value of a window that has at least one member, or its rows. The state stays as it was."""


class IncrementalAggregate(Incremental[In, State], ABC, Generic[In, State, Out]):
    """Reduce a window to one value, updating it as payloads come and go.

    Only the engine and tests call these methods. The engine keeps one state per key and window, and may drop it,
    restore it from a checkpoint, or rebuild it from the window's events at any time. A state is plain data: numbers,
    text, bytes, dates, lists, tuples, sets, dicts and dataclasses of these.

    Define `remove_events(state, payloads) -> state` if removing can undo adding, `combine(state, other) -> state` if
    two states can be merged, and `deduct(state, other) -> state` if a merge can be undone. Each of them allows a faster
    evaluation; leave out a method whose law would not hold. `columnar_form(reads)` allows one, too: it returns a
    `ColumnarAggregate` that computes the same on arrays, with the module's parameters, for an input as the query binds
    it, without type variables; or None if there is none for that input. A module that has a method need not declare it
    elsewhere.

    If the value depends on lifetimes, set `is_time_sensitive = True`: the methods then get events, with lifetimes as
    the query clips them, instead of payloads, and all but `combine`, `deduct` and `columnar_form` get the window as
    their last argument: `create_state(window)`, `add_events(state, events, window)`, `compute_result(state, window)`,
    and so on. An event whose lifetime changes is removed as it was and added as it is. `combine` and `deduct` are then
    not used, as states of different windows do not mix, and a columnar form is used where all events span their window.

    Define `upgrade_state(state, version) -> state` in a new version whose state has another shape, so that queries can
    continue from checkpoints of older versions. It gets plain data, with dicts for dataclasses and named tuples, whose
    classes may have changed; the state that it returns is stored when the state is written next. It is called when the
    state is needed, which may be long after the restart. For a version that it does not know it raises `ValueError`. It
    is better to set `continues_since`, too, because the query is then refused before it starts.

    Laws (checked by `muntin.testing.IncrementalAggregateLaws`):

    1. *Order does not matter*, unless the module reads it, nor does how payloads are split into calls of `add_events`.
    2. *Removing undoes adding*, if `remove_events` is defined.
    3. *Combining equals adding*, is associative and commutative and has `create_state()` as its identity, if
       `combine` is defined; *deducting undoes combining*, if `deduct` is.
    4. *Results do not alias the state*, and `compute_result` leaves the state as it was.
    5. *Payloads are read-only*, and so is the second state of `combine` and `deduct`.
    6. *The state survives its codec.*
    7. *Accepted clips work*, and *unread times do not matter*, if it is time-sensitive.
    8. *The columnar form gives the same result*, if there is one; floats may differ by rounding.
    9. *Old states are upgraded*: an upgraded state gives the same result as a new state of the same members, also when
       more members are added to both.

    With `reads_order = True` payloads come in order: those of a call of `add_events` come after all in the state, those
    of `remove_events` are the oldest in the state, and the second state of `combine` is of later payloads. States are
    then used only over windows that follow rows, and `combine` nowhere, because the rows of a slice come in several
    micro-batches, in any order.

    Cost: one call of `add_events` per window and micro-batch, with all new members. If the module is time-sensitive and
    has no `remove_events`, a change inside a window that was already evaluated rebuilds its state.

    Attributes:
        state_bytes: The number of bytes that a stored state takes at most, roughly: nine for a float, one to nine for
            an int, its own length and a few for a text or for bytes. Set it if the type of the state may hold any
            number of values but its size is bounded, such as that of a sketch: `explain()` then says that it is. None,
            the default, if the type tells the size.

    Example:
        >>> class Total(IncrementalAggregate[int, int, int]):
        ...     name, version = "demo.total", "1.0.0"
        ...     def create_state(self):
        ...         return 0
        ...     def add_events(self, state, payloads):
        ...         return state + sum(payloads)
        ...     def remove_events(self, state, payloads):
        ...         return state - sum(payloads)
        ...     def compute_result(self, state):
        ...         return state
        >>> total = Total()
        >>> total.compute_result(total.add_events(total.create_state(), [1, 2, 3]))
        6
        >>> class Busy(IncrementalAggregate[str, int, float]):
        ...     name, version = "demo.busy", "1.0.0"
        ...     is_time_sensitive = True
        ...     def create_state(self, window):
        ...         return 0
        ...     def add_events(self, state, events, window):
        ...         return state + sum(event.duration for event in events)
        ...     def remove_events(self, state, events, window):
        ...         return state - sum(event.duration for event in events)
        ...     def compute_result(self, state, window):
        ...         return state / window.duration
        >>> busy, window = Busy(), Window(0, 10)
        >>> busy.compute_result(busy.add_events(busy.create_state(window), [Event(2, 7, "a")], window), window)
        0.5
    """

    _roles: ClassVar[tuple[str, ...]] = ("input", "state", "result")
    state_bytes: ClassVar[int | None] = None

    if TYPE_CHECKING:

        @property
        @abstractmethod
        def compute_result(self) -> Callable[[State], Out] | Callable[[State, Window], Out]:
            """Return the value of a window that has at least one member. The state stays as it was."""

        @property
        def columnar_form(self) -> Callable[[Field], ColumnarAggregate[Any, Any] | None] | None:
            """Return an aggregate that computes the same on arrays; None if there is none for the input."""


class IncrementalOperator(Incremental[In, State], ABC, Generic[In, State, Row]):
    """Turn the payloads of a window into any number of rows, updating a state as payloads come and go.

    As `IncrementalAggregate`, including the optional `remove_events`, `combine` and `deduct`, but `compute_result`
    returns rows; `Operator` says what a row may be, also for a time-sensitive module.

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
        ...     def combine(self, state, other):
        ...         return state | other
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
    is_operator: ClassVar[bool] = True

    if TYPE_CHECKING:

        @property
        @abstractmethod
        def compute_result(
            self,
        ) -> Callable[[State], Iterable[Row]] | Callable[[State, Window], Iterable[Event[Row] | Row]]:
            """Return the rows of a window that has at least one member. The state stays as it was."""
