"""The request of a query, as it was written: plain data, which the planner reads.

The classes that a query writer calls derive from these and add the calls, so nothing is copied from one to the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from muntin import ClipPolicy, EarlyEmission, EmitPolicy, Function, JoinKind, TimestampPolicy
from muntin.windows import WindowSpecification
from muntin_engine.plan.inputs import InputPolicies
from muntin_engine.plan.plan import Plan
from muntin_engine.plan.steps import Step
from muntin_engine.time.lifetimes import (
    Lifetimes,
    incoming_lifetimes,
    lifetimes_after,
)

if TYPE_CHECKING:
    from pyspark.sql import Column

    ColumnLike: TypeAlias = "str | Column | BackendColumn"


Frame: TypeAlias = Any
"""The rows of an input as its backend has them: a DataFrame of Spark's, or a table in this process."""


class BackendColumn:
    """A column that a backend makes of other columns while it plans a query; nothing else reads it."""

    __slots__ = ()


class SqlExpression(str):
    """A text that is an expression in Spark's SQL, even if it could be the name of a column; made by `expression`."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return the call of `expression` that makes it."""
        return f"expression({super().__repr__()})"


_EXPRESSION: Final = re.compile(r"[-+*/%()<>=!|&\[\]']|^[0-9]")
"""The marks by which text is an expression: an operator in it, or a number at its beginning."""


def is_expression(text: str, column_names: Iterable[str]) -> bool:
    """Return True if text is an expression in SQL, and not the name of a column or a path into a struct.

    Text with an operator in it is an expression, unless the input has a column of that name, in upper or lower case.

    Args:
        text: The text, in which names may be quoted by backticks.
        column_names: The names of the columns of the input.

    Example:
        >>> is_expression("km / 1.6", ["km"]), is_expression("pos.lat", ["pos"]), is_expression("a-b", ["A-B"])
        (True, False, False)
    """
    if isinstance(text, SqlExpression):
        return True
    return has_operator(text) and text.casefold() not in {name.casefold() for name in column_names}


