"""Joins of two streams: keys that are equal, and lifetimes that overlap."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp

from muntin_engine.sql_text.steps import Steps
from muntin_engine.sql_text.streams import ReadsQueries, SqlStream
from muntin_engine.sql_text.time_bounds import TimeBounds
from muntin_engine.sql_text.unread import refuse_aggregates, refuse_other_rows, refuse_unread
from muntin_engine.sql_text.values import column_of, name_of, spell_name, stream_of, text_of, value_of

_KINDS: Final = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("", "CROSS"): "inner",  # which a comma between two streams is too
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
    ("LEFT", "SEMI"): "semi",
    ("", "SEMI"): "semi",
    ("LEFT", "ANTI"): "anti",
    ("", "ANTI"): "anti",
}
_WORDS: Final = {"left": "LEFT JOIN", "semi": "LEFT SEMI JOIN", "anti": "LEFT ANTI JOIN"}
_WINDOW: Final = ("window_start", "window_end")
_ENDS: Final = {"window_start": "lifetime.start", "window_end": "lifetime.end"}
ALWAYS: Final = "true"
"""The key of right events that left ones meet if a condition on these alone holds."""


def read_join(reader: ReadsQueries, tree: Any, table: Any) -> Steps:
    """Return the steps of a query that joins two streams."""
    source = reader.source
    join = tree.args["joins"][0]
    if len(tree.args["joins"]) > 1:
        said = "a query joins two streams"
        third = tree.args["joins"][1]
        name = third.alias_or_name or "s"
        joined = "FROM EVENTS(TABLE (SELECT ... JOIN ...)) AS j"
        raise source.error(third, said, f"join the results: {joined} JOIN EVENTS(TABLE {name}, ...) AS {name} ON ...")
    kind = _KINDS.get((join.side, join.kind))
    if kind is None:
        said = f"there is no {join.side} {join.kind} JOIN of streams".replace("  ", " ")
        raise source.error(
            join, said, "write JOIN, LEFT JOIN, LEFT SEMI JOIN or LEFT ANTI JOIN; a RIGHT one turned round"
        )
    left = reader.stream(_stream_table(reader, table))
    right_table = _stream_table(reader, join.this)
    right = reader.stream(right_table)
    if not left.alias or not right.alias or left.alias.casefold() == right.alias.casefold():
        raise source.error(join, "both streams need a name of their own", "write EVENTS(TABLE rides, ...) AS r")
    if version := table.args.get("version"):
        raise source.error(version, "FOR SYSTEM_TIME AS OF is of the right stream", "write it before AS s")
    reading = _JoinReading(reader, join, left, right, kind)
    if version := right_table.args.get("version"):
        reading.read_as_of(version)
    reading.read_conditions(tree.args.get("where"))
    for part in ("group", "having"):
        if tree.args.get(part):
            said = "a join has no windows to group by"
            advice = "read it as a stream: FROM TUMBLE(TABLE (SELECT ... JOIN ...), INTERVAL '1' HOUR)"
            raise source.error(tree.args[part], said, advice)
    chosen = reading.read_columns(tree)
    condition = reading.condition_on_results()
    return reading.steps(tree, chosen, condition)


def never_null(keys: Iterable[str]) -> str:
    """Return the condition by which keys of a stream are not null, so that they meet as those of SQL do."""
    plain = (key if key.replace("`", "").replace(".", "_").isidentifier() else f"({key})" for key in keys)
    return " AND ".join(f"{key} IS NOT NULL" for key in plain)


def is_true(condition: str) -> str:
    """Return a condition that is false where another one is null."""
    has_no_null = condition.startswith("COALESCE(") and condition.endswith(", FALSE)")
    return condition if has_no_null else f"COALESCE({condition}, FALSE)"


def _stream_table(reader: ReadsQueries, side: Any) -> Any:
    """Return the window function that one side of a join reads.

    Raises:
        SqlError: It is a table, or reads the results of a query.
    """
    if isinstance(side, exp.Table) and not isinstance(side.this, exp.Identifier):
        return side
    if isinstance(side, exp.Subquery) and (function := _whole_function(side)) is not None:
        refuse_unread(reader.source, side, side.this, function, *side.this.expressions)
        named = function.copy()
        named.set("alias", side.args.get("alias"))
        return named
    name = side.alias_or_name or "s"
    if reader.is_streaming(side):
        inner = side.name or f"({text_of(side.this)})"
        raise reader.source.error(side, f"{name} has results of windows", f"write EVENTS(TABLE {inner}) AS {name}")
    advice = "a table without times is joined before: TABLE (SELECT ... JOIN ...)"
    raise reader.source.error(
        side,
        f"{name} is a table, and a stream meets streams",
        f"a stream is EVENTS(TABLE {name}, DESCRIPTOR(since)) AS {name}\n{advice}",
    )


def _whole_function(side: Any) -> Any:
    """Return the function of `(SELECT * FROM TUMBLE(...)) AS r`, as Flink's page has it; None for another query."""
    select = side.this
    if not isinstance(select, exp.Select) or not select.args.get("from_"):
        return None
    others = [name for name, part in select.args.items() if part and name not in ("expressions", "from_", "kind")]
    is_whole = len(select.expressions) == 1 and isinstance(select.expressions[0], exp.Star)
    table = select.args["from_"].this
    is_function = isinstance(table, exp.Table) and not isinstance(table.this, exp.Identifier)
    return table if is_whole and is_function and not others else None


