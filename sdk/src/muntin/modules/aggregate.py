"""Aggregates and operators that are computed from all members of a window at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic

from typing_extensions import TypeVar

from muntin.errors.safe_text import safe_repr
from muntin.events import Event
from muntin.modules.module import Module
from muntin.windows.extent import Window

In = TypeVar("In")
Out = TypeVar("Out")
Row = TypeVar("Row")


class WholeWindowModule(Module, ABC):
    """The method of modules that are computed from all members of a window at once."""

    if not TYPE_CHECKING:

        @abstractmethod
        def compute_result(self, payloads):
            """Return the value of a window, or its rows; a time-sensitive module takes `(events, window)`.

            Args:
                payloads: A payload for each member, at least one; in any order, unless `reads_order`. Read-only.
            """


class Aggregate(WholeWindowModule, ABC, Generic[In, Out]):
    """Reduce the payloads of a window to one value.

    This is the plainest module: a function over a set. You never see times, disorder, revisions or state. The engine
    calls `compute_result` with the members of one window, in no particular order, whenever it needs that window's
    value; never for an empty window. If the value depends on the order of the members, set `reads_order = True`: they
    then come by time, and members of the same time by the query's `order`.

    If the value depends on the lifetimes of the members, set `is_time_sensitive = True`: the engine then calls
    `compute_result(events, window)`, with the events and the window's extent. The lifetimes are clipped as the query's
    policy says: under `clip="full"` every event lies inside the window. If the value is right only under some policies,
    list these in `accepted_clips`.

    Laws (checked by `muntin.testing.AggregateLaws`):

    1. *Order does not matter*, unless the module reads it. Any permutation of the payloads gives an equal result.
    2. *Same payloads, same result*, in any process and at any time.
    3. *Payloads are read-only.*
    4. *Accepted clips work*, and *unread times do not matter*, if it is time-sensitive.

    Cost: the engine keeps the events of open windows and calls you once per window and result. If your value can
    be updated instead, write an `IncrementalAggregate`. If it is time-sensitive, a window that is not clipped on the
    right stays open until its members have ended.

    Example:
        >>> class Spread(Aggregate[float, float]):
        ...     name, version = "demo.spread", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return max(payloads) - min(payloads)
        >>> Spread().compute_result([3.0, 1.0, 2.5])
        2.0
        >>> class Coverage(Aggregate[str, float]):
        ...     name, version = "demo.coverage", "1.0.0"
        ...     is_time_sensitive = True
        ...     def compute_result(self, events, window):
        ...         return sum(event.duration for event in events) / window.duration
        >>> Coverage().compute_result([Event(0, 5, "a"), Event(5, 10, "b")], Window(0, 20))
        0.5
    """

    _roles: ClassVar[tuple[str, ...]] = ("input", "result")

    if TYPE_CHECKING:

        @property
        @abstractmethod
        def compute_result(self) -> Callable[[Sequence[In]], Out] | Callable[[Sequence[Event[In]], Window], Out]:
            """Return the value of a window, from its payloads, or from its events if it is time-sensitive."""


class Operator(WholeWindowModule, ABC, Generic[In, Row]):
    """Turn the payloads of a window into any number of rows.

    Each row lasts as long as its window, or is a point at its end; that is the query writer's choice. A row type
    with several fields is a dataclass, a NamedTuple or a TypedDict; its fields become columns.

    With `is_time_sensitive = True` the engine calls `compute_result(events, window)`, as with an `Aggregate`, and a row
    may have a lifetime of its own: a row that is returned as an `Event` keeps its lifetime under the policies
    `unchanged` and `clip`, and a bare row gets that of the window. No lifetime may start before the window.

    Laws (checked by `muntin.testing.OperatorLaws`): those of `Aggregate`; the rows are compared as a bag, so
    their order means nothing. If it is time-sensitive, *outputs obey the* declared `contract`.

    Cost: as `Aggregate`.

    Example:
        >>> class Distinct(Operator[str, str]):
        ...     name, version = "demo.distinct", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return sorted(set(payloads))
        >>> Distinct().compute_result(["b", "a", "b"])
        ['a', 'b']
        >>> class Starts(Operator[str, str]):
        ...     name, version = "demo.starts", "1.0.0"
        ...     is_time_sensitive = True
        ...     def compute_result(self, events, window):
        ...         return [Event.point(e.start, e.payload) for e in events if e.start >= window.start]
        >>> Starts().compute_result([Event(2, 9, "a"), Event(-1, 3, "b")], Window(0, 10))
        [Event(start=2, end=3, payload='a')]
    """

    _roles: ClassVar[tuple[str, ...]] = ("input", "result")
    is_operator: ClassVar[bool] = True

    if TYPE_CHECKING:

        @property
        @abstractmethod
        def compute_result(
            self,
        ) -> (
            Callable[[Sequence[In]], Iterable[Row]]
            | Callable[[Sequence[Event[In]], Window], Iterable[Event[Row] | Row]]
        ):
            """Return the rows of a window, from its payloads, or from its events if it is time-sensitive."""


def rows_of(returned: Any) -> list[Any]:
    """Return the rows that `compute_result` of an operator returned.

    Raises:
        TypeError: The method returned no rows, such as a single value.
    """
    try:
        return list(returned)
    except TypeError:
        # If rows were returned, such as a generator, the error comes from the module's own code, and stays as it is.
        if isinstance(returned, Iterable):
            raise
        raise TypeError(
            f"compute_result of an operator returned {safe_repr(returned)}, and not rows\n"
            "  expected: yield of each row, or return of a list of rows; for one value per window write an Aggregate"
        ) from None
