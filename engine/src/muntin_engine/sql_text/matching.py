"""The everyday half of MATCH_RECOGNIZE: one row followed by another, at once or with rows between, within a time.

It is `patterns.followed_without`: rows that are A open a match, rows that are B close it, and what may not come between
breaks it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

from sqlglot import exp

from muntin import ticks
from muntin.errors import DurationError
from muntin_engine.sql_text.steps import Steps
from muntin_engine.sql_text.streams import ReadsQueries, SqlStream, function_of
from muntin_engine.sql_text.values import column_of, length_of, spell_name, text_of

_PATTERN: Final = re.compile(r"(\w+)(?: (\w+) \* \?)? (\w+)")
_MODULE: Final = "patterns.followed_without"
_ORDER: Final = "write ORDER BY and the column of times, and perhaps one that orders rows of the same time"
_ROWS: Final = "read them as a stream: FROM TUMBLE(TABLE (SELECT ... MATCH_RECOGNIZE ...), INTERVAL '1' HOUR)"
_BEFORE: Final = "compute it in the table: FROM (SELECT *, ... AS x FROM rides) MATCH_RECOGNIZE (...)"
_AS_MODULE: Final = "write SELECT lifetime, patterns.followed_without(id, a, b, breaks, within => 5) FROM EVENTS(...)"
_WRITE: Final = "write PATTERN (A B), or PATTERN (A X*? B) with rows between"


def read_match(reader: ReadsQueries, tree: Any, table: Any) -> Steps:
    """Return the steps of a query that looks for two rows in order."""
    source, match = reader.source, tree.args["match"]
    stream = _stream(reader, tree, table)
    events = stream.bases[0]
    first, between, second = _pattern(reader, match)
    defined = {part.alias: part.this for part in match.args.get("define") or ()}
    unknown = [name for name in defined if name not in (first, between, second)]
    if unknown:
        raise source.error(defined[unknown[0]], f"{unknown[0]} is not in the pattern", _WRITE)
    conditions = {name: _condition(reader, defined, name) for name in (first, second)}
    is_second = f"coalesce({conditions[second]}, false)"
    if between is None:
        breaks = f"NOT {is_second}"
    elif between in defined:
        breaks = f"NOT ({is_second} OR coalesce({_condition(reader, defined, between)}, false))"
    else:
        breaks = "false"
    label, fields = _label(reader, match, (first, second))
    columns = [label, f"coalesce({conditions[first]}, false)", is_second, breaks]
    if match.args.get("within") is None:
        said = "a first row would wait for ever for a second one"
        raise source.error(match, said, "write WITHIN INTERVAL '1' HOUR after the pattern")
    within = length_of(match.args["within"], source)
    if isinstance(within, Decimal):
        raise source.error(match.args["within"], "a decimal has no next smaller one", _AS_MODULE)
    with suppress(DurationError):  # which is told by the module; the end is no part of the time, as in Flink
        within = f"{ticks(within) - 1} microseconds" if isinstance(within, str) else within - 1
    for part in ("group", "having", "joins"):
        if found := tree.args.get(part):
            raise source.error(found[0] if isinstance(found, list) else found, "matches are rows of their own", _ROWS)
    if where := tree.args.get("where"):
        advice = "filter rows in the table: FROM (SELECT ... WHERE ...) MATCH_RECOGNIZE (...)"
        raise source.error(where, "WHERE is asked of matches", advice)
    if reader.clauses(tree):
        raise source.error(tree.meta["clauses"][0], "matches are final, and have no windows", "leave it out")
    chosen = _measured(reader, tree, match, events, (first, second), fields)
    apply = {"module": _MODULE, "columns": columns, "parameters": {"within": within}}
    for base in stream.bases:
        source.mark(base, match)
    apply = source.mark({"operator": apply}, match)
    return [*stream.steps, {"apply": apply}, {"select": source.mark({"columns": chosen}, match)}]


def _stream(reader: ReadsQueries, tree: Any, table: Any) -> SqlStream:
    """Return the stream whose rows are matched, with the keys and the order of the clause."""
    source, match = reader.source, tree.args["match"]
    order = match.args["order"].expressions if match.args.get("order") else []
    for part in order:
        if part.args.get("desc") or not isinstance(part.this, exp.Column):
            raise source.error(part, f"rows follow one another by {text_of(part)}", "write ORDER BY leaves, line")
    if not order:
        raise source.error(match, "ORDER BY has no time", _ORDER)
    if function_of(table) is not None:
        stream = reader.stream(table)
        if stream.window is not None:
            advice = "write FROM EVENTS(TABLE ...) MATCH_RECOGNIZE (...)"
            raise source.error(table, f"{stream.function} has windows, and rows are matched without", advice)
        if stream.time not in (None, column_of(order[0].this)):
            raise source.error(order[0], f"the times are {stream.time}", f"write ORDER BY {stream.time}")
    else:
        table = table.this if isinstance(table, exp.Subquery) else table
        steps, bases = reader.events(table, ([order[0].this], match))
        stream = SqlStream(steps, bases, None, False, "", table)
    given = match.args.get("partition_by") or ()
    for key in given:
        if not isinstance(key, exp.Column):
            table_with_key = f"FROM (SELECT *, {text_of(key)} AS k FROM ...)"
            advice = f"name it in the table: {table_with_key} MATCH_RECOGNIZE (... PARTITION BY k ...)"
            raise source.error(key, f"{text_of(key)} is no column", advice)
    keys = [column_of(key) for key in given]
    if stream.keys not in (None, keys):
        raise source.error(given[0] if given else match, "PARTITION BY is said twice", "leave one of them out")
    if keys or any("as_events" in step for step in stream.steps):
        stream.keys = keys
    if columns := [column_of(part.this) for part in order[1:]]:
        stream.bases[0]["order"] = columns if len(columns) > 1 else columns[0]
    return stream


def _pattern(reader: ReadsQueries, match: Any) -> tuple[str, str | None, str]:
    """Return the names of the first row, of those between if there are, and of the second."""
    source, pattern = reader.source, match.args.get("pattern")
    found = _PATTERN.fullmatch(pattern.name) if pattern is not None else None
    if found is None:
        said = f"the pattern {pattern.name if pattern else ''} is not two rows in order".replace("  ", " ")
        advice = "longer ones: patterns.state_machine, or a stream operator of your own"
        raise source.error(pattern or match, said, f"{_WRITE}; {advice}")
    rows = match.args.get("rows")
    if rows is not None and rows.name.upper() != "ONE ROW PER MATCH":
        raise source.error(rows, f"{rows.name} is not there", "write ONE ROW PER MATCH")
    after = match.args.get("after")
    if after is None or after.name.upper() != "AFTER MATCH SKIP TO NEXT ROW":
        said = "a row that closes a match may open the next one, which is not what SKIP PAST LAST ROW says"
        raise source.error(after or match, said, "write AFTER MATCH SKIP TO NEXT ROW before PATTERN")
    return found[1], found[2], found[3]


def _condition(reader: ReadsQueries, defined: dict[str, Any], name: str) -> str:
    """Return the condition of a step, over the columns of its own row."""
    if name not in defined:
        return "true"
    node = defined[name]
    for column in node.find_all(exp.Column):
        if column.table and column.table.casefold() != name.casefold():
            said = f"the condition of {name} reads {column.table}, another row"
            raise reader.source.error(column, said, "compare rows in a stream operator of your own")
    if node.find(exp.Anonymous, exp.AggFunc):
        raise reader.source.error(node, f"the condition of {name} calls {text_of(node)}", _BEFORE)
    return f"({reader.column(node, name)})"


def _label(reader: ReadsQueries, match: Any, steps: tuple[str, str]) -> tuple[str, list[str]]:
    """Return the column that a match keeps of a row, and the names of its fields where it is several."""
    found: list[str] = []
    for measure in match.args.get("measures") or ():
        for column in measure.find_all(exp.Column):
            if column.table not in steps:
                said = f"{text_of(column)} is of no row of the pattern"
                raise reader.source.error(column, said, f"write {steps[0]}.km or {steps[1]}.km")
            if column.name not in found:
                found.append(column.name)
    if not found:
        raise reader.source.error(match, "a match shows nothing", f"write MEASURES {steps[0]}.id AS first, ...")
    if len(found) == 1:
        return found[0], []
    return f"struct({', '.join(map(spell_name, found))})", found


def _measured(
    reader: ReadsQueries, tree: Any, match: Any, events: dict[str, Any], steps: tuple[str, str], fields: list[str]
) -> dict[str, str]:
    """Return the columns of the results: the keys and the measures, as SELECT names them."""
    made = {key.strip("`"): key for key in events.get("key", [])}
    for measure in match.args["measures"]:
        if not measure.alias:
            raise reader.source.error(measure, f"{text_of(measure)} has no name", "write ... AS first")
        changes = []
        if called := measure.find(exp.AggFunc, exp.Anonymous):
            said = f"{text_of(called)} is of several rows, and a match has one of each"
            column = next(called.find_all(exp.Column), None)
            name = "km" if column is None else column.name
            raise reader.source.error(called, said, f"write {steps[0]}.{name}; compute more in a query around this one")
        for column in measure.find_all(exp.Column):
            place = ("first", "second")[column.table == steps[1]]
            changes.append((column, f"{place}.{spell_name(column.name)}" if fields else place))
        made[measure.alias] = reader.source.edited(measure.unalias(), changes)
    if len(tree.expressions) == 1 and isinstance(tree.expressions[0], exp.Star):
        return made
    chosen = {}
    for node in tree.expressions:
        body = node.unalias()
        if not isinstance(body, exp.Column) or body.name not in made:
            said = f"{text_of(node)} is neither a key nor a measure"
            raise reader.source.error(node, said, f"there are {', '.join(made)}")
        chosen[node.alias or body.name] = made[body.name]
    return chosen
