"""Capabilities of an incremental module beyond its base class. Having the method is the declaration.

The planner picks the cheapest correct evaluation from these. Leave a method out where its law cannot hold; the
engine then rebuilds a state from its events instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from muntin.schemas import Field

if TYPE_CHECKING:
    from muntin.modules.columnar_aggregate import ColumnarAggregate

S = TypeVar("S")


@runtime_checkable
class SupportsRemove(Protocol):
    """Can take events out of a state again: `remove_events(state, events[, window]) -> state`.

    Law: removing undoes adding. After `add_events` and `remove_events` of the same events a state gives the same
    result as before.
    """

    remove_events: Any


@runtime_checkable
class SupportsCombine(Protocol[S]):
    """Can merge two states of disjoint sets of events.

    Laws: associative, commutative, `create_state()` is its identity, and combining equals adding all events to one
    state. `other` is left as it was; `state` may be changed and returned.
    """

    def combine(self, state: S, other: S) -> S:
        """Return the state of the events of both."""
        ...


@runtime_checkable
class SupportsDeduct(Protocol[S]):
    """Can undo `combine`.

    Law: `deduct(combine(a, b), b)` gives the same result as `a`. `other` is left as it was.
    """

    def deduct(self, state: S, other: S) -> S:
        """Return the state without the events of `other`."""
        ...


@runtime_checkable
class SupportsUpgrade(Protocol):
    """Can go on with the states of older versions of itself: `upgrade_state(state, version[, window]) -> state`.

    The engine calls it with a state that it finds in a checkpoint and that another version of the module wrote, when it
    needs that state; that may be long after the restart, and versions in between may never have seen it. What it
    returns is stored when the state is written next.

    The state is plain data: dataclasses and named tuples in it come as dicts of their fields, since the classes may
    have changed. It is the method's to change and return. It raises `ValueError` for a version it does not know; better
    is to say so with `continues_since`, because the query is then refused before it starts.

    Law: an upgraded state gives the result that a new state of the same members gives, now and with more members.
    """

    upgrade_state: Any


@runtime_checkable
class SupportsColumns(Protocol):
    """Has a form that computes on arrays, for some types of its input if not for all.

    The form of a time-sensitive aggregate sees no times, so it is for windows that all their events span: snapshots of
    events that are clipped to them.

    Law: for every such window the form gives the module's own result; floats may differ by the rounding of sums whose
    terms are the window's own payloads.
    """

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the form for an input of a type, with the module's parameters; None if there is none.

        Args:
            reads: The input as the query binds it, without type variables.
        """
        ...
