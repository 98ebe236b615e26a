"""The everyday half of MATCH_RECOGNIZE: one row followed by another, at once or with rows between, within a time.

It is `patterns.followed_without`: rows that are A open a match, rows that are B close it, and rows that may not come
between break it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final, NamedTuple

from sqlglot import exp

from muntin import ticks
from muntin.errors import DurationError
from muntin_engine.sql_text.sql_source import SqlText
from muntin_engine.sql_text.sql_values import column_of, length_of, spell_name, text_of
from muntin_engine.sql_text.step_forms import Steps
from muntin_engine.sql_text.stream_reading import ReadsQueries, SqlStream, TimeColumns, function_of

_PATTERN: Final = re.compile(r"(\w+)(?: (\w+) \* \?)? (\w+)")
_MODULE: Final = "patterns.followed_without"
_ADVICE_ON_PATTERNS: Final = "write PATTERN (A B), or PATTERN (A X*? B) with rows between"


def read_match(reader: ReadsQueries, tree: Any, table: Any) -> Steps:
    """Return the steps of a query with MATCH_RECOGNIZE, which looks for two rows in order.

    Args:
        reader: Reads the rest of the query.
        tree: The SELECT.
        table: The table of its FROM clause.

    Raises:
        SqlError: The query looks for something else, or has a clause that is not read with MATCH_RECOGNIZE.
    """
    return _MatchReading(reader, tree).steps(table)


class _Pattern(NamedTuple):
    """The names of the rows of a pattern.

    Attributes:
        first: The name of the first row.
        between: The name of the rows between; None if the second row follows at once.
        second: The name of the second row.
    """

    first: str
    between: str | None
    second: str


class _MatchReading:
    """Reads one MATCH_RECOGNIZE."""

    def __init__(self, reader: ReadsQueries, tree: Any) -> None:
        self._reader = reader
        self._source: SqlText = reader.source
        self._tree = tree
        self._match = tree.args["match"]
        # The conditions of DEFINE by the names of rows. Case does not count in names.
        definitions = self._match.args.get("define") or ()
        self._defined = {definition.alias.casefold(): definition for definition in definitions}

    def steps(self, table: Any) -> Steps:
        """Return the steps of the query.

        Args:
            table: The table or the function of its FROM clause.
        """
        stream = self._stream(table)
        pattern = self._pattern()
        names = [name.casefold() for name in pattern if name is not None]
        for name, definition in self._defined.items():
            if name not in names:
                fact = f"{definition.alias} is not in the pattern"
                raise self._source.error(definition.this, fact, _ADVICE_ON_PATTERNS)
        conditions = self._conditions(pattern)
        measured = self._measured_columns(pattern)
        parameters = {"within": self._within()}
        self._refuse_other_clauses()

        # A match keeps one value of each of its two rows: the column that measures read, or a struct of several.
        has_fields = len(measured) > 1
        kept_value = f"struct({', '.join(map(spell_name, measured))})" if has_fields else measured[0]
        keys = stream.keys or []
        selected = self._selected_columns(keys, pattern, has_fields=has_fields)
        operator = {"module": _MODULE, "columns": [kept_value, *conditions], "parameters": parameters}
        # Errors about keys and orders, which the arguments of `events` have, point at MATCH_RECOGNIZE if FROM reads a
        # table. A function in FROM has marked these arguments before.
        for arguments in stream.arguments_of_events:
            self._source.mark(arguments, self._match)
        apply = self._source.mark({"operator": operator}, self._match)
        select = self._source.mark({"columns": selected}, self._match)
        return [*stream.steps, {"apply": apply}, {"select": select}]

    def _stream(self, table: Any) -> SqlStream:
        """Return the stream whose rows are matched, with the keys and the order of the clause."""
        order = self._order()
        stream = self._ordered_stream(table, order)
        keys = self._keys(stream)
        # Results of a query keep its keys unless others are named.
        if keys or any("as_events" in step for step in stream.steps):
            stream.keys = keys
        further_order = [column_of(part.this) for part in order[1:]]
        if further_order:
            for arguments in stream.arguments_of_events:
                arguments["order"] = further_order if len(further_order) > 1 else further_order[0]
        return stream

    def _order(self) -> list[Any]:
        """Return the nodes of ORDER BY: the time, and perhaps further columns that order rows of one time.

        Raises:
            SqlError: There is no ORDER BY, it is descending, or a part is no column.
        """
        order = self._match.args["order"].expressions if self._match.args.get("order") else []
        for part in order:
            if part.args.get("desc") or not isinstance(part.this, exp.Column):
                fact = f"rows follow one another by {text_of(part)}"
                raise self._source.error(part, fact, "write ORDER BY leaves, line")
        if not order:
            advice = "write ORDER BY and the column of times, and perhaps one that orders rows of the same time"
            raise self._source.error(self._match, "ORDER BY has no time", advice)
        return list(order)

    def _ordered_stream(self, table: Any, order: Sequence[Any]) -> SqlStream:
        """Return the stream that FROM reads.

        Args:
            table: A function, or a table, whose events are points at the times of the first column of ORDER BY.
            order: The nodes of ORDER BY.

        Raises:
            SqlError: The function has windows, or other times than ORDER BY.
        """
        time = order[0].this
        if function_of(table) is None:
            table = table.this if isinstance(table, exp.Subquery) else table
            steps, arguments_of_events = self._reader.events(table, TimeColumns([time], self._match))
            return SqlStream(steps, arguments_of_events, window=None, by_rows=False, function="", node=table)
        stream = self._reader.stream(table)
        if stream.window is not None:
            fact = f"{stream.function} has windows, and rows are matched without"
            raise self._source.error(table, fact, "write FROM EVENTS(TABLE ...) MATCH_RECOGNIZE (...)")
        # Events with a start and an end have no `time` that ORDER BY has to repeat.
        if stream.time not in (None, column_of(time)):
            raise self._source.error(order[0], f"the times are {stream.time}", f"write ORDER BY {stream.time}")
        return stream

    def _keys(self, stream: SqlStream) -> list[str]:
        """Return the columns of PARTITION BY.

        Raises:
            SqlError: A key is no column, or the stream has other keys.
        """
        nodes = self._match.args.get("partition_by") or ()
        for key in nodes:
            if not isinstance(key, exp.Column):
                table_with_key = f"FROM (SELECT *, {text_of(key)} AS k FROM ...)"
                advice = f"name it in the table: {table_with_key} MATCH_RECOGNIZE (... PARTITION BY k ...)"
                raise self._source.error(key, f"{text_of(key)} is no column", advice)
        keys = [column_of(key) for key in nodes]
        if stream.keys not in (None, keys):
            node = nodes[0] if nodes else self._match
            raise self._source.error(node, "PARTITION BY is said twice", "leave one of them out")
        return keys

    def _pattern(self) -> _Pattern:
        """Return the pattern of a match.

        Raises:
            SqlError: The pattern is not two rows in order, or the clauses about rows and matches are not `ONE ROW PER
                MATCH` and `AFTER MATCH SKIP TO NEXT ROW`.
        """
        node = self._match.args.get("pattern")
        parts = None if node is None else _PATTERN.fullmatch(node.name)
        if parts is None:
            fact = f"the pattern {'' if node is None else node.name} is not two rows in order".replace("  ", " ")
            advice = f"{_ADVICE_ON_PATTERNS}; longer ones: patterns.state_machine, or a stream operator of your own"
            raise self._source.error(node or self._match, fact, advice)
        rows = self._match.args.get("rows")
        if rows is not None and rows.name.upper() != "ONE ROW PER MATCH":
            raise self._source.error(rows, f"{rows.name} is not there", "write ONE ROW PER MATCH")
        after = self._match.args.get("after")
        if after is None or after.name.upper() != "AFTER MATCH SKIP TO NEXT ROW":
            fact = "a row that closes a match may open the next one, which is not what SKIP PAST LAST ROW says"
            advice = "write AFTER MATCH SKIP TO NEXT ROW before PATTERN"
            raise self._source.error(after or self._match, fact, advice)
        return _Pattern(first=parts[1], between=parts[2], second=parts[3])

    def _conditions(self, pattern: _Pattern) -> list[str]:
        """Return the conditions by which a row opens a match, closes a match, and breaks a match, in this order.

        A row breaks a match if it may not come between the two rows of the match.
        """
        # A row that closes a match does not break it, so `breaks` is false for such a row. A condition that is null is
        # not met, but NOT of it would be null as well: hence `coalesce`.
        opens = f"coalesce({self._condition(pattern.first)}, false)"
        closes = f"coalesce({self._condition(pattern.second)}, false)"
        if pattern.between is None:
            breaks = f"NOT {closes}"
        elif pattern.between.casefold() in self._defined:
            breaks = f"NOT ({closes} OR coalesce({self._condition(pattern.between)}, false))"
        else:
            breaks = "false"  # any row may come between
        return [opens, closes, breaks]

    def _condition(self, name: str) -> str:
        """Return the condition that DEFINE has for a row of the pattern.

        Args:
            name: The name of the row. If DEFINE has no condition for the name, any row may have it.

        Raises:
            SqlError: The condition compares several rows, or calls a module.
        """
        definition = self._defined.get(name.casefold())
        if definition is None:
            return "true"
        node = definition.this
        for column in node.find_all(exp.Column):
            if column.table and column.table.casefold() != name.casefold():
                fact = f"the condition of {name} reads {column.table}, another row"
                raise self._source.error(column, fact, "compare rows in a stream operator of your own")
        if node.find(exp.Anonymous, exp.AggFunc):
            advice = "compute it in the table: FROM (SELECT *, ... AS x FROM rides) MATCH_RECOGNIZE (...)"
            raise self._source.error(node, f"the condition of {name} calls {text_of(node)}", advice)
        return f"({self._reader.column(node, name)})"

    def _measured_columns(self, pattern: _Pattern) -> list[str]:
        """Return the columns that MEASURES reads of the two rows, whose values a match has to keep.

        Raises:
            SqlError: There are none, or one is not of a row of the pattern.
        """
        names: list[str] = []
        for measure in self._match.args.get("measures") or ():
            for column in measure.find_all(exp.Column):
                if column.table.casefold() not in (pattern.first.casefold(), pattern.second.casefold()):
                    fact = f"{text_of(column)} is of no row of the pattern"
                    raise self._source.error(column, fact, f"write {pattern.first}.km or {pattern.second}.km")
                if column.name not in names:
                    names.append(column.name)
        if not names:
            advice = f"write MEASURES {pattern.first}.id AS first, ..."
            raise self._source.error(self._match, "a match shows nothing", advice)
        return names

    def _within(self) -> Any:
        """Return the largest time between the two rows, as the module takes it.

        In SQL, as in Flink, rows have to be closer to each other than the length of WITHIN. So the largest time is one
        tick less than that length.

        Raises:
            SqlError: There is no WITHIN, or its length is a decimal.
        """
        node = self._match.args.get("within")
        if node is None:
            fact = "a first row would wait for ever for a second one"
            raise self._source.error(self._match, fact, "write WITHIN INTERVAL '1' HOUR after the pattern")
        within = length_of(node, self._source)
        if isinstance(within, Decimal):
            call = "patterns.followed_without(id, a, b, breaks, within => 5)"
            advice = f"write SELECT lifetime, {call} FROM EVENTS(...)"
            raise self._source.error(node, "a decimal has no next smaller one", advice)
        if not isinstance(within, str):
            return within - 1  # a number of ticks
        with suppress(DurationError):  # the module refuses the length, with a better message
            return f"{ticks(within) - 1} microseconds"
        return within

    def _refuse_other_clauses(self) -> None:
        """Refuse clauses of the SELECT that mean nothing for matches.

        Raises:
            SqlError: There is such a clause.
        """
        for name in ("group", "having", "joins"):
            part = self._tree.args.get(name)
            if part:
                node = part[0] if isinstance(part, list) else part
                advice = "read them as a stream: FROM TUMBLE(TABLE (SELECT ... MATCH_RECOGNIZE ...), INTERVAL '1' HOUR)"
                raise self._source.error(node, "matches are rows of their own", advice)
        if where := self._tree.args.get("where"):
            advice = "filter rows in the table: FROM (SELECT ... WHERE ...) MATCH_RECOGNIZE (...)"
            raise self._source.error(where, "WHERE is asked of matches", advice)
        if self._reader.clauses(self._tree):
            clause = self._tree.meta["clauses"][0]
            raise self._source.error(clause, "matches are final, and have no windows", "leave it out")

    def _selected_columns(self, keys: Sequence[str], pattern: _Pattern, *, has_fields: bool) -> dict[str, str]:
        """Return the columns of the results, keys and measures, as SELECT names them.

        Args:
            keys: The keys.
            pattern: The names of the rows.
            has_fields: True if a match keeps several columns of a row, as the fields of a struct.

        Raises:
            SqlError: A measure has no name, or SELECT has something else than keys and measures.
        """
        # In the order of standard SQL: keys, then measures.
        columns = {key.strip("`"): key for key in keys}
        for measure in self._match.args["measures"]:
            if not measure.alias:
                raise self._source.error(measure, f"{text_of(measure)} has no name", "write ... AS first")
            columns[measure.alias] = self._measure(measure, pattern, has_fields=has_fields)
        selects_all = len(self._tree.expressions) == 1 and isinstance(self._tree.expressions[0], exp.Star)
        if selects_all:
            return columns

        # SELECT may reorder, rename and leave out columns; to compute with them is for a query around it.
        selected: dict[str, str] = {}
        for node in self._tree.expressions:
            body = node.unalias()
            if not isinstance(body, exp.Column) or body.name not in columns:
                fact = f"{text_of(node)} is neither a key nor a measure"
                raise self._source.error(node, fact, f"there are {', '.join(columns)}")
            selected[node.alias or body.name] = columns[body.name]
        return selected

    def _measure(self, measure: Any, pattern: _Pattern, *, has_fields: bool) -> str:
        """Return a measure as an expression over a match, which has the columns `first` and `second` for its rows.

        Args:
            measure: The node of the measure.
            pattern: The names of the rows.
            has_fields: True if each of these columns is a struct of the columns of its row; False if it is the value of
                the only one.

        Raises:
            SqlError: The measure aggregates rows.
        """
        if call := measure.find(exp.AggFunc, exp.Anonymous):
            fact = f"{text_of(call)} is of several rows, and a match has one of each"
            column = next(call.find_all(exp.Column), None)
            name = "km" if column is None else column.name  # the column of the examples, if the call names none
            advice = f"write {pattern.first}.{name}; compute more in a query around this one"
            raise self._source.error(call, fact, advice)
        changes: list[tuple[Any, str]] = []
        for column in measure.find_all(exp.Column):
            row = "second" if column.table.casefold() == pattern.second.casefold() else "first"
            changes.append((column, f"{row}.{spell_name(column.name)}" if has_fields else row))
        return self._source.edited(measure.unalias(), changes)
