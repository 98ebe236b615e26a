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
class OrderByColumns:
    """Returns the value by which a payload is sorted among those of one time: by its columns in turn, null first.

    Attributes:
        places: The places of the columns in the payload.

    Example:
        >>> sorted([(2, "a"), (None, "c"), (1, None), (1, "b")], key=OrderByColumns((0, 1)))
        [(None, 'c'), (1, None), (1, 'b'), (2, 'a')]
    """

    places: tuple[int, ...]

    def __call__(self, payload: Sequence[Any]) -> tuple[tuple[bool, Any], ...]:
        """Return the values of the columns as a sort key, each after whether it is there: so null sorts first."""
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
        most_held: The number of events that a key may hold; None without a limit. A checkpoint goes on with another
            limit, as events mean the same under any.
        fails_when_full: True if the query fails when a key has no room for an event; False if it sheds the event.
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
        """Return the function that gives the sort key of a payload among rows of one time; None without an order."""
        if self.order is None:
            return None
        if self.then_by:
            return OrderByColumns((self.order, *self.then_by))
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
        """True if the state also holds events that the filter leaves out, since their revisions have to find them."""
        return bool(self.columns.conditions) and self.event_ends_move

    @property
    def may_read_clock(self) -> bool:
        """True if rows may be readings of a clock: the input has a clock, or a column that says what rows do."""
        return self.has_clock or self.columns.change is not None

    @property
    def says_when_complete(self) -> bool:
        """True if the watermark of the input can advance at all.

        The watermark may advance by punctuation, by the progress policy, or by a clock while the input is idle.
        """
        # Rows of punctuation: of the input itself, or made of the rows of other streams, which are its heartbeats.
        if self.columns.change is not None or self.heartbeats > 0:
            return True
        if not isinstance(self.progress, Punctuated):
            return True
        return self.progress.idle is not None and self.progress.idle.lag is not None

    def identity(self) -> QueryIdentity:
        """Return the properties of the input that the state in a checkpoint depends on, as plain data.

        Properties that most inputs do not have are left out where they are missing.
        """
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
        identity["late"] = ""  # a query may go on with another policy for late rows if neither corrects results
        if self.late.corrects:
            identity["late"] = self.late.spell(lambda length: str(int(length)))
        if self.order is not None:
            identity["order"] = self.order  # its place in the payload, whose columns are in "inputs"
        if self.then_by:
            identity["then_by"] = list(self.then_by)
        return identity


def _rule_identity(rule: SourceRules) -> list[object]:
    """Return the rules of one stream of a union as plain data: its name, its progress policy, its changes."""
    changes = [change.identity() for change in rule.lifetime_changes]
    return [rule.source, identity_of(rule.progress), changes]


def check_sources(column: object | None, sources: Sequence[str]) -> None:
    """Refuse sources that cannot be told apart.

    Args:
        column: The column that says which source a row is of; None if the query names none.
        sources: The names of the sources; empty if the query names none.

    Raises:
        QueryError: The sources are a text instead of a list of names, or some are no text. Or there is a column and no
            names, names and no column, the same name twice, or more than `MOST_SOURCES`.
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
