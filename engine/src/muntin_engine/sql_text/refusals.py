"""Refuse the parts of a text that a query of streams would not read, so that nothing is silently left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sqlglot import exp

from muntin_engine.sql_text.sql_aggregates import AGGREGATES
from muntin_engine.sql_text.sql_source import SqlText
from muntin_engine.sql_text.sql_values import text_of

_PARTS_READ: Final[Mapping[type, set[str]]] = {
    exp.Select: {"expressions", "from_", "joins", "match", "where", "group", "having", "with_"},
    exp.Union: {"this", "expression", "distinct", "with_"},
    exp.Subquery: {"this", "alias"},
    exp.With: {"expressions"},
    exp.Table: {"this", "db", "catalog", "alias", "version"},
    exp.TableAlias: {"this"},
    exp.Join: {"this", "side", "kind", "on", "using"},
    exp.Star: set(),
}
"""The parts of nodes that are read, by the kinds of nodes; of other kinds all parts are allowed."""


class _Refusal(NamedTuple):
    """The message about a part that is refused: what is wrong with it, and what to write instead."""

    fact: str
    advice: str


_REFUSED: Final[Mapping[str, _Refusal]] = {
    "order": _Refusal(
        "results of a stream have no order", "order them where you read them: query.results().orderBy('n')"
    ),
    "limit": _Refusal(
        "results of a stream have no last one", "stats.top_k or stats.top_by keep the largest of each window"
    ),
    "distinct": _Refusal(
        "results of windows differ by themselves", "leave DISTINCT out; COUNT(DISTINCT km) counts values"
    ),
    "qualify": _Refusal(
        "QUALIFY ranks rows, which come one by one", "stats.top_k or stats.top_by rank within a window"
    ),
    "laterals": _Refusal("LATERAL reads rows of a table", "write it in the table: TABLE (SELECT ... LATERAL VIEW ...)"),
    "recursive": _Refusal(
        "WITH RECURSIVE reads its own rows", "write it in the table: TABLE (WITH RECURSIVE ... SELECT ...)"
    ),
    "columns": _Refusal("columns are named in SELECT", "write SELECT ... AS name, and not AS t(name, ...)"),
}
"""The messages about refused parts that many people write, by the names that sqlglot has for the parts."""

AS_TABLE: Final = (
    "write FROM TUMBLE(TABLE (SELECT ...), DESCRIPTOR(window_start, window_end), INTERVAL '1' HOUR) around the query"
)
"""The advice for windows over the results of a query."""

_GROUPINGS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets)
_IN_MODULES: Final = (exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup, exp.Order)


def refuse_unread(source: SqlText, *nodes: Any) -> None:
    """Refuse parts of nodes that would not be read: the query would silently mean something else.

    Args:
        source: The text.
        nodes: The nodes. Only their own parts are checked, and those of an alias of a table, but no parts of parts.

    Raises:
        SqlError: A node has such a part.
    """
    for node in nodes:
        names_read = _PARTS_READ.get(type(node))
        if names_read is not None:
            for name, part in node.args.items():
                if part and name not in names_read:
                    first_part = part[0] if isinstance(part, list) else part
                    _refuse_part(source, node, name, first_part)
        alias = node.args.get("alias")
        if isinstance(alias, exp.TableAlias):
            refuse_unread(source, alias)


def _refuse_part(source: SqlText, node: Any, name: str, part: Any) -> None:
    """Raise an error about a part of a node.

    Args:
        source: The text.
        node: The node.
        name: The name that sqlglot has for the part.
        part: The part, or its first item if it is a list.

    Raises:
        SqlError: Always.
    """
    place = part if isinstance(part, exp.Expression) else node  # only a node has a place in the text
    word = part if isinstance(part, str) else name.strip("_").replace("_", " ")  # such as NATURAL of a join
    fact = f"{word.upper()} is not read over streams"
    advice = "write it in the table: TABLE (SELECT ...)"
    if name in _REFUSED:
        fact = _REFUSED[name].fact
        advice = _REFUSED[name].advice
    raise source.error(place, fact, advice)


def refuse_groupings(source: SqlText, group: Any) -> None:
    """Refuse a GROUP BY with several groupings, such as ROLLUP.

    Args:
        source: The text.
        group: The node of GROUP BY.

    Raises:
        SqlError: There are several groupings.
    """
    # sqlglot has groupings among the keys or apart from the keys, depending on how they are written.
    sets = [part for part in group.expressions if isinstance(part, _GROUPINGS)]
    has_sets = any(group.args.get(name) for name in ("rollup", "cube", "grouping_sets", "totals", "all"))
    if sets or has_sets:
        node = sets[0] if sets else group
        raise source.error(node, f"{text_of(node)} is several groupings", "write a query for each, or name the keys")


def refuse_other_rows(source: SqlText, column: Any) -> None:
    """Refuse a column of SELECT that computes over several results, or has words that modules do not read.

    Raises:
        SqlError: The column has a window function, an aggregate that is no module, or words such as IGNORE NULLS.
    """
    for node in column.walk():
        if isinstance(node, exp.Window | exp.RowNumber):
            fact = f"{text_of(node)} reads other rows, and results come one by one"
            raise source.error(node, fact, "stats.top_k and stats.top_by rank within a window; LAST(...) follows rows")
        if isinstance(node, exp.AggFunc):
            fact = f"{text_of(node)} is no module"
            advice = f"aggregates are {', '.join(AGGREGATES)}, and those of plugins by their names"
            raise source.error(node, fact, advice)
        if isinstance(node, _IN_MODULES):
            fact = f"modules do not read {text_of(node)}"
            raise source.error(node, fact, "nulls are skipped; the order is that of events: TABLE rides ORDER BY line")


def refuse_aggregates(source: SqlText, column: Any) -> None:
    """Refuse aggregates over rows that have no windows: the results of a query, or the pairs of a join.

    Raises:
        SqlError: The column has such an aggregate.
    """
    for call in column.find_all(exp.Anonymous):
        if call.name.upper() in AGGREGATES:
            raise source.error(call, f"{text_of(call)} needs windows of its own", AS_TABLE)
