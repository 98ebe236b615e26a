"""Joins of two streams: keys that are equal, and lifetimes that overlap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from sqlglot import exp

from muntin_engine.sql_text.clauses import JOINS
from muntin_engine.sql_text.join_columns import ALWAYS, JoinColumns, JoinedStreams
from muntin_engine.sql_text.refusals import refuse_aggregates, refuse_other_rows, refuse_unread
from muntin_engine.sql_text.sql_source import SqlText
from muntin_engine.sql_text.sql_values import add_argument, column_of, name_of, stream_of, text_of
from muntin_engine.sql_text.step_forms import Steps
from muntin_engine.sql_text.stream_reading import ReadsQueries, SqlStream
from muntin_engine.sql_text.time_bounds import TimeBounds
from muntin_engine.sql_text.window_functions import may_overlap

_KINDS: Final = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("", "CROSS"): "inner",  # a comma between two streams is a cross join too
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
    ("LEFT", "SEMI"): "semi",
    ("", "SEMI"): "semi",
    ("LEFT", "ANTI"): "anti",
    ("", "ANTI"): "anti",
}
"""The kinds of joins, as `how` names them, by the words before JOIN: the side and the kind."""

_WINDOW: Final = ("window_start", "window_end")


def read_join(reader: ReadsQueries, tree: Any, table: Any) -> Steps:
    """Return the steps of a query that joins two streams.

    Args:
        reader: Reads the rest of the query.
        tree: The SELECT.
        table: The table of its FROM clause.

    Raises:
        SqlError: The query does not join two streams, or has a part that joins of streams do not have.
    """
    source = reader.source
    join = tree.args["joins"][0]
    if len(tree.args["joins"]) > 1:
        third = tree.args["joins"][1]
        name = third.alias_or_name or "s"
        joined = "FROM EVENTS(TABLE (SELECT ... JOIN ...)) AS j"
        advice = f"join the results: {joined} JOIN EVENTS(TABLE {name}, ...) AS {name} ON ..."
        raise source.error(third, "a query joins two streams", advice)
    kind = _KINDS.get((join.side, join.kind))
    if kind is None:
        fact = f"there is no {join.side} {join.kind} JOIN of streams".replace("  ", " ")
        advice = "write JOIN, LEFT JOIN, LEFT SEMI JOIN or LEFT ANTI JOIN; a RIGHT one turned round"
        raise source.error(join, fact, advice)

    # The two streams.
    left = reader.stream(_stream_table(reader, table))
    right_table = _stream_table(reader, join.this)
    right = reader.stream(right_table)
    if not left.alias or not right.alias or left.alias.casefold() == right.alias.casefold():
        raise source.error(join, "both streams need a name of their own", "write EVENTS(TABLE rides, ...) AS r")
    if version := table.args.get("version"):
        raise source.error(version, "FOR SYSTEM_TIME AS OF is of the right stream", "write it before AS s")

    # The conditions by which their events meet.
    reading = _JoinReading(reader, join, JoinedStreams(reader, left, right), kind)
    if version := right_table.args.get("version"):
        reading.read_as_of(version)
    reading.read_conditions(tree.args.get("where"))
    for part in ("group", "having"):
        if tree.args.get(part):
            fact = "a join has no windows to group by"
            advice = "read it as a stream: FROM TUMBLE(TABLE (SELECT ... JOIN ...), INTERVAL '1' HOUR)"
            raise source.error(tree.args[part], fact, advice)
    return reading.steps(tree)


def never_null(keys: Iterable[str]) -> str:
    """Return a condition that no key of a stream is null.

    Null is a key like any other for streams, but equals nothing in SQL.

    Args:
        keys: The keys, as expressions; at least one.
    """
    conditions: list[str] = []
    for key in keys:
        is_name = key.replace("`", "").replace(".", "_").isidentifier()
        conditions.append(f"{key if is_name else f'({key})'} IS NOT NULL")
    return " AND ".join(conditions)


def is_true(condition: str) -> str:
    """Return a condition that is false instead of null, and else the same."""
    has_no_null = condition.startswith("COALESCE(") and condition.endswith(", FALSE)")
    return condition if has_no_null else f"COALESCE({condition}, FALSE)"


def _stream_table(reader: ReadsQueries, side: Any) -> Any:
    """Return the window function that one side of a join reads, with the name of the side.

    Args:
        reader: Reads the rest of the query.
        side: The node of the side.

    Raises:
        SqlError: The side is a table, or reads the results of a query.
    """
    is_function = isinstance(side, exp.Table) and not isinstance(side.this, exp.Identifier)  # a name is an identifier
    if is_function:
        return side
    if isinstance(side, exp.Subquery):
        function = _selected_function(side)
        if function is not None:
            refuse_unread(reader.source, side, side.this, function, *side.this.expressions)
            # The side is known by the alias of the query around the function.
            with_alias = function.copy()
            with_alias.set("alias", side.args.get("alias"))
            return with_alias
    name = side.alias_or_name or "s"
    if reader.is_streaming(side):
        inner = side.name or f"({text_of(side.this)})"
        raise reader.source.error(side, f"{name} has results of windows", f"write EVENTS(TABLE {inner}) AS {name}")
    advice = (
        f"a stream is EVENTS(TABLE {name}, DESCRIPTOR(since)) AS {name}\n"
        "a table without times is joined before: TABLE (SELECT ... JOIN ...)"
    )
    raise reader.source.error(side, f"{name} is a table, and a stream meets streams", advice)


def _selected_function(side: Any) -> Any:
    """Return the function of `(SELECT * FROM TUMBLE(...)) AS r`, as Flink writes a side of a join; else None.

    Args:
        side: The node of a query in parentheses.
    """
    select = side.this
    if not isinstance(select, exp.Select) or not select.args.get("from_"):
        return None
    selects_all = len(select.expressions) == 1 and isinstance(select.expressions[0], exp.Star)
    # "kind" is that of SELECT AS STRUCT, which the caller refuses with a message of its own: see `refuse_unread`.
    has_more = any(part for name, part in select.args.items() if name not in ("expressions", "from_", "kind"))
    table = select.args["from_"].this
    is_function = isinstance(table, exp.Table) and not isinstance(table.this, exp.Identifier)
    return table if selects_all and is_function and not has_more else None


class _KeyPair(NamedTuple):
    """A key of both streams, by which their events meet.

    Attributes:
        left: The key as an expression over the left stream.
        right: The key as an expression over the right stream.
    """

    left: str
    right: str


@dataclass
class _JoinReading:
    """Reads the conditions of one join.

    Each condition of ON and WHERE becomes a part of the query that means the same:

    - Equal columns of both streams are keys.
    - Bounds on how far apart the times are become lifetimes.
    - A condition on one stream is a filter of its events. Where left events that do not meet it have to stay, as in a
      left join, it is a key instead.
    - Any other condition on both streams is a condition on the results.

    Attributes:
        reader: Reads the rest of the query.
        join: The node of the join.
        streams: The left and the right stream.
        kind: The kind of join, as `how` names it.
        is_as_of: True if a left point meets at most the one right row that holds at its time.
        keys: The keys by which events meet.
        keys_not_null: The keys of the right stream that are compared by `=`, for which null equals nothing.
        shared_ends: Of `window_start` and `window_end` those that ON compares.
        arguments: The arguments of the call of `join` so far.
        pair_conditions: The conditions of ON on both streams that only the results can be tested for.
        where: The conditions of WHERE that the results are tested for.
    """

    reader: ReadsQueries
    join: Any
    streams: JoinedStreams
    kind: str
    is_as_of: bool = False
    keys: list[_KeyPair] = field(default_factory=list)
    keys_not_null: list[str] = field(default_factory=list)
    shared_ends: set[str] = field(default_factory=set)
    arguments: dict[str, Any] = field(default_factory=dict)
    pair_conditions: list[Any] = field(default_factory=list)
    where: list[Any] = field(default_factory=list)

    @property
    def source(self) -> SqlText:
        """The text."""
        return self.reader.source

    @property
    def left(self) -> SqlStream:
        """The left stream."""
        return self.streams.left

    @property
    def right(self) -> SqlStream:
        """The right stream."""
        return self.streams.right

    def read_as_of(self, version: Any) -> None:
        """Read `FOR SYSTEM_TIME AS OF left.time`: each row of the right stream holds until the next one of its key.

        Args:
            version: The node of the clause.

        Raises:
            SqlError: The clause does not name the times of the left stream, or rows of the right one have ends.
        """
        column = version.expression
        time = self.left.point_time
        if time is None:  # left events are no points
            fact = f"AS OF names {text_of(column)}, and a row of {self.left.alias} meets what holds at its own time"
            advice = f"{self.left.alias} has to be of points: EVENTS(TABLE ..., DESCRIPTOR(leaves)), without THEN"
            raise self.source.error(column, fact, advice)
        is_of_left = isinstance(column, exp.Column) and stream_of(column) == self.left.alias.casefold()
        column_name = column_of(column, after=1)  # without the alias of the stream
        if not is_of_left or column_name.casefold() != time.casefold():
            fact = f"AS OF names {text_of(column)}, and a row of {self.left.alias} meets what holds at its own time"
            raise self.source.error(column, fact, f"write FOR SYSTEM_TIME AS OF {self.left.alias}.{time}")
        if self.right.time is None:  # its events have a start and an end
            fact = f"rows of {self.right.alias} have ends, so they say themselves how long they hold"
            raise self.source.error(version, fact, "leave FOR SYSTEM_TIME AS OF out, or DESCRIPTOR(start) alone")
        # As an argument of `events`, `edge` makes the rows samples, each of which lasts until the next one of its key.
        for arguments in self.right.arguments_of_events:
            arguments["edge"] = True
        self.is_as_of = True

    def read_conditions(self, where: Any) -> None:
        """Read ON or USING, and WHERE, and give both streams the keys, lifetimes and windows that follow from them.

        Args:
            where: The node of WHERE; None without it.

        Raises:
            SqlError: A condition cannot be a condition of such a join.
        """
        bounds = TimeBounds(self.source, self.left, self.right)
        for part in self.join.args.get("using") or ():
            name = column_of(part)
            self.keys.append(_KeyPair(left=name, right=name))
            self.keys_not_null.append(name)  # USING compares by `=`, for which null equals nothing
        for part in _conjuncts(self.join.args.get("on")):
            self._read_on(part, bounds)
        for part in _conjuncts(None if where is None else where.this):
            self._read_where(part, bounds)

        self.right.steps += bounds.steps()  # bounds make the points of the right stream last longer
        self._set_keys()
        self._set_windows()
        # The results of an inner join are filtered by such conditions. Other joins return left events without a right
        # one, so they have to know the conditions before they find pairs. But with AS OF a left point has at most one
        # right event, and the results can be tested: see `steps`.
        if self.pair_conditions and self.kind != "inner" and not self.is_as_of:
            self._refuse_pair_condition(self.pair_conditions[0])

    def _read_on(self, part: Any, bounds: TimeBounds) -> None:
        """Read one of the conditions of ON that AND connects.

        Args:
            part: The condition.
            bounds: The bounds on times so far; those that the condition sets are added.
        """
        streams = self.streams.read_by(part)
        is_of_both = len(streams) == 2
        # The argument `on` of the join takes one call of a function that Spark does not know. The name of a plugin's
        # function has a dot. Without a dot it is taken for such a function if it reads both streams. If it reads one
        # stream alone, it may be a function of the session of Spark: then it filters that stream like other conditions.
        function = _function_name(part)
        is_function = function is not None and "on" not in self.arguments and (is_of_both or "." in function)
        if function is not None and is_function:
            self.arguments["on"] = self._function_call(part, function)
            return
        if is_of_both:
            self._read_on_of_both(part, bounds)
        elif streams == [self.right]:
            self.right.keep(self.reader.column(part, self.right.alias), part, self.source)
        elif streams == [self.left]:
            self._read_left_condition(part)
        else:  # a constant, which reads no stream
            is_always_true = isinstance(part, exp.Boolean) and part.this  # ON TRUE
            if not is_always_true:
                self.pair_conditions.append(part)

    def _read_on_of_both(self, part: Any, bounds: TimeBounds) -> None:
        """Read a condition of ON that reads both streams: bounds on times, an equality, or any other one.

        Args:
            part: The condition.
            bounds: The bounds on times so far; those that the condition sets are added.
        """
        # With AS OF the right stream is one of samples, so no condition reads the times of two streams of points.
        if bounds.reads_both_times(part):
            bounds.add(part)
            return
        pair = self._equal_columns(part)
        if pair is None:
            self.pair_conditions.append(part)
        elif pair.left == pair.right and pair.left.lower() in _WINDOW:
            # `r.window_start = s.window_start`, so events meet in the windows that they share: see `_set_windows`.
            self.shared_ends.add(pair.left.lower())
        else:
            self.keys.append(pair)
            if isinstance(part, exp.EQ):  # and not `<=>`, for which null equals null
                self.keys_not_null.append(pair.right)

    def _read_left_condition(self, part: Any) -> None:
        """Read a condition of ON on the left stream alone.

        For inner and semi joins it filters the left events. A left join and an anti join have to keep those that do not
        meet it, without a right event. There the condition becomes a key, which is true or false for left events and
        always true for right ones.
        """
        condition = self.reader.column(part, self.left.alias)
        if self.kind in ("inner", "semi"):
            self.left.keep(condition, part, self.source)
        else:
            self.keys.append(_KeyPair(left=is_true(condition), right=ALWAYS))

    def _read_where(self, part: Any, bounds: TimeBounds) -> None:
        """Read one of the conditions of WHERE that AND connects. Of an inner join it means the same as in ON.

        Args:
            part: The condition.
            bounds: The bounds on times so far; those that the condition sets are added.
        """
        streams = self.streams.read_by(part)
        # With AS OF an equality means something else in WHERE than in ON. In ON it is a key, and a right row holds
        # until the next one of its key; in WHERE it only tests the results.
        is_like_on = self.kind == "inner" and not (self.is_as_of and len(streams) == 2)
        if is_like_on:
            self._read_on(part, bounds)
        elif streams == [self.left]:
            self.left.keep(self.reader.column(part, self.left.alias), part, self.source)
        elif self.kind in ("semi", "anti"):
            fact = f"WHERE reads {self.right.alias}, and {JOINS[self.kind]} has no rows of it"
            raise self.source.error(part, fact, f"write it in ON: AND {text_of(part)}")
        else:
            self.where.append(part)

    def _equal_columns(self, part: Any) -> _KeyPair | None:
        """Return the key that a condition compares: an expression of each stream. None for a condition of another form.

        Args:
            part: The condition, which reads both streams.
        """
        if not isinstance(part, exp.EQ | exp.NullSafeEQ):
            return None
        expressions: dict[str, str] = {}  # by the alias of their stream
        for node in (part.this, part.expression):
            streams = self.streams.read_by(node)
            if len(streams) != 1:
                return None
            alias = streams[0].alias
            expressions[alias] = self.reader.column(node, alias)
        # The condition reads both streams, and each of its sides only one: so each stream has one side.
        return _KeyPair(left=expressions[self.left.alias], right=expressions[self.right.alias])

    def _function_call(self, part: Any, name: str) -> dict[str, Any]:
        """Return the call of a function as data, which is the argument `on` of the join.

        Args:
            part: The node of the call.
            name: The name of the function.

        Raises:
            SqlError: An argument is not of one stream, those of the left stream do not come first, or a parameter is
                given twice.
        """
        call = part.expression if isinstance(part, exp.Dot) else part
        data: dict[str, Any] = {"function": name, "left": [], "right": []}
        for argument in call.expressions:
            if isinstance(argument, exp.Kwarg):
                parameters = data.setdefault("parameters", {})
                add_argument(parameters, argument.this.name, argument, self.source)
                continue
            streams = self.streams.read_by(argument)
            if len(streams) != 1:
                fact = f"{text_of(argument)} is not of one stream"
                advice = f"give {name} columns of {self.left.alias}, then columns of {self.right.alias}"
                raise self.source.error(argument, fact, f"{advice}; parameters have names: within => 5")
            side = "left" if streams[0] is self.left else "right"
            if side == "left" and data["right"]:
                fact = f"columns of {self.left.alias} come first"
                raise self.source.error(argument, fact, f"write those of {self.right.alias} after them")
            data[side].append(self.reader.column(argument, streams[0].alias))
        return data

    def _set_keys(self) -> None:
        """Give both streams the keys that ON compares.

        Raises:
            SqlError: A stream has a PARTITION BY with other keys.
        """
        # Null equals nothing in SQL, but two null keys of streams are equal. So events with a null key are left out of
        # one of the streams.
        if self.keys_not_null:
            self.right.keep(never_null(self.keys_not_null), self.join, self.source)
        left_keys = [key.left for key in self.keys]
        right_keys = [key.right for key in self.keys]
        for stream, keys in ((self.left, left_keys), (self.right, right_keys)):
            partition_keys = stream.keys
            if partition_keys is not None and partition_keys != keys:
                partition = ", ".join(partition_keys)
                fact = f"{stream.alias} has the keys {partition}, and ON has {', '.join(keys) or 'none'}"
                advice = "leave PARTITION BY out: the equal columns of ON are the keys"
                raise self.source.error(self.join, fact, advice)
            if keys:
                stream.keys = keys

    def _set_windows(self) -> None:
        """Add the argument `same_window`, by which events meet in the windows that they share.

        It is added if both streams have the same windows and ON compares their ends. Without windows nothing is added.

        Raises:
            SqlError: The streams have different windows, windows that overlap, or ON does not compare both ends.
        """
        window = self.left.window
        if window is None and self.right.window is None and not self.shared_ends:
            return
        if window is None or window != self.right.window or self.shared_ends != {*_WINDOW}:
            fact = "two streams meet in their windows, and these are others"
            ends = [f"{self.left.alias}.{end} = {self.right.alias}.{end}" for end in _WINDOW]
            advice = f"give both the same function, and write ON ... AND {' AND '.join(ends)}"
            raise self.source.error(self.join, fact, f"{advice}; without windows: EVENTS(...)")
        if may_overlap(window):
            fact = "rows share several windows, and SQL has a row for each, where same_window has one for all"
            advice = "join in TUMBLE or CALENDAR, or write it in Python: join(..., same_window=...)"
            raise self.source.error(self.join, fact, advice)
        self.arguments["same_window"] = window

    def _refuse_pair_condition(self, part: Any) -> None:
        """Refuse a condition that only pairs can be tested for, in a join that has results without a pair as well.

        Raises:
            SqlError: Always.
        """
        outer_join = JOINS[self.kind]
        fact = f"{text_of(part)} is of both streams, and {outer_join} has to know it before it finds pairs"
        advice = "equal columns are keys; other conditions are a plugin's function: AND my.near(r.x, s.x, within => 5)"
        if self.left.time is None or self.right.time is None:
            advice += "\nrows with a start and an end meet where they overlap, without a condition"
        raise self.source.error(part, fact, advice)

    def steps(self, tree: Any) -> Steps:
        """Return the steps of the whole query, once the conditions are read.

        Args:
            tree: The SELECT.
        """
        shares_windows = "same_window" in self.arguments
        columns = JoinColumns(
            self.streams, self.kind, shares_windows=shares_windows, pair_conditions=self.pair_conditions
        )
        selected = columns.read(tree)
        # No selection is needed for the columns that the join returns by itself. But conditions on the results may add
        # columns to the join, which nobody has selected.
        is_natural = columns.is_natural(selected) and not self.where and not self.pair_conditions
        selection = None if is_natural else selected
        condition = self._condition_on_results(columns)

        # Conditions on both streams are tested on the results. Those of a semi or an anti join have no columns of the
        # right event. But with AS OF a left point has at most one right event. So a semi join is an inner join whose
        # results meet the conditions, and an anti join is a left join whose results do not. Without AS OF
        # `read_conditions` has refused such conditions.
        how = self.kind
        if self.pair_conditions:
            how = {"semi": "inner", "anti": "left"}.get(how, how)
        arguments: dict[str, Any] = {"how": how, **self.arguments}
        if not columns.left and not columns.right:
            # A join must have a column besides its keys: give it `is_met`. The selection leaves that column out.
            if not selection:
                keys = self.left.keys or []
                selection = {name: name for name in [*keys, "lifetime"]}
            columns.add_constant("is_met", used_names=selection)
        if columns.left:
            arguments["left_columns"] = columns.left
        if columns.right:
            arguments["right_columns"] = columns.right
        arguments |= self.reader.clauses(tree)

        join = self.source.mark({"right": self.right.steps, **arguments}, self.join, tree)
        steps = [*self.left.steps, {"join": join}]
        if condition is not None:
            node = tree.args.get("where") or self.join.args.get("on") or self.join
            steps.append({"where": self.source.mark({"condition": condition}, node)})
        if selection is not None:
            steps.append({"select": self.source.mark({"columns": selection}, tree.expressions[0], tree)})
        return steps

    def _condition_on_results(self, columns: JoinColumns) -> str | None:
        """Return the condition that results have to meet; None if there is none."""
        conditions = [columns.over_results(part) for part in self.where]
        for part in self.where:
            refuse_other_rows(self.source, part)
            refuse_aggregates(self.source, part)
        if self.pair_conditions and self.kind in ("inner", "semi"):
            conditions.append(columns.pairs_met())
        elif self.pair_conditions and self.kind == "anti":
            conditions.append(f"NOT coalesce({columns.pairs_met()}, false)")
        # A left join keeps left events that do not meet the conditions: `columns` makes the right columns null there.
        if not conditions:
            return None
        if len(conditions) == 1:
            return conditions[0]
        return " AND ".join(f"({condition})" for condition in conditions)


def _conjuncts(condition: Any) -> Iterator[Any]:
    """Yield the conditions that AND connects in a condition; none for None."""
    if condition is None:
        return
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.this)
        yield from _conjuncts(inner.expression)
    else:
        yield inner


def _function_name(part: Any) -> str | None:
    """Return the name of the function that a condition calls, if it is none of Spark's; None for another condition."""
    if isinstance(part, exp.Dot) and isinstance(part.expression, exp.Anonymous):
        return name_of(part)
    return part.name if isinstance(part, exp.Anonymous) else None
