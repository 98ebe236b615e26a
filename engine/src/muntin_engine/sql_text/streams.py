"""The streams of a query in SQL: window functions, their `TABLE` arguments and clauses, as the data of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from sqlglot import exp

from muntin_engine.sql_text.clauses import read_clauses
from muntin_engine.sql_text.dialect import Clause, Matching, StreamTable
from muntin_engine.sql_text.places import SqlText, closest
from muntin_engine.sql_text.steps import Steps
from muntin_engine.sql_text.values import column_of, name_of, text_of, value_of
from muntin_engine.sql_text.windows import EVENTS, FUNCTIONS

EVENT_ARGUMENTS: Final = {
    **dict.fromkeys(("id", "order", "change", "new_end", "signal", "source", "rows"), "column"),
    **dict.fromkeys(("edge", "sources", "buckets", "unit"), "value"),
    "key_ranges": "value",
}
"""Arguments of a window function that are those of `events`, by name."""


LIFETIMES: Final = frozenset(
    ("shift", "extend", "shorten", "set_duration", "to_points", "to_edges", "align_to", "as_events")
)
"""The steps of a stream after which events may last otherwise than their columns say."""


class ReadsQueries(Protocol):
    """What reads the parts of a query: see `SqlReader`."""

    @property
    def source(self) -> SqlText:
        """The text."""

    def stream(self, table: Any) -> SqlStream:
        """Return the stream that a FROM clause reads."""

    def events(self, inner: Any, described: tuple[list[Any], Any]) -> tuple[Steps, Steps]:
        """Return the steps and bases of a table or a query, with the columns of its times and a node to tell of."""

    def is_streaming(self, tree: Any) -> bool:
        """Return True if a tree, or what it reads, is none of Spark's alone."""

    def clauses(self, tree: Any) -> dict[str, Any]:
        """Return the arguments that the clauses after a query are."""

    def column(self, node: Any, alias: str) -> str:
        """Return an expression of columns of one stream."""


@dataclass
class SqlStream:
    """A stream as the text has it.

    Attributes:
        steps: The calls that make it, in order.
        bases: The arguments of the calls that take keys and orders: `events` or `as_events`, several in a union.
        window: Its windows; None without windows.
        by_rows: True if its windows follow the events of their key.
        function: The name of its function.
        node: Its node.
        alias: The name that the query gives it.
    """

    steps: list[dict[str, Any]]
    bases: list[dict[str, Any]]
    window: dict[str, Any] | None
    by_rows: bool
    function: str
    node: Any
    alias: str = ""

    @property
    def keys(self) -> list[str] | None:
        """The keys that were named; None if none were."""
        return self.bases[0].get("key")

    @keys.setter
    def keys(self, keys: list[str]) -> None:
        for base in self.bases:
            base["key"] = keys

    @property
    def time(self) -> str | None:
        """The column of the times of points; None for others."""
        return self.bases[0].get("at")

    @property
    def point_time(self) -> str | None:
        """The column of the times of its events, if these are points at the times that the column has; else None."""
        changed = any(name in LIFETIMES for step in self.steps for name in step)
        if self.window is not None or changed or any(base.get("edge") for base in self.bases):
            return None
        return self.time

    def keep(self, condition: str, node: Any, source: SqlText) -> None:
        """Filter the events by a condition, which stands at a node of the text."""
        self.steps.append({"where": source.mark({"condition": condition}, node)})


def function_of(table: Any) -> tuple[str, list[Any], Any] | None:
    """Return the window function that a FROM clause reads: its name, arguments and node; None if it reads a table."""
    node = table.this if isinstance(table, exp.Table) else table
    if isinstance(node, exp.Anonymous) and node.name.upper() == "TABLE" and len(node.expressions) == 1:
        node = node.expressions[0]
    if not isinstance(node, exp.Anonymous):
        return None
    name = node.name
    if isinstance(table, exp.Table) and table.args.get("db"):
        name = f"{name_of(table.args['db'])}.{name}"
    arguments = node.expressions
    has_stream = any(isinstance(_unnamed(part), StreamTable) for part in arguments)
    return (name, arguments, node) if has_stream or name.upper() in (*FUNCTIONS, EVENTS) else None


def is_streaming(tree: Any) -> bool:
    """Return True if a tree has anything in it that Spark alone does not know."""
    clauses = any(node.meta.get("clauses") for node in tree.walk())
    if clauses or tree.find(StreamTable, Matching, Clause) is not None:
        return True
    return any(function_of(table) is not None for table in tree.find_all(exp.Table))


def _unnamed(argument: Any) -> Any:
    return argument.expression if isinstance(argument, exp.Kwarg) else argument