def backquoted(name: str) -> str:
    """Return the name of a column in backquotes, as expressions in Spark's SQL write a name of any characters.

    Example:
        >>> backquoted("km / h"), backquoted("a`b")
        ('`km / h`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def column_text(name: str) -> str:
    """Return the text that reads the column of a name: the name itself, or in backquotes if it is no identifier.

    Example:
        >>> column_text("km"), column_text("km / h")
        ('km', '`km / h`')
    """
    return name if name.isidentifier() else backquoted(name)


def has_operator(text: str) -> bool:
    """Return True if text has an operator or begins with a number, as an expression does, outside of quoted names."""
    unquoted_text = re.sub("`[^`]*`", "", text)
    return _EXPRESSION.search(unquoted_text) is not None


ROLES: Final = ("start", "end", "id", "change", "new_end", "signal", "source")
"""The attributes of `InputRequest`, and of `Columns` in a plan, that hold one column each besides keys and payload."""


class UpstreamQuery(Protocol):
    """A planned query whose results are the events of another query. Its class is in `backends`, above this room."""

    @property
    def plan(self) -> Plan:
        """The plan of the query."""
        ...


@dataclass(frozen=True)
class Heartbeat:
    """A stream whose rows are punctuation for another.

    Attributes:
        df: The stream.
        at: The column of times.
        delay: The distance behind these times at which the other stream is complete.
        source: The column with the source that a row punctuates; None if a row punctuates all sources.
    """

    df: Frame
    at: ColumnLike
    delay: int
    source: ColumnLike | None


@dataclass(frozen=True)
class InputRequest(InputPolicies):
    """The events of a query: the DataFrame that they are in, the columns that make them, and their policies.

    `muntin_engine.events` says what each means.

    Attributes:
        df: The DataFrame.
        start: The column of starts, or of the times of points and samples.
        end: The column of ends; None for points and samples.
        keys: The columns to group by.
        id: The column with the ids of events, by which later rows change them; None for events without ids.
        order: The column that orders the rows of one time; a tuple of several.
        change: The column that says what a row does; None if each is a new event.
        new_end: The column of the ends that revisions give events; None if ends are never revised.
        signal: The column of the names of signals; None if no row is one.
        source: The column of the names of sources; None if the input has no sources.
        ranges: The columns that bound the values of keys in rows of punctuation, as `Columns.ranges` names them.
        rows: The condition that rows meet; None if all are of the stream.
        conditions: The conditions that new events have to meet.
        heartbeats: Other streams that say how complete this one is.
        clock: A stream of readings of a clock; None without one.
        buckets: The number of buckets over which keys are spread.
        unit: The unit of integer times; None for timestamps, and for an axis that is not time.
        inner: The queries whose results are the events, as `queries_before` orders them.
        steps: The calls that made it.
    """

    df: Frame
    start: ColumnLike
    end: ColumnLike | None = None
    keys: tuple[ColumnLike, ...] = ()
    id: ColumnLike | None = None
    order: ColumnLike | tuple[ColumnLike, ...] | None = None
    change: ColumnLike | None = None
    new_end: ColumnLike | None = None
    signal: ColumnLike | None = None
    source: ColumnLike | None = None
    ranges: Mapping[str, ColumnLike] = field(default_factory=dict)
    rows: ColumnLike | None = None
    conditions: tuple[ColumnLike, ...] = ()
    heartbeats: tuple[Heartbeat, ...] = ()
    clock: Frame | None = None
    buckets: int = 16
    unit: str | None = None
    inner: tuple[UpstreamQuery, ...] = ()
    steps: tuple[Step, ...] = field(default=(), compare=False, repr=False)

    @property
    def named_columns(self) -> dict[str, ColumnLike]:
        """The columns of the stream besides those that modules read, by the names under which tasks exchange them."""
        columns: dict[str, ColumnLike] = {}
        for name in ROLES:
            column = getattr(self, name)
            if column is not None:
                columns[name] = column
        for place, key in enumerate(self.keys):
            columns[f"k{place}"] = key
        return {**columns, **self.ranges}

    @property
    def lifetimes(self) -> Lifetimes:
        """The kind of lifetimes of the events, after all changes."""
        lifetimes = incoming_lifetimes(is_edge=self.is_edge, has_end=self.end is not None)
        return lifetimes_after(lifetimes, self.lifetime_changes)


@dataclass(frozen=True)
class JoinCondition:
    """A function of columns of both streams of a join; made by `condition`.

    Attributes:
        function: The function.
        left: The columns of the left stream that it reads, its first arguments.
        right: The columns of the right stream that it reads, its next arguments.
        parameters: Its arguments that are no columns, by name.
    """

    function: Function[..., Any]
    left: tuple[ColumnLike, ...] = ()
    right: tuple[ColumnLike, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JoinRequest:
    """A join of two event streams; or, with one stream, a query that returns the events (see `Plan.passes_events`).

    Attributes:
        kind: The kind of the join.
        columns: For each stream, the columns that the results have of it, by their names in the results.
        on: The condition that a left and a right event have to meet; None if there is none.
    """

    kind: JoinKind
    columns: tuple[Mapping[str, ColumnLike], ...]
    on: JoinCondition | None = None


@dataclass(frozen=True)
class WindowRequest:
    """A query as it is written: events and their windows, or events that are joined or read without windows.

    Attributes:
        events: The events.
        specification: The windows into which the axis is cut.
        clip: The part of lifetimes that modules see; None to have the one that they are made for.
        timestamps: The lifetime that the output gets; None to have the one that the modules are made for.
        emit: The emission of results.
        evaluator: The name of the evaluator that is asked for; None to have the cheapest.
        named: Where there are several specifications, all of them by name; `specification` is the first.
        forget_keys_after: The length of silence after which a key is forgotten; None if it never is.
        beside: Further event streams, as the right stream of a join. The keys of all streams are spread over as many
            buckets as those of `events`.
        join: The join of two streams; None if they are not joined.
        steps: The calls that made it.
    """

    events: InputRequest
    specification: WindowSpecification
    clip: ClipPolicy | None = None
    timestamps: TimestampPolicy | None = None
    emit: EmitPolicy | EarlyEmission = EmitPolicy.FINAL
    evaluator: str | None = None
    named: Mapping[str, WindowSpecification] = field(default_factory=dict)
    forget_keys_after: int | None = None
    beside: tuple[InputRequest, ...] = ()
    join: JoinRequest | None = None
    steps: tuple[Step, ...] = field(default=(), compare=False, repr=False)

    @property
    def streams(self) -> tuple[InputRequest, ...]:
        """All event streams of the query."""
        return (self.events, *self.beside)


def queries_before(streams: Sequence[InputRequest]) -> tuple[UpstreamQuery, ...]:
    """Return the queries whose results are events of streams, in the order in which checkpoints have their states.

    Spark numbers the stateful operators of a query from its end backwards, those of the first stream before those of
    the next one. The queries are returned in the reverse of Spark's order: so the last stream comes first.
    """
    queries: list[UpstreamQuery] = []
    for stream in reversed(streams):
        queries += stream.inner
    return tuple(queries)
