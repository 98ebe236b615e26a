"""Joins of two streams: keys that are equal, and lifetimes that overlap."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from sqlglot import exp

from muntin_engine.sql_text.steps import Steps
from muntin_engine.sql_text.streams import ReadsQueries, SqlStream
from muntin_engine.sql_text.values import column_of, name_of, stream_of, text_of, value_of

_KINDS: Final = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
    ("LEFT", "SEMI"): "semi",
    ("", "SEMI"): "semi",
    ("LEFT", "ANTI"): "anti",
    ("", "ANTI"): "anti",
}
_WINDOW: Final = ("window_start", "window_end")


def read_join(reader: ReadsQueries, tree: Any, table: Any) -> Steps:
    """Return the steps of a query that joins two streams."""
    source = reader.source
    join = tree.args["joins"][0]
    if len(tree.args["joins"]) > 1:
        said = "a query joins two streams"
        raise source.error(tree.args["joins"][1], said, "join the results: EVENTS(TABLE (SELECT ... JOIN ...), ...)")
    kind = _KINDS.get((join.side, join.kind))
    if kind is None:
        said = f"there is no {join.side} {join.kind} JOIN of streams".replace("  ", " ")
        raise source.error(
            join, said, "write JOIN, LEFT JOIN, LEFT SEMI JOIN or LEFT ANTI JOIN; a RIGHT one turned round"
        )
    for side in (table, join.this):
        if isinstance(side, exp.Subquery) or isinstance(side.this, exp.Identifier):
            name = side.alias_or_name or "s"
            said = f"{name} is a table, and a stream meets streams"
            if reader.is_streaming(side):
                inner = side.name or f"({text_of(side.this)})"
                raise source.error(side, f"{name} has results of windows", f"write EVENTS(TABLE {inner}) AS {name}")
            advice = "a table without times is joined before: TABLE (SELECT ... JOIN ...)"
            raise source.error(side, said, f"a stream is EVENTS(TABLE {name}, DESCRIPTOR(since)) AS s\n{advice}")
    left, right = reader.stream(table), reader.stream(join.this)
    if not left.alias or not right.alias or left.alias.casefold() == right.alias.casefold():
        raise source.error(join, "both streams need a name of their own", "write EVENTS(TABLE rides, ...) AS r")
    if version := table.args.get("version"):
        raise source.error(version, "FOR SYSTEM_TIME AS OF is of the right stream", "write it before AS s")
    if version := join.this.args.get("version"):
        _as_of(reader, version, left, right)
    arguments: dict[str, Any] = {"how": kind}
    _read_condition(reader, join, left, right, arguments)
    if where := tree.args.get("where"):
        _filter(reader, where.this, left, right, kind)
    for part in ("group", "having"):
        if tree.args.get(part):
            said = "a join has no windows to group by"
            raise source.error(tree.args[part], said, "read it as a stream: TUMBLE(TABLE (SELECT ... JOIN ...), ...)")
    chosen = _read_columns(reader, tree, left, right, arguments)
    arguments |= reader.clauses(tree)
    steps = [*left.steps, {"join": source.mark({"right": right.steps, **arguments}, join, tree)}]
    return [*steps, {"select": {"columns": chosen}}] if chosen is not None else steps


def _as_of(reader: ReadsQueries, version: Any, left: SqlStream, right: SqlStream) -> None:
    """Read `FOR SYSTEM_TIME AS OF left.time`: each row of the right stream holds until the next of its key."""
    given = version.expression
    time = left.time
    if not isinstance(given, exp.Column) or given.name != time or given.table.casefold() != left.alias.casefold():
        said = f"AS OF names {text_of(given)}, and a row of {left.alias} meets what holds at its own time"
        raise reader.source.error(given, said, f"write FOR SYSTEM_TIME AS OF {left.alias}.{time or 'time'}, of points")
    if right.time is None:
        said = f"rows of {right.alias} have ends, so they say themselves how long they hold"
        raise reader.source.error(version, said, "leave FOR SYSTEM_TIME AS OF out, or DESCRIPTOR(start) alone")
    right.bases[0]["edge"] = True


def _read_condition(  # noqa: PLR0912  # each is a part that ON may have
    reader: ReadsQueries, join: Any, left: SqlStream, right: SqlStream, data: dict[str, Any]
) -> None:
    """Read ON: equal keys, equal windows, and functions of columns of both."""
    source = reader.source
    if join.args.get("using"):
        keys = [(column_of(part), column_of(part)) for part in join.args["using"]]
        parts: list[Any] = []
    else:
        on = join.args.get("on")
        keys, parts = [], [] if on is None else list(on.flatten()) if isinstance(on, exp.And) else [on]
    shared, equal = set(), [right for _, right in keys]
    for part in [one.unnest() for one in parts]:
        if isinstance(part, exp.EQ | exp.NullSafeEQ):
            pair = _pair(reader, part, left, right)
            if pair[0] == pair[1] and pair[0].lower() in _WINDOW:
                shared.add(pair[0].lower())
            else:
                keys.append(pair)
                equal += [pair[1]] if isinstance(part, exp.EQ) else []
        elif (called := _function(part)) is not None and "on" not in data:
            data["on"] = _condition(reader, part, called, left, right)
        else:
            said = f"{text_of(part)} is neither an equality nor a function of both streams"
            advice = (
                "equal columns are keys; other conditions are a plugin's function: AND my.near(r.x, s.x, within => 5)"
            )
            raise source.error(part, said, advice)
    if equal:  # null equals nothing in SQL, and is a key like any other in streams
        right.keep(never_null(equal), join, source)
    for stream, own in ((left, [key for key, _ in keys]), (right, [key for _, key in keys])):
        given = stream.keys
        if given is not None and given != own:
            said = f"{stream.alias} has the keys {', '.join(given)}, and ON has {', '.join(own) or 'none'}"
            raise source.error(join, said, "leave PARTITION BY out: the equal columns of ON are the keys")
        if own:
            stream.keys = own
    if left.window is None and right.window is None and not shared:
        return
    if left.window is None or left.window != right.window or shared != {*_WINDOW}:
        said = "two streams meet in their windows, and these are others"
        advice = "give both the same function, and write ON ... AND l.window_start = r.window_start AND l.window_end = "
        raise source.error(join, said, f"{advice}r.window_end; without windows: EVENTS(...)")
    if left.window["kind"] not in ("tumbling", "calendar") or {"hop", "reach"} & left.window.keys():
        said = "rows share several windows, and SQL has a row for each, where same_window has one for all"
        raise source.error(join, said, "join in TUMBLE or CALENDAR, or write it in Python: join(..., same_window=...)")
    data["same_window"] = left.window


def never_null(keys: Iterable[str]) -> str:
    """Return the condition by which keys of a stream are not null, so that they meet as those of SQL do."""
    plain = (key if key.replace("`", "").replace(".", "_").isidentifier() else f"({key})" for key in keys)
    return " AND ".join(f"{key} IS NOT NULL" for key in plain)


def _pair(reader: ReadsQueries, part: Any, left: SqlStream, right: SqlStream) -> tuple[str, str]:
    sides = {}
    for node in (part.this, part.expression):
        tables = {stream_of(column) for column in node.find_all(exp.Column)}
        for stream in (left, right):
            if tables == {stream.alias.casefold()}:
                sides[stream.alias] = reader.column(node, stream.alias)
    if len(sides) < 2:
        said = f"{text_of(part)} does not compare the two streams"
        advice = f"write {left.alias}.station = {right.alias}.station; a condition on one stands in WHERE"
        raise reader.source.error(part, said, advice)
    return sides[left.alias], sides[right.alias]


def _function(part: Any) -> str | None:
    if isinstance(part, exp.Dot) and isinstance(part.expression, exp.Anonymous):
        return name_of(part)
    return part.name if isinstance(part, exp.Anonymous) else None


def _condition(reader: ReadsQueries, part: Any, name: str, left: SqlStream, right: SqlStream) -> dict[str, Any]:
    call = part.expression if isinstance(part, exp.Dot) else part
    found: dict[str, Any] = {"function": name, "left": [], "right": []}
    for argument in call.expressions:
        if isinstance(argument, exp.Kwarg):
            found.setdefault("parameters", {})[argument.this.name] = value_of(argument.expression, reader.source)
            continue
        side = _side(reader, argument, left, right)
        if side is left and found["right"]:
            said = f"columns of {left.alias} come first"
            raise reader.source.error(argument, said, f"the function takes those of {right.alias} after them")
        found["left" if side is left else "right"].append(reader.column(argument, side.alias))
    return found


def _side(reader: ReadsQueries, node: Any, left: SqlStream, right: SqlStream) -> SqlStream:
    """Return the stream of the columns of an expression."""
    tables = {stream_of(column) for column in node.find_all(exp.Column)}
    for stream in (left, right):
        if tables == {stream.alias.casefold()}:
            return stream
    said = f"{text_of(node)} is not of one stream"
    raise reader.source.error(
        node, said, f"begin each column with {left.alias}. or {right.alias}., and do not mix them"
    )


def _filter(reader: ReadsQueries, where: Any, left: SqlStream, right: SqlStream, kind: str) -> None:
    for part in where.flatten() if isinstance(where, exp.And) else [where]:
        side = _side(reader, part.unnest(), left, right)
        if kind != "inner" and side is right:
            said = f"WHERE reads {right.alias}, which rows of {left.alias} need not meet"
            raise reader.source.error(part, said, "filter its events: EVENTS(TABLE (SELECT ... WHERE ...), ...)")
        side.keep(reader.column(part.unnest(), side.alias), part, reader.source)


def _read_columns(
    reader: ReadsQueries, tree: Any, left: SqlStream, right: SqlStream, data: dict[str, Any]
) -> dict[str, str] | None:
    """Read the columns of SELECT into those of each stream; return the results' if they are not in that order."""
    keys = left.keys or []
    chosen: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {"left_columns": {}, "right_columns": {}}
    for node in tree.expressions:
        body = node.unalias()
        if isinstance(body, exp.Column) and not body.table and body.name.lower() == "lifetime":
            chosen[node.alias or "lifetime"] = "lifetime"
            continue
        if isinstance(body, exp.Star) or (isinstance(body, exp.Column) and isinstance(body.this, exp.Star)):
            raise reader.source.error(
                node, "a join names its columns", f"write SELECT {left.alias}.km, {right.alias}.km"
            )
        side = _side(reader, body, left, right)
        text = reader.column(body, side.alias)
        name = node.alias or (body.name if isinstance(body, exp.Column) else "")
        if not name:
            raise reader.source.error(node, f"{text_of(node)} has no name", "write ... AS ratio")
        if name in chosen:
            raise reader.source.error(node, f"two columns are called {name}", "name one of them otherwise with AS")
        chosen[name] = name
        if side is left and text in keys:
            chosen[name] = text
        else:
            found["left_columns" if side is left else "right_columns"][name] = text
    data.update({name: columns for name, columns in found.items() if columns})
    natural = [*keys, "lifetime", *found["left_columns"], *found["right_columns"]]
    return None if list(chosen.items()) == [(name, name) for name in natural] else chosen
