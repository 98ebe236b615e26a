"""Operators that are computed from all members of a window at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic

from typing_extensions import TypeVar

from muntin.events import Event
from muntin.modules.module import Module
from muntin.windows.extent import Window

In = TypeVar("In")
Row = TypeVar("Row")


class Operator(Module, ABC, Generic[In, Row]):
    """Turn the payloads of a window into any number of rows.

    Each row lasts as long as its window, or is a point at its end; that is the query writer's choice. A row type
    with several fields is a dataclass, a NamedTuple or a TypedDict; its fields become columns.

    With `is_time_sensitive = True` the engine calls `compute_result(events, window)`, as with an `Aggregate`, and a row
    may have a lifetime of its own: one returned as an `Event` keeps that under the policies `unchanged` and `clip`, and
    a bare row gets the window's. No lifetime may start before the window.

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

    else:

        @abstractmethod
        def compute_result(self, payloads):
            """Return the rows of a window; `(events, window)` if it is time-sensitive.

            Args:
                payloads: One per member, at least one; in any order, unless `reads_order`. Read-only.
            """