def read_stream(  # noqa: PLR0912  # each is an argument that a window function may have
    table: Any, source: SqlText, inner: Callable[[Any, Any], tuple[Steps, Steps]]
) -> SqlStream:
    """Return the stream that a window function makes of its arguments.

    Args:
        table: What a FROM clause reads.
        source: The text.
        inner: Returns the steps and bases of a table or a query, of a `TABLE` argument and the columns of its
            DESCRIPTOR.
    """
    found = function_of(table)
    if found is None:
        raise source.error(table, f"{text_of(table)} is a table, and here a stream is read", _AS_STREAM)
    name, arguments, node = found
    function = FUNCTIONS.get(name.upper())
    if function is None and name.upper() != EVENTS and "." not in name:
        advice = closest(name, [*FUNCTIONS, EVENTS]) + "\na plugin's windows have its name: retail.visits(TABLE ...)"
        raise source.error(node, f"{name} is no window function", advice)
    others = dict(function.other_names) if function is not None else {}
    names = function.parameters if function is not None else ()
    places = [part for part in arguments if not isinstance(part, exp.Kwarg)]
    named: dict[str, Any] = {}
    for part in arguments:
        if isinstance(part, exp.Kwarg):
            key = part.this.name.lower()
            if others.get(key, key) in named:
                raise source.error(part, f"{key} is given twice", "leave one of them out")
            named[others.get(key, key)] = part
    stream = places.pop(0) if places and "data" not in named else _unnamed(named.pop("data", None))
    if not isinstance(stream, StreamTable):
        raise source.error(
            stream or node, f"{name} reads a table", f"write {name}(TABLE rides, DESCRIPTOR(leaves), ...)"
        )
    if any(map(_is_descriptor, places[1:])):
        raise source.error(places[0], f"{text_of(places[0])} stands before the DESCRIPTOR", _KEYS)
    described = places.pop(0) if places and _is_descriptor(places[0]) else _unnamed(named.pop("timecol", None))
    columns = described.expressions if described is not None else []
    steps, bases = inner(stream.this, (columns, node))
    given: dict[str, Any] = {}
    if stream.args.get("keys"):
        given["key"] = [column_of(key) for key in stream.args["keys"]]
    if order := stream.args.get("order"):
        given["order"] = _row_order(order)
    given |= read_clauses(stream.args.get("clauses") or (), source, name_of(columns[0]) if columns else "")
    if len(places) > len(names):
        said = f"{name} takes {', '.join(names) or 'no more'} after the DESCRIPTOR"
        raise source.error(places[len(names)], said, f"other arguments have names: {', '.join(EVENT_ARGUMENTS)}")
    window: dict[str, Any] = dict(zip(names, (value_of(part, source) for part in places), strict=False))
    for own, part in named.items():
        key, value = part.this.name.lower(), part.expression
        if own in window:
            raise source.error(part, f"{key} is given by its place already", "leave one of them out")
        if own in EVENT_ARGUMENTS and own not in names:
            given[own] = _event_argument(own, value, source)
        elif own in names or (function is None and name.upper() != EVENTS) or own in _ROW_FIELDS:
            window[own] = value_of(value, source)
        else:
            raise source.error(part, f"{name} has no argument {key}", closest(key, [*names, *others, *EVENT_ARGUMENTS]))
    made = None if name.upper() == EVENTS else {"kind": function.window if function else name, **window}
    by_rows = function is None or function.by_rows
    steps += given.pop("then", [])
    for base in bases:
        source.mark(base, node).update(given)
    alias = (table.alias if isinstance(table, exp.Table) else "") or _name_of(bases[0].get("df"))
    return SqlStream(steps, bases, made, by_rows and made is not None, name.upper(), node, alias)


_ROW_FIELDS: Final = frozenset(
    ("partitions", "shows_empty", "admits", "is_marked", "reopens", "closing_row", "closed_only")
)
_KEYS: Final = "several keys stand in parentheses: TABLE rides PARTITION BY (station, city)"
_AS_STREAM: Final = (
    "write EVENTS(TABLE rides, DESCRIPTOR(leaves)) AS r\n"
    "or a window function such as TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)"
)


def times_of(columns: list[Any], node: Any, source: SqlText) -> dict[str, str]:
    """Return the data of the columns of a DESCRIPTOR: the time of points, or start and end."""
    texts = [column_of(column) for column in columns]
    if len(texts) == 1:
        return {"at": texts[0]}
    if len(texts) == 2:
        return {"start": texts[0], "end": texts[1]}
    said = "no time column is named" if not texts else f"{len(texts)} time columns are named"
    raise source.error(columns[2] if texts else node, said, "write DESCRIPTOR(leaves), or DESCRIPTOR(leaves, returns)")


def _name_of(table: Any) -> str:
    return table if isinstance(table, str) else ""


def _is_descriptor(node: Any) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "DESCRIPTOR"


def _event_argument(name: str, value: Any, source: SqlText) -> Any:
    """Return an argument of `events` that a window function has by name."""
    if name == "order":
        return _row_order(value)
    return column_of(value) if EVENT_ARGUMENTS[name] == "column" else value_of(value, source)


def _row_order(order: Any) -> Any:
    """Return the columns of `ORDER BY`: one, or those in parentheses as a list."""
    return [*map(column_of, order.expressions)] if isinstance(order, exp.Tuple) else column_of(order)