@dataclass
class _JoinReading:
    """Reads the conditions and columns of one join.

    A condition goes where it means what it means in SQL: equal columns are keys; bounds on the times are lifetimes; a
    condition on one stream is a filter of its events, or a key where a left event that does not meet it has to stay;
    what only a pair can be tested for is a condition on the results.

    Attributes:
        reader: Reads the rest of the query.
        join: The node of the join.
        left: The left stream.
        right: The right stream.
        kind: As `how` of a join.
        is_as_of: True if a left point meets at most the one right row that holds at its time.
        keys: The equal columns of both.
        keys_not_null: Those of the right stream that meet by `=`, for which null equals nothing.
        shared: The ends of windows that ON compares.
        arguments: What is read of the call.
        pair_conditions: Conditions on both streams.
        where: The conditions of WHERE on the results.
        left_columns: The columns that the results have of the left stream, by their names there.
        right_columns: The same of the right stream.
    """

    reader: ReadsQueries
    join: Any
    left: SqlStream
    right: SqlStream
    kind: str
    is_as_of: bool = False
    keys: list[tuple[str, str]] = field(default_factory=list)
    keys_not_null: list[str] = field(default_factory=list)
    shared: set[str] = field(default_factory=set)
    arguments: dict[str, Any] = field(default_factory=dict)
    pair_conditions: list[Any] = field(default_factory=list)
    where: list[Any] = field(default_factory=list)
    left_columns: dict[str, str] = field(default_factory=dict)
    right_columns: dict[str, str] = field(default_factory=dict)

    def read_as_of(self, version: Any) -> None:
        """Read `FOR SYSTEM_TIME AS OF left.time`: each row of the right stream holds until the next of its key."""
        given = version.expression
        time = self.left.point_time
        source = self.reader.source
        names_left = isinstance(given, exp.Column) and stream_of(given) == self.left.alias.casefold()
        if time is None or not names_left or column_of(given, after=1).casefold() != time.casefold():
            said = f"AS OF names {text_of(given)}, and a row of {self.left.alias} meets what holds at its own time"
            advice = f"write FOR SYSTEM_TIME AS OF {self.left.alias}.{time}"
            if time is None:
                advice = f"{self.left.alias} has to be of points: EVENTS(TABLE ..., DESCRIPTOR(leaves)), without THEN"
            raise source.error(given, said, advice)
        if self.right.time is None:
            said = f"rows of {self.right.alias} have ends, so they say themselves how long they hold"
            raise source.error(version, said, "leave FOR SYSTEM_TIME AS OF out, or DESCRIPTOR(start) alone")
        self.right.bases[0]["edge"] = True
        self.is_as_of = True

    def read_conditions(self, where: Any) -> None:
        """Read ON or USING, and WHERE."""
        bounds = TimeBounds(self.reader.source, self.left, self.right)
        for part in self.join.args.get("using") or ():
            self.keys.append((column_of(part), column_of(part)))
            self.keys_not_null.append(column_of(part))
        for part in _conjuncts(self.join.args.get("on")):
            self._read_on(part, bounds)
        for part in _conjuncts(None if where is None else where.this):
            self._read_where(part, bounds)
        self.right.steps += bounds.steps()
        self._set_keys()
        self._set_windows()
        if self.pair_conditions and self.kind != "inner" and not self.is_as_of:
            self._refuse_pair_condition(self.pair_conditions[0])

    def _read_on(self, part: Any, bounds: TimeBounds) -> None:
        """Read one condition that pairs have to meet."""
        sides = self._sides(part)
        name = _function(part)
        if name is not None and "on" not in self.arguments and (len(sides) == 2 or "." in name):
            self.arguments["on"] = self._call(part, name)
        elif len(sides) == 2 and not self.is_as_of and bounds.reads_both_times(part):
            bounds.take(part)
        elif len(sides) == 2 and (pair := self._equal_columns(part)) is not None:
            self._read_equal(part, pair)
        elif sides == [self.right]:
            self.right.keep(self.reader.column(part, self.right.alias), part, self.reader.source)
        elif sides == [self.left]:
            self._read_left_condition(part)
        elif isinstance(part, exp.Boolean) and part.this:
            return  # ON TRUE
        else:
            self.pair_conditions.append(part)

    def _read_equal(self, part: Any, pair: tuple[str, str]) -> None:
        """Read two equal columns: keys, or an end of windows that both streams have."""
        if pair[0] == pair[1] and pair[0].lower() in _WINDOW:
            self.shared.add(pair[0].lower())
            return
        self.keys.append(pair)
        if isinstance(part, exp.EQ):
            self.keys_not_null.append(pair[1])

    def _read_left_condition(self, part: Any) -> None:
        """Read a condition on the left stream alone.

        A left join and an anti join keep left events that do not meet it. A key lets these meet nothing: it is true or
        false on the left, and always true on the right.
        """
        condition = self.reader.column(part, self.left.alias)
        if self.kind in ("inner", "semi"):
            self.left.keep(condition, part, self.reader.source)
        else:
            self.keys.append((is_true(condition), ALWAYS))

    def _read_where(self, part: Any, bounds: TimeBounds) -> None:
        """Read a condition that stands in WHERE: for an inner join it could as well stand in ON."""
        sides = self._sides(part)
        if self.kind == "inner" and not (self.is_as_of and len(sides) == 2):
            self._read_on(part, bounds)  # equal columns are no keys of versions, which go on for each key
        elif sides == [self.left]:
            self.left.keep(self.reader.column(part, self.left.alias), part, self.reader.source)
        elif self.kind in ("semi", "anti"):
            said = f"WHERE reads {self.right.alias}, and {_WORDS[self.kind]} has no rows of it"
            raise self.reader.source.error(part, said, f"write it in ON: AND {text_of(part)}")
        else:
            self.where.append(part)

    def _sides(self, node: Any) -> list[SqlStream]:
        """Return the streams whose columns an expression reads."""
        names = set()
        for column in [node] if isinstance(node, exp.Column) else list(node.find_all(exp.Column)):
            name = stream_of(column)
            if name in (self.left.alias.casefold(), self.right.alias.casefold()):
                names.add(name)
            elif name != "lifetime" and not _is_lifetime(column):
                said = f"{text_of(column)} does not say of which stream it is"
                advice = f"write {self.left.alias}.{column.name} or {self.right.alias}.{column.name}"
                raise self.reader.source.error(column, said, advice)
        return [stream for stream in (self.left, self.right) if stream.alias.casefold() in names]

    def _equal_columns(self, part: Any) -> tuple[str, str] | None:
        """Return the expressions of the left and of the right stream that an equality compares; None if it is none."""
        if not isinstance(part, exp.EQ | exp.NullSafeEQ):
            return None
        expressions: dict[str, str] = {}
        for node in (part.this, part.expression):
            sides = self._sides(node)
            if len(sides) != 1:
                return None
            expressions[sides[0].alias] = self.reader.column(node, sides[0].alias)
        return expressions[self.left.alias], expressions[self.right.alias]

    def _call(self, part: Any, name: str) -> dict[str, Any]:
        """Return the call of a function of both streams, as the data of a query has it."""
        call = part.expression if isinstance(part, exp.Dot) else part
        data: dict[str, Any] = {"function": name, "left": [], "right": []}
        for argument in call.expressions:
            if isinstance(argument, exp.Kwarg):
                parameters = data.setdefault("parameters", {})
                parameters[argument.this.name] = value_of(argument.expression, self.reader.source)
                continue
            sides = self._sides(argument)
            if len(sides) != 1:
                said = f"{text_of(argument)} is not of one stream"
                advice = f"give {name} columns of {self.left.alias}, then columns of {self.right.alias}"
                raise self.reader.source.error(argument, said, f"{advice}; parameters have names: within => 5")
            if sides[0] is self.left and data["right"]:
                said = f"columns of {self.left.alias} come first"
                raise self.reader.source.error(argument, said, f"write those of {self.right.alias} after them")
            side = "left" if sides[0] is self.left else "right"
            data[side].append(self.reader.column(argument, sides[0].alias))
        return data

    def _set_keys(self) -> None:
        """Give both streams the keys that ON compares."""
        source = self.reader.source
        if self.keys_not_null:  # null equals nothing in SQL, and is a key like any other in streams
            self.right.keep(never_null(self.keys_not_null), self.join, source)
        left_keys = [key for key, _ in self.keys]
        right_keys = [key for _, key in self.keys]
        for stream, keys in ((self.left, left_keys), (self.right, right_keys)):
            named = stream.keys
            if named is not None and named != keys:
                said = f"{stream.alias} has the keys {', '.join(named)}, and ON has {', '.join(keys) or 'none'}"
                raise source.error(self.join, said, "leave PARTITION BY out: the equal columns of ON are the keys")
            if keys:
                stream.keys = keys

    def _set_windows(self) -> None:
        """Let the streams meet in the windows that ON compares."""
        source = self.reader.source
        left = self.left.window
        right = self.right.window
        if left is None and right is None and not self.shared:
            return
        if left is None or left != right or self.shared != {*_WINDOW}:
            said = "two streams meet in their windows, and these are others"
            ends = [f"{self.left.alias}.{end} = {self.right.alias}.{end}" for end in _WINDOW]
            advice = f"give both the same function, and write ON ... AND {' AND '.join(ends)}"
            raise source.error(self.join, said, f"{advice}; without windows: EVENTS(...)")
        if left["kind"] not in ("tumbling", "calendar") or {"hop", "reach"} & left.keys():
            said = "rows share several windows, and SQL has a row for each, where same_window has one for all"
            raise source.error(
                self.join, said, "join in TUMBLE or CALENDAR, or write it in Python: join(..., same_window=...)"
            )
        self.arguments["same_window"] = left

    def _refuse_pair_condition(self, part: Any) -> None:
        """Refuse a condition that only pairs can be tested for, where rows without a pair are wanted too."""
        said = f"{text_of(part)} is of both streams, and {_WORDS[self.kind]} has to know it before it finds pairs"
        advice = "equal columns are keys; other conditions are a plugin's function: AND my.near(r.x, s.x, within => 5)"
        if self.left.time is None or self.right.time is None:
            advice += "\nrows with a start and an end meet where they overlap, without a condition"
        raise self.reader.source.error(part, said, advice)

    def read_columns(self, tree: Any) -> dict[str, str] | None:
        """Read the columns of SELECT into those of each stream; return the results' if they are not in that order."""
        source = self.reader.source
        keys = self.left.keys or []
        chosen: dict[str, str] = {}
        plain: list[tuple[str, Any]] = []
        mixed: list[tuple[str, Any]] = []
        for node in tree.expressions:
            body = node.unalias()
            if isinstance(body, exp.Star) or (isinstance(body, exp.Column) and isinstance(body.this, exp.Star)):
                advice = f"write SELECT {self.left.alias}.km, {self.right.alias}.km"
                raise source.error(node, "a join names its columns", advice)
            name = node.alias or (body.name if isinstance(body, exp.Column) else "")
            if not name:
                raise source.error(node, f"{text_of(node)} has no name", "write ... AS ratio")
            if name in chosen:
                raise source.error(node, f"two columns are called {name}", "name one of them otherwise with AS")
            refuse_other_rows(source, body)
            refuse_aggregates(source, body)
            chosen[name] = name
            (plain if self._is_of_one_stream(body) else mixed).append((name, body))
        for name, body in plain:
            (stream,) = self._sides(body)
            text = self.reader.column(body, stream.alias)
            if stream is self.left and text in keys:
                chosen[name] = text
            else:
                (self.left_columns if stream is self.left else self.right_columns)[name] = text
        for name, body in mixed:
            chosen[name] = self._over_results(body)
        if self.pair_conditions and self.kind == "left":
            self._hide_other_versions(chosen)
        natural = [*keys, "lifetime", *self.left_columns, *self.right_columns]
        is_natural = list(chosen.items()) == [(name, name) for name in natural]
        return None if is_natural and not self.where and not self.pair_conditions else chosen

    def _is_of_one_stream(self, body: Any) -> bool:
        """Return True for an expression that one stream has before the join."""
        columns = [body] if isinstance(body, exp.Column) else list(body.find_all(exp.Column))
        if any(_is_lifetime(column) or self._end_of_window(column) for column in columns):
            return False
        return len(self._sides(body)) == 1

    def _hide_other_versions(self, chosen: dict[str, str]) -> None:
        """Replace the columns of a version that does not meet ON by null, as a left join has no row for it."""
        for name, text in chosen.items():
            if text == name and name in self.right_columns:
                chosen[name] = self._if_met(name)

    def _if_met(self, name: str) -> str:
        """Return a column of the right stream, null where the conditions on both streams are not met."""
        column = spell_name(name)
        if not self.pair_conditions or self.kind != "left":
            return column
        return f"CASE WHEN {self._pairs_met()} THEN {column} END"

    def _pairs_met(self) -> str:
        """Return the conditions on both streams as one on the results."""
        return " AND ".join(f"({self._over_results(part, is_pair=True)})" for part in self.pair_conditions)

    def _over_results(self, node: Any, *, is_pair: bool = False) -> str:
        """Return an expression of both streams as one over the results, which get the columns that it reads.

        Args:
            node: The expression.
            is_pair: True for a condition that says itself whether a right row is met.
        """
        self._sides(node)  # refuses columns of neither
        changes = []
        for column in [node] if isinstance(node, exp.Column) else list(node.find_all(exp.Column)):
            if _is_lifetime(column):
                continue
            if end := self._end_of_window(column):
                changes.append((column, end))
                continue
            is_left = stream_of(column) == self.left.alias.casefold()
            text = column_of(column, after=1)
            if is_left and text in (self.left.keys or ()):
                changes.append((column, spell_name(text.strip("`"))))
                continue
            name = self._result_column(self.left_columns if is_left else self.right_columns, text, column)
            changes.append((column, spell_name(name) if is_left or is_pair else self._if_met(name)))
        return self.reader.source.edited(node, changes)

    def _end_of_window(self, column: Any) -> str | None:
        """Return the end of the shared window that a column is, as the results have it; None for another column."""
        name = column.name.lower()
        if "same_window" not in self.arguments or len(column.parts) != 2 or name not in _ENDS:
            return None
        if stream_of(column) == self.right.alias.casefold() and self.kind != "inner":
            said = f"{text_of(column)} is null where {self.right.alias} has no row"
            raise self.reader.source.error(column, said, f"write {self.left.alias}.{name}")
        return _ENDS[name]

    def _result_column(self, columns: dict[str, str], text: str, node: Any) -> str:
        """Return the name of a column of the results that is a column of a stream; it is added if there is none."""
        for name, present in columns.items():
            if present == text:
                return name
        alias = node.parts[0].name
        plain = re.sub(r"\W+", "_", text)
        for name in _free_names(plain, alias):
            taken = {*self.left_columns, *self.right_columns, *(self.left.keys or ()), "lifetime"}
            if name not in taken:
                columns[name] = text
                return name
        raise AssertionError("there is always another number")

    def condition_on_results(self) -> str | None:
        """Return what results have to meet; None if they need not meet anything."""
        parts = [self._over_results(part) for part in self.where]
        for part in self.where:
            refuse_other_rows(self.reader.source, part)
            refuse_aggregates(self.reader.source, part)
        if self.pair_conditions and self.kind in ("inner", "semi"):
            parts.append(self._pairs_met())
        elif self.pair_conditions and self.kind == "anti":
            parts.append(f"NOT coalesce({self._pairs_met()}, false)")
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else " AND ".join(f"({part})" for part in parts)

    def steps(self, tree: Any, chosen: dict[str, str] | None, condition: str | None) -> Steps:
        """Return the steps of the whole query."""
        source = self.reader.source
        how = self.kind
        if self.pair_conditions:  # of versions: each left point has at most one, which the results are tested for
            how = {"semi": "inner", "anti": "left"}.get(how, how)
        arguments: dict[str, Any] = {"how": how, **self.arguments}
        if not self.left_columns and not self.right_columns:  # a join has a column besides its keys
            unused = next(name for name in _free_names("is_met", self.left.alias) if name not in (chosen or ()))
            chosen = chosen or {name: name for name in (*(self.left.keys or ()), "lifetime")}
            self.left_columns[unused] = ALWAYS
        if self.left_columns:
            arguments["left_columns"] = self.left_columns
        if self.right_columns:
            arguments["right_columns"] = self.right_columns
        arguments |= self.reader.clauses(tree)
        steps = [*self.left.steps, {"join": source.mark({"right": self.right.steps, **arguments}, self.join, tree)}]
        if condition is not None:
            node = tree.args.get("where") or self.join.args.get("on") or self.join
            steps.append({"where": source.mark({"condition": condition}, node)})
        if chosen is not None:
            steps.append({"select": source.mark({"columns": chosen}, tree.expressions[0], tree)})
        return steps


def _conjuncts(condition: Any) -> Iterator[Any]:
    """Yield the conditions that AND joins."""
    if condition is None:
        return
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.this)
        yield from _conjuncts(inner.expression)
    else:
        yield inner


def _is_lifetime(column: Any) -> bool:
    """Return True for `lifetime`, the column of the results, and for its fields."""
    return str(column.parts[0].name).casefold() == "lifetime"


def _function(part: Any) -> str | None:
    """Return the name of a called function that Spark need not know; None for another condition."""
    if isinstance(part, exp.Dot) and isinstance(part.expression, exp.Anonymous):
        return name_of(part)
    return part.name if isinstance(part, exp.Anonymous) else None


def _free_names(name: str, alias: str) -> Iterator[str]:
    """Yield names for a column, the plainest first."""
    yield name
    yield f"{alias}_{name}"
    number = 2
    while True:
        yield f"{alias}_{name}_{number}"
        number += 1
