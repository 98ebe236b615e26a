"""The columns of the input that a query reads, in its own words."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property

from muntin.errors import QueryError
from muntin.errors.messages import ParameterName


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column of the input as the query names it, with its type in Spark's words."""

    name: str
    type: str


@dataclass(frozen=True)
class Columns:
    """The columns of the input that make its rows events; None where the query names none.

    Attributes:
        start: The start of an event, or the time of a point or a sample.
        end: The end of an event.
        id: The id of an event.
        change: The kind of change of a row.
        new_end: The new end in a revision.
        signal: The name of a signal.
        source: The name of the source of a row.
        keys: The columns that the query groups by.
        payload: The columns that its modules read.
        conditions: The conditions of insertions; an insertion that does not meet all of them is left out.
        ranges: The columns that bound the values of keys in rows of punctuation, by the names under which they travel:
            `low0` and `high0` for the first key.
    """

    start: NamedColumn
    end: NamedColumn | None = None
    id: NamedColumn | None = None
    change: NamedColumn | None = None
    new_end: NamedColumn | None = None
    signal: NamedColumn | None = None
    source: NamedColumn | None = None
    keys: tuple[NamedColumn, ...] = ()
    payload: tuple[NamedColumn, ...] = ()
    conditions: tuple[NamedColumn, ...] = ()
    ranges: Mapping[str, NamedColumn] = field(default_factory=dict)

    @property
    def bounded_keys(self) -> list[NamedColumn]:
        """The keys for which a row of punctuation may name a range of values, in the place of one value."""
        bounded = []
        for place, key in enumerate(self.keys):
            if f"low{place}" in self.ranges or f"high{place}" in self.ranges:
                bounded.append(key)
        return bounded

    @cached_property
    def names(self) -> dict[str, str]:
        """The names that the query gives its columns, by the names under which they travel between tasks.

        The names are in the order in which people read a row: keys, times and other roles, then columns of modules.
        """
        names = {f"k{place}": key.name for place, key in enumerate(self.keys)}
        names |= {name: column.name for name, column in self.ranges.items()}
        for role in ("change", "id", "start", "end", "new_end", "signal", "source"):
            column: NamedColumn | None = getattr(self, role)
            if column is not None:
                names[role] = column.name
        names |= {f"i{place}": column.name for place, column in enumerate(self.payload)}
        return names


def check_columns(roles: Set[str], *, is_edge: bool) -> None:
    """Refuse combinations of columns that do not make events.

    Args:
        roles: The roles for which the query names a column: `at`, and the attributes of `Columns`.
        is_edge: True if events are samples that last until the next one of their key.

    Raises:
        QueryError: A column is missing, or there are columns that exclude each other.
    """
    # Times: either `start` and `end`, or `at`.
    if ("start" in roles) == ("at" in roles):
        got = "both" if "at" in roles else "neither"
        raise QueryError(f"events need either start (with end) or at, for points and samples; got {got}")
    if {"at", "end"} <= roles:
        raise QueryError("an event with at has no end of its own; use start and end for lifetimes")

    # Samples.
    if is_edge and "at" not in roles:
        raise QueryError(
            "{argument} turns samples at a time into events: give that time as at", argument="edge", value=True
        )
    if is_edge and "id" in roles:
        raise QueryError(
            "samples have no ids: each lasts until the next one of its key, so none is revised, and of several at one "
            "time the last one holds\n  leave id out; {order} says which sample of a time is the last",
            argument="id",
            order=ParameterName("order"),
        )

    # Lifetimes. Samples are checked first, as they have an error of their own if they have a start.
    if "start" in roles and "end" not in roles:
        raise QueryError("events with a start need an end; give at instead for point events")

    # Rows that do something else than insert an event.
    if "new_end" in roles and not {"id", "change"} <= roles:
        raise QueryError("a revision names its event: new_end needs id and change as well")
    if "signal" in roles and "change" not in roles:
        raise QueryError("a signal is a row whose change says so: signal needs change as well")
