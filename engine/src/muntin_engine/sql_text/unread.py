"""Refuse what a query of streams would not read, so that nothing of a text is silently left out."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp

from muntin_engine.sql_text.places import SqlText
from muntin_engine.sql_text.values import text_of

# `windows`: GROUP BY window alone is parsed as a WINDOW clause
_READ: Final = {"expressions", "from_", "joins", "match", "where", "group", "having", "with_", "kind", "windows"}
_GROUPINGS: Final = (exp.Rollup, exp.Cube, exp.GroupingSets)


def refuse_unread(source: SqlText, select: Any) -> None:
    """Refuse clauses, window functions and samples that a query of streams has no meaning for.

    Raises:
        SqlError: There is one; the error says where.
    """
    for name, part in select.args.items():
        if part and name not in _READ:
            found = part[0] if isinstance(part, list) else part
            word = type(found).key.upper() if isinstance(found, exp.Expression) else name.upper()
            at = found if isinstance(found, exp.Expression) else select
            raise source.error(at, f"{word} is not read over streams", "write it in the table: TABLE (SELECT ...)")
    group = select.args.get("group")
    sets = [part for part in (group.expressions if group else []) if isinstance(part, _GROUPINGS)]
    sets += [part for name in ("rollup", "cube", "grouping_sets") for part in ((group and group.args.get(name)) or [])]
    if sets or (group and group.args.get("all")):
        at = sets[0] if sets else group
        raise source.error(at, f"{text_of(at)} is several groupings", "write a query for each, or name the keys")
    outputs = [*select.expressions, *([select.args["having"].this] if select.args.get("having") else [])]
    for node in (part for output in outputs for part in output.walk()):
        if isinstance(node, exp.Window | exp.RowNumber):
            said = f"{text_of(node)} reads other rows, and results come one by one"
            raise source.error(node, said, "stats.top_k and stats.top_by rank within a window; LAST(...) follows rows")
    tables = [select.args["from_"].this] if select.args.get("from_") else []
    for table in (*tables, *(join.this for join in select.args.get("joins") or ())):
        for name in ("sample", "pivots", "hints", "joins", "laterals"):
            if table.args.get(name):
                said = f"{name} of a stream is not read".replace("sample", "TABLESAMPLE").replace("pivots", "PIVOT")
                raise source.error(table, said, "write it in the table: TABLE (SELECT ...)")
