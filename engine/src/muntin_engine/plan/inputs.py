"""The properties of a query's input as a whole: progress, sources, lateness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import itemgetter
from typing import Any, Final

from muntin import Lateness
from muntin.errors import QueryError
from muntin.errors.messages import Argument, Call
from muntin.progress import ProgressPolicy, Punctuated, identity_of
from muntin_engine.plan.columns import Columns
from muntin_engine.state.differences import QueryIdentity
from muntin_engine.time.lifetimes import (
    LengthColumn,
    LifetimeChange,
    LifetimeChanges,
    Lifetimes,
    incoming_lifetimes,
    length_columns,
    lifetimes_after,
)
from muntin_engine.time.source_rules import SourceRules

MOST_SOURCES: Final = 256
"""Sources that an input may have."""


@dataclass(frozen=True, slots=True)
class SeveralOrders:
    """Gives a payload's place among the rows of one time, by several of its columns in turn; null comes first.

    Attributes:
        places: The places of the columns in the payload.

    Example:
        >>> sorted([(2, "a"), (None, "c"), (1, None), (1, "b")], key=SeveralOrders((0, 1)))
        [(None, 'c'), (1, None), (1, 'b'), (2, 'a')]
    """

    places: tuple[int, ...]

    def __call__(self, payload: Sequence[Any]) -> tuple[tuple[bool, Any], ...]:
        """Return the values of the columns as a key to sort by."""
        return tuple((payload[place] is not None, payload[place]) for place in self.places)


@dataclass(frozen=True, kw_only=True)
class InputPolicies:
    """The policies of an input: its progress, the treatment of late rows, and the changes of its lifetimes.

    The query writer's lengths may be in words; those of a plan are ticks.

    Attributes:
        progress: The progress policy: the watermark that rows imply.
        sources: The sources that are waited for; none if the input is one source without a name.
        late: The treatment of late rows.
        is_edge: True if events come as samples that last until the next one of their key.
        name: The name among the inputs of the query; empty if it is the only one.
        most_held: The number of events from which on a key sheds new ones; None if none are shed. A checkpoint goes on
            with another limit, as events mean the same under any.
        fails_when_full: True if the query fails where it would shed events.
        lifetime_changes: The changes of the lifetimes of events, the first one first.
        rules: The rules of each source, where these were streams of their own that were united; they come before those
            of the input. None otherwise.
    """

    progress: ProgressPolicy = Punctuated()  # noqa: RUF009  # it is frozen
    sources: tuple[str, ...] = ()
    late: Lateness = Lateness()  # noqa: RUF009
    is_edge: bool = False
    name: str = ""
    most_held: int | None = None
    fails_when_full: bool = False
    lifetime_changes: tuple[LifetimeChange, ...] = ()
    rules: tuple[SourceRules, ...] = ()

    @property
    def length_columns(self) -> tuple[LengthColumn, ...]:
        """The columns that say by how much lifetimes change."""
        of_sources = (change for rule in self.rules for change in rule.lifetime_changes)
        return length_columns((*of_sources, *self.lifetime_changes))


POLICIES: Final = tuple(policy.name for policy in fields(InputPolicies))
"""The names of the policies of an input."""


@dataclass(frozen=True)
class Input(InputPolicies):
    """One input of a plan: its columns, the lifetimes of its events, and its policies.

    Attributes:
        columns: The columns that make events.
        heartbeats: The number of other streams that bring punctuation.
        has_clock: True if the input has a clock.
        order: The place in the payload of the order of rows at one time; None if the query names none, or needs none.
        then_by: The places of further columns, which decide in turn where those before them are the same.
        is_chained: True if it is the results of another query.
    """

    columns: Columns
    heartbeats: int = 0
    has_clock: bool = False
    order: int | None = None
    then_by: tuple[int, ...] = ()
    is_chained: bool = False

    def order_of_rows(self) -> Callable[[Any], Any] | None:
        """Return the function from a payload to its place among the rows of its time; None without an order."""
        if self.order is None:
            return None
        if self.then_by:
            return SeveralOrders((self.order, *self.then_by))
        return itemgetter(self.order)

    @cached_property
    def incoming_lifetimes(self) -> Lifetimes:
        """The kind of lifetimes as events come."""
        return incoming_lifetimes(is_edge=self.is_edge, has_end=self.columns.end is not None)

    @cached_property
    def lifetimes(self) -> Lifetimes:
        """The kind of lifetimes that the query sees, after all changes."""
        return lifetimes_after(self.incoming_lifetimes, self.lifetime_changes)

    @cached_property
    def changes(self) -> LifetimeChanges:
        """The changes of lifetimes, and what they do to the watermark."""
        return LifetimeChanges(self.lifetime_changes, event_ends_move=self.columns.new_end is not None)

    @property
    def changes_lifetimes(self) -> bool:
        """True if the lifetimes of any events change."""
        return bool(self.lifetime_changes) or any(rule.lifetime_changes for rule in self.rules)

    @property
    def has_samples(self) -> bool:
        """True if the query sees samples that last until the next one of their key."""
        return self.lifetimes == "edge"

    @property
    def is_point(self) -> bool:
        """True if events last one tick."""
        return self.lifetimes == "point"

    @property
    def event_ends_move(self) -> bool:
        """True if the end of an event may change after it came."""
        return self.columns.id is not None or self.has_samples

    @property
    def keeps_filtered(self) -> bool:
        """True if events that a filter leaves out are kept, as their revisions have to find them."""
        return bool(self.columns.conditions) and self.event_ends_move

    @property
    def may_read_clock(self) -> bool:
        """True if rows may be readings of a clock: the input has a clock, or a column that says what rows do."""
        return self.has_clock or self.columns.change is not None

    @property
    def says_when_complete(self) -> bool:
        """True if the watermark ever advances: by punctuation, by other rows, or by a clock while the input is idle."""
        if self.columns.change is not None or self.heartbeats > 0:
            return True
        if not isinstance(self.progress, Punctuated):
            return True
        return self.progress.idle is not None and self.progress.idle.lag is not None

    def identity(self) -> QueryIdentity:
        """Return the part of the input that the state in a checkpoint depends on, as plain data."""
        columns = self.columns
        identity: dict[str, Any] = {
            "id": None if columns.id is None else columns.id.type,
            "inputs": [[column.name, column.type] for column in columns.payload],
            "where": [condition.name for condition in columns.conditions],
            "lifetimes": self.lifetimes,
        }
        if self.lifetime_changes:
            identity["changed"] = [change.identity() for change in self.lifetime_changes]
        identity["progress"] = identity_of(self.progress)
        identity["sources"] = list(self.sources)
        if self.rules:
            identity["rules"] = [_rule_identity(rule) for rule in self.rules]
        identity["late"] = ""
        if self.late.corrects:
            identity["late"] = self.late.spell(lambda length: str(int(length)))
        if self.order is not None:
            identity["order"] = self.order
        if self.then_by:
            identity["then_by"] = list(self.then_by)
        return identity


def _rule_identity(rule: SourceRules) -> list[object]:
    changes = [change.identity() for change in rule.lifetime_changes]
    return [rule.source, identity_of(rule.progress), changes]


def check_sources(column: object | None, sources: Sequence[str]) -> None:
    """Refuse sources that cannot be told apart.

    Raises:
        QueryError: The sources are one text and no list of names. There is a column of sources and no declared source,
            or the other way round; or a name comes twice.
    """
    if isinstance(sources, str):
        raise QueryError(
            "{argument} is one text\n  expected: a list of names, {listed}",
            argument="sources",
            value=sources,
            listed=Argument("sources", [sources]),
        )
    if (column is None) != (not sources):
        got = "sources and no column" if column is None else "a column and no sources"
        raise QueryError(
            "an input of several sources needs their names and a column that says which one a row is of; got {got}\n"
            "  for example {example}",
            got=got,
            example=Call("events", ..., Argument("source", "link"), Argument("sources", ["north", "south"])),
        )
    if not all(isinstance(source, str) for source in sources):
        texts = [str(source) for source in sources]
        raise QueryError(
            "the names of sources are text, got {value!r}\n"
            "  write {texts}, and cast the column if it is not text: source='CAST(... AS string)'",
            argument="sources",
            value=list(sources),
            texts=Argument("sources", texts),
        )
    if len(set(sources)) < len(sources) or len(sources) > MOST_SOURCES:
        raise QueryError(f"an input has up to {MOST_SOURCES} sources with different names, got {', '.join(sources)}")
