"""Operators that are computed from all members of a window at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic

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

    Laws (checked by `muntin.testing.OperatorLaws`): those of `Aggregate`; the rows are compared as a bag, so
    their order means nothing.

    Cost: as `Aggregate`.

    Example:
        >>> class Distinct(Operator[str, str]):
        ...     name, version = "demo.distinct", "1.0.0"
        ...     def compute_result(self, payloads):
        ...         return sorted(set(payloads))
        >>> Distinct().compute_result(["b", "a", "b"])
        ['a', 'b']
    """

    _roles: ClassVar[tuple[str, ...]] = ("input", "result")
    is_operator: ClassVar[bool] = True

    @abstractmethod
    def compute_result(self, payloads: Sequence[In]) -> Iterable[Row]:
        """Return the rows of a window.

        Args:
            payloads: One per member, at least one; in any order, unless `reads_order`. Read-only.
        """


class TimeSensitiveOperator(Module, ABC, Generic[In, Row]):
    """Turn the events of a window into any number of rows, with lifetimes of their own if it likes.

    A row returned as an `Event` keeps that lifetime under the policies `unchanged` and `clip`; a bare row gets the
    window's. No lifetime may start before the window.

    Laws (checked by `muntin.testing.TimeSensitiveOperatorLaws`): those of `Operator`, over events; and every
    output obeys the declared `contract`.

    Cost: as `TimeSensitiveAggregate`.

    Example:
        >>> class Starts(TimeSensitiveOperator[str, str]):
        ...     name, version = "demo.starts", "1.0.0"
        ...     def compute_result(self, events, window):
        ...         return [Event.point(e.start, e.payload) for e in events if e.start >= window.start]
        >>> Starts().compute_result([Event(2, 9, "a"), Event(-1, 3, "b")], Window(0, 10))
        [Event(start=2, end=3, payload='a')]
    """

    _roles: ClassVar[tuple[str, ...]] = ("input", "result")
    is_operator: ClassVar[bool] = True
    is_time_sensitive: ClassVar[bool] = True
    reads_times: ClassVar[bool] = True

    @abstractmethod
    def compute_result(self, events: Sequence[Event[In]], window: Window) -> Iterable[Event[Row] | Row]:
        """Return the rows of a window, bare or with lifetimes.

        Args:
            events: The members with clipped lifetimes, at least one; in any order, unless `reads_order`. Read-only.
            window: The window's extent.
        """
