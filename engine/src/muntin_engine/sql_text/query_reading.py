"""A text of SQL as the steps of a query: its calls in order, each with its arguments by name, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sqlglot import exp

from muntin.errors import MuntinError
from muntin_engine.sql_text.clauses import read_clauses
from muntin_engine.sql_text.dialect import parse
from muntin_engine.sql_text.join_reading import read_join
from muntin_engine.sql_text.match_recognize import read_match
from muntin_engine.sql_text.module_calls import ModuleCalls
from muntin_engine.sql_text.refusals import (
    AS_TABLE,
    refuse_aggregates,
    refuse_groupings,
    refuse_other_rows,
    refuse_unread,
)
from muntin_engine.sql_text.select_columns import WINDOW_COLUMNS, SelectItem, output_columns, over_results
from muntin_engine.sql_text.sql_source import SqlText, fact_and_advice, span_of
from muntin_engine.sql_text.sql_values import column_of, name_of, stream_of, text_of
from muntin_engine.sql_text.step_forms import Steps
from muntin_engine.sql_text.stream_reading import (
    EventSteps,
    SqlStream,
    TimeColumns,
    is_streaming,
    read_stream,
    times_of,
)
from muntin_engine.sql_text.window_functions import EVENTS


def read(source: SqlText, is_operator: Callable[[str], bool], caller_names: Collection[str] = ()) -> Steps | None:
    """Read a text of SQL into the steps of a query.

    Args:
        source: The text.
        is_operator: Returns True for the name of a module that returns rows.
        caller_names: The names of modules and functions that the caller has beside those of plugins.

    Returns:
        The steps, each a call with its arguments by name; None if the text reads no stream, so that Spark alone can run
        it.

    Raises:
        SqlError: The text is not a query.
    """
    tree = parse(source.text)
    if not is_streaming(tree):
        return None
    return SqlReader(source, is_operator, caller_names).query(tree)


class NamedQuery(NamedTuple):
    """A query of a WITH clause.

    Attributes:
        cte: The node of the query with its name.
        reader: The reader of the query, which knows the queries of the clause before it.
    """

    cte: Any
    reader: SqlReader


@dataclass(frozen=True)
class SqlReader:
    """Reads queries of one text.

    Attributes:
        source: The text.
        is_operator: Returns True for the name of a module that returns rows.
        caller_names: The names of modules and functions that the caller has beside those of plugins.
        named_queries: The queries of WITH clauses that the query may read, by their names in small letters.
    """

    source: SqlText
    is_operator: Callable[[str], bool]
    caller_names: Collection[str] = ()
    named_queries: Mapping[str, NamedQuery] = field(default_factory=dict)

    def query(self, tree: Any) -> Steps:
        """Return the steps of a query.

        Raises:
            SqlError: The tree is no query, or has a part that queries of streams do not have.
        """
        refuse_unread(self.source, tree)
        if isinstance(tree, exp.Subquery):
            return self.query(tree.this)
        if not isinstance(tree, exp.Select):
            raise self.source.error(tree, "only SELECT reads streams", "UNION ALL unites them within TABLE (...)")

        # Refuse parts that no query of streams reads, before any part is read.
        reader = self._knowing_named_queries(tree)
        table = tree.args["from_"].this if tree.args.get("from_") else None
        if table is None:
            advice = "write FROM TUMBLE(TABLE rides, DESCRIPTOR(leaves), INTERVAL '1' HOUR)"
            raise self.source.error(tree, "this reads no table", advice)
        joins = tree.args.get("joins") or ()
        stars = [node for node in tree.expressions if isinstance(node, exp.Star)]
        refuse_unread(self.source, table, *joins, *(join.this for join in joins), *stars)
        if group := tree.args.get("group"):
            refuse_groupings(self.source, group)

        if tree.args.get("match"):
            return read_match(reader, tree, table)
        if joins:
            return read_join(reader, tree, table)
        return reader._steps_of_select(tree, table)

    def _steps_of_select(self, tree: Any, table: Any) -> Steps:
        """Return the steps of a SELECT from one stream, or from the results of a query.

        Args:
            tree: The SELECT.
            table: The table, the function or the query of its FROM clause.
        """
        # FROM may read a query in parentheses, or one of a WITH clause by its name, with the reader that knows the
        # queries before that one. Only a table whose node is an identifier is such a name; others are functions.
        inner_query = table.this if isinstance(table, exp.Subquery) else None
        reader = self
        if isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier) and not table.db:
            named_query = self.named_queries.get(table.name.casefold())
            if named_query is not None:
                inner_query = named_query.cte.this
                reader = named_query.reader
        if inner_query is not None and reader.is_streaming(inner_query):
            return self._over_results(tree, table, reader.query(inner_query))

        # Anything else has to be a stream: `stream` refuses tables and queries of Spark's.
        return _StreamQuery(self, tree, self.stream(table)).steps(table)

    def stream(self, table: Any) -> SqlStream:
        """Return the stream that a FROM clause reads."""
        return read_stream(table, self.source, self.events)

    def clauses(self, tree: Any) -> dict[str, Any]:
        """Return the arguments of `window` or `join` that the clauses after a query stand for, such as `emit`."""
        return read_clauses(tree.meta.get("clauses", ()), self.source)

    def column(self, node: Any, alias: str) -> str:
        """Return an expression over one stream as text, without the name of the stream: `r.km / 2` as `km / 2`.

        Args:
            node: The expression.
            alias: The name of the stream; empty if it has none.
        """
        stream_columns: list[Any] = []
        for column in node.find_all(exp.Column):
            if alias and stream_of(column) == alias.casefold():
                stream_columns.append(column)
        if not stream_columns:
            return column_of(node)
        if isinstance(node, exp.Column):
            return column_of(node, after=1)
        # The text of each column from the second part of its name on: the first part is the name of the stream.
        changes: list[tuple[Any, str]] = []
        for column in stream_columns:
            start, _ = span_of(column.parts[1])
            _, end = span_of(column)
            changes.append((column, self.source.text[start:end]))
        return self.source.edited(node, changes)

    def is_streaming(self, tree: Any) -> bool:
        """Return True if a tree, or a query of WITH that it reads, has parts that Spark alone cannot run."""
        if is_streaming(tree):
            return True
        for name in _table_names(tree):
            named_query = self.named_queries.get(name)
            if named_query is not None and named_query.reader.is_streaming(named_query.cte.this):
                return True
        return False

    def _knowing_named_queries(self, tree: Any) -> SqlReader:
        """Return the reader of a query, which knows the queries of its WITH clause.

        Raises:
            SqlError: Two queries have the same name.
        """
        clause = tree.args.get("with_")
        if clause is None:
            return self
        refuse_unread(self.source, clause)
        reader = self
        for cte in clause.expressions:  # each query may read those before it
            name = cte.alias.casefold()
            if name in reader.named_queries:
                raise self.source.error(cte.args["alias"], f"two queries are called {cte.alias}", "rename one of them")
            reader = replace(reader, named_queries={**reader.named_queries, name: NamedQuery(cte, reader)})
        return reader

    def events(self, table: Any, times: TimeColumns) -> EventSteps:
        """Return the table or the query of a `TABLE` argument as events.

        Args:
            table: The node of the table or the query.
            times: The columns of DESCRIPTOR, which have the times of the events.

        Raises:
            SqlError: The query cannot be read as events, or the columns are not those of its times.
        """
        # A name may be that of a query of a WITH clause, which is then read in its place.
        is_table = isinstance(table, exp.Table)
        named_query: NamedQuery | None = None
        if is_table and not table.db:
            named_query = self.named_queries.get(table.name.casefold())
        body = table if named_query is None else named_query.cte.this
        reader = self if named_query is None else named_query.reader

        # A query of streams: a union, or windows and joins, whose results become events.
        if not isinstance(body, exp.Table) and reader.is_streaming(body):
            refuse_unread(self.source, body)
            if named_query is not None:
                refuse_unread(self.source, named_query.cte)
            if isinstance(body, exp.Union):
                return reader._knowing_named_queries(body)._union(body, times)
            return reader._results_as_events(body, times)

        # A table by its name; or a query that Spark runs, which may be one of WITH, read by its name.
        data: Any
        if named_query is None and is_table:
            data = ".".join(part.name for part in table.parts)
        else:
            text = f"SELECT * FROM {text_of(table)}" if is_table else text_of(table)
            data = {"sql": self._spark_sql(text, table)}
        arguments = {"df": data, **times_of(times, self.source)}
        return EventSteps(steps=[{"events": arguments}], arguments_of_events=[arguments])

    def _spark_sql(self, text: str, tree: Any) -> str:
        """Return a query for Spark, with the queries of WITH clauses that it reads written before it.

        Args:
            text: The text of the query.
            tree: The tree of the query.
        """
        read_queries: list[str] = []
        read_names = _table_names(tree)
        # A query of a WITH clause reads earlier ones only. So one pass from the last query to the first finds all that
        # are read, also those that only other queries of the clause read.
        for name, named_query in reversed(list(self.named_queries.items())):
            if name in read_names:
                read_queries.insert(0, text_of(named_query.cte))
                read_names |= _table_names(named_query.cte.this)
        if not read_queries:
            return text
        return f"WITH {', '.join(read_queries)} SELECT * FROM ({text})"  # the text may begin with a WITH of its own

    def _union(self, union: Any, times: TimeColumns) -> EventSteps:
        """Return a union of streams as events.

        Args:
            union: The node of UNION ALL.
            times: The columns of DESCRIPTOR, of which there are none: the streams have their times.

        Raises:
            SqlError: Two streams have the same name, there is a DESCRIPTOR, or a part of the union is no stream.
        """
        streams = self._streams_of_union(union)
        names = [stream.alias.casefold() for stream in streams]
        namesakes = [stream for stream in streams if names.count(stream.alias.casefold()) > 1]
        if namesakes:
            fact = f"two streams are called {namesakes[1].alias or 'nothing'}"
            raise self.source.error(namesakes[1].node, fact, "name each: EVENTS(...) AS bikes")
        if times.columns:
            fact = "the streams of a union have times already"
            raise self.source.error(times.columns[0], fact, "leave DESCRIPTOR out")
        steps: Steps = [{"union": {"streams": {stream.alias: stream.steps for stream in streams}}}]
        arguments_of_events: list[dict[str, Any]] = []
        for stream in streams:
            arguments_of_events += stream.arguments_of_events
        return EventSteps(steps, arguments_of_events)

    def _streams_of_union(self, union: Any) -> list[SqlStream]:
        """Return the streams of a union from left to right, also those of unions within it.

        Raises:
            SqlError: The union is not UNION ALL, or a part of it is no stream.
        """
        if union.args.get("distinct"):
            raise self.source.error(union, "UNION of streams would compare their rows", "write UNION ALL")
        streams: list[SqlStream] = []
        for side in (union.left.unnest(), union.right.unnest()):
            refuse_unread(self.source, side)
            if isinstance(side, exp.Union):
                streams += self._streams_of_union(side)
            else:
                streams.append(self._stream_of_union(side))
        return streams

    def _stream_of_union(self, select: Any) -> SqlStream:
        """Return the stream that one SELECT of a union reads.

        Raises:
            SqlError: The SELECT does more than to filter events.
        """
        stream = self.stream(select.args["from_"].this)
        if where := select.args.get("where"):
            stream.keep(self.column(where.this, stream.alias), where, self.source)
        has_all_columns = len(select.expressions) == 1 and isinstance(select.expressions[0], exp.Star)
        has_more = any(select.args.get(name) for name in ("group", "having", "joins", "match", "with_"))
        if stream.window is not None or not has_all_columns or has_more:
            fact = "a union is of events, before windows"
            raise self.source.error(select, fact, "write SELECT * FROM EVENTS(TABLE bikes, DESCRIPTOR(at)) AS bikes")
        refuse_unread(self.source, select.args["from_"].this, select.expressions[0])
        return stream

    def _results_as_events(self, query: Any, times: TimeColumns) -> EventSteps:
        """Return the results of a query as events, whose lifetimes are the windows of the results.

        Args:
            query: The node of the query.
            times: The columns of DESCRIPTOR: none, or those of the window. With its start alone events are points.

        Raises:
            SqlError: DESCRIPTOR names other columns, or the query computes columns of its results or filters these.
        """
        steps = self.query(query)

        # The results become events as they are: columns that SELECT computes and conditions on results would be lost.
        selected: dict[str, str] = {}
        if "select" in steps[-1]:
            selection = steps.pop()
            selected = selection["select"]["columns"]
        computed_names: list[str] = []
        for name, text in selected.items():
            is_unchanged = text.strip("`") in (name, WINDOW_COLUMNS.get(name))  # `n` as `n`, or the start of the window
            if not is_unchanged:
                computed_names.append(name)
        if computed_names or "where" in steps[-1]:
            subject = ", ".join(computed_names) or "a condition on results"
            fact = f"{subject} is computed after the windows or the join of the inner query"
            raise self.source.error(query, fact, "compute it in the outer one: AVG(km / n), WHERE n > 3")

        names = [name_of(column).lower() for column in times.columns]
        if names not in ([], ["window_start"], ["window_start", "window_end"]):
            fact = f"results last as long as their window, and DESCRIPTOR names {', '.join(names)}"
            raise self.source.error(times.columns[0], fact, "write DESCRIPTOR(window_start, window_end)")
        arguments: dict[str, Any] = {}  # keys and order are added later, when the outer query is read
        steps.append({"as_events": self.source.mark(arguments, query)})
        if names == ["window_start"]:
            steps.append({"to_points": {}})
        return EventSteps(steps=steps, arguments_of_events=[arguments])

    def _over_results(self, tree: Any, table: Any, steps: Steps) -> Steps:
        """Return the steps of a SELECT that selects rows and columns from the results of an inner query.

        Args:
            tree: The outer SELECT.
            table: The inner query, with its alias.
            steps: The steps of the inner query, which are changed: steps of the outer one are added to them.

        Raises:
            SqlError: The outer SELECT has windows or aggregates of its own.
        """
        clauses = tree.meta.get("clauses", ())  # those of windows, such as EMIT
        for part in (tree.args.get("group"), tree.args.get("having"), *clauses):
            if part is not None:
                fact = "windows are of a stream, and this reads the results of a query"
                raise self.source.error(part, fact, AS_TABLE)

        # Both SELECTs become one: columns of the outer one are expressions over those of the inner one. Without a
        # selection in the inner query its columns are not known here, and `inner_columns` is None: any may be read.
        selected: dict[str, str] | None = None
        inner_columns: dict[str, str] | None = None
        if "select" in steps[-1]:
            inner_selection = steps.pop()
            selected = inner_selection["select"]["columns"]
            inner_columns = {name.lower(): text for name, text in selected.items()}

        def over_inner(node: Any) -> str:
            """Return an expression of the outer SELECT as one over the results of the inner query."""
            refuse_other_rows(self.source, node)
            refuse_aggregates(self.source, node)
            return over_results(self.source, node, table.alias, inner_columns)

        if where := tree.args.get("where"):
            steps.append({"where": self.source.mark({"condition": over_inner(where.this)}, where)})
        selects_all = len(tree.expressions) == 1 and isinstance(tree.expressions[0], exp.Star)
        if not selects_all:
            items = [SelectItem(node, node.unalias(), node.alias, calls=[]) for node in tree.expressions]
            texts = [over_inner(item.body) for item in items]
            # The columns that the inner query would have by itself are not known here, so these are always selected.
            selected = output_columns(self.source, items, texts, natural_columns=[])
        if selected is not None:
            steps.append({"select": self.source.mark({"columns": selected}, tree.expressions[0], tree)})
        return steps


class _StreamQuery:
    """Reads a SELECT from one stream: modules over its windows, or an operator."""

    def __init__(self, reader: SqlReader, tree: Any, stream: SqlStream) -> None:
        self._reader = reader
        self._source = reader.source
        self._tree = tree
        self._stream = stream
        self._where = tree.args.get("where")
        self._having_node = tree.args.get("having")

    def steps(self, table: Any) -> Steps:
        """Return the steps of the query.

        Args:
            table: The function of its FROM clause.

        Raises:
            SqlError: The query has a part that a query of one stream cannot have.
        """
        # WHERE and the keys first: they belong to the events, before these are cut into windows.
        self._read_where(table)
        keys = self._read_keys()

        # The modules that the columns of SELECT and HAVING call. An operator has to be the only one.
        calls = ModuleCalls(self._source, self._reader.caller_names, self._stream.alias, self._reader.column)
        items = [calls.select_item(node) for node in self._tree.expressions]
        having = calls.select_item(self._having_node.this) if self._having_node else None
        all_items = list(items)
        if having is not None:
            all_items.append(having)
        modules = self._named_modules(all_items)  # refuses a query that calls none
        first_item = next(item for item in all_items if item.calls)
        first_call, _ = first_item.calls[0]
        operators = [name for name, call in modules.items() if self._is_operator(call["module"], all_items)]
        if operators and len(modules) > 1:
            fact = f"{modules[operators[0]]['module']} returns rows, so it stands alone"
            raise self._source.error(first_call, fact, "ask for the others in a query of their own")

        # The steps of the events, of their windows and of the modules, and what is done with the results.
        steps = [*self._stream.steps, *self._window_steps(has_operator=bool(operators))]
        extent = "window" if self._stream.window is not None else "lifetime"
        if operators:
            (call,) = modules.values()
            steps.append({"apply": self._source.mark({"operator": call}, first_call, self._tree)})
            self._check_columns_of_operator(items, having, natural_columns=[*keys, extent])
            return steps
        self._check_grouped()
        steps.append({"aggregate": self._source.mark({"modules": modules}, first_call, self._tree)})
        return steps + self._result_steps(items, having, keys, natural_columns=[*keys, extent, *modules])

    def _read_where(self, table: Any) -> None:
        """Read WHERE, which filters the events of the stream.

        Args:
            table: The function of the FROM clause.

        Raises:
            SqlError: The windows follow rows, so that a filter would change where they are cut.
        """
        if isinstance(table, exp.Table) and (version := table.args.get("version")):
            fact = "FOR SYSTEM_TIME AS OF is of a join"
            raise self._source.error(version, fact, "write it after the right stream")
        if not self._where:
            return
        if self._stream.by_rows:
            fact = f"WHERE follows {self._stream.function}, whose windows go by the rows that it would leave out"
            advice = "filter before: TABLE (SELECT ... WHERE ...); or after: FILTER"
            raise self._source.error(self._where, fact, advice)
        self._stream.keep(self._column(self._where.this), self._where, self._source)

    def _column(self, node: Any) -> str:
        """Return an expression over the stream, without the name of the stream before columns."""
        return self._reader.column(node, self._stream.alias)

    def _read_keys(self) -> list[str]:
        """Return the keys: those of PARTITION BY; without it, those of GROUP BY, which the stream then gets.

        Raises:
            SqlError: GROUP BY names something else than columns, or other keys than PARTITION BY; or where windows are
                cut depends on the rows, and PARTITION BY is missing.
        """
        stream = self._stream
        group_nodes = self._tree.args["group"].expressions if self._tree.args.get("group") else []
        for node in group_nodes:
            if isinstance(node, exp.Literal | exp.Tuple):
                fact = f"{text_of(node)} is no column, and GROUP BY names columns"
                raise self._source.error(node, fact, "write each key by its name")
        group_keys: list[str] = []
        key_nodes: list[Any] = []
        for node in group_nodes:
            text = self._column(node)
            if text.lower() not in WINDOW_COLUMNS:
                group_keys.append(text)
                key_nodes.append(node)

        # PARTITION BY names the keys: GROUP BY may repeat them.
        partition_keys = stream.keys
        if partition_keys is not None:
            is_same = {key.lower() for key in group_keys} == {key.lower() for key in partition_keys}
            if group_nodes and not is_same:
                partition = ", ".join(partition_keys)
                fact = f"GROUP BY has {', '.join(group_keys) or 'no key'}, and PARTITION BY has {partition}"
                raise self._source.error(group_nodes[0], fact, "name the same columns in both")
            return list(partition_keys)

        if group_keys:
            if stream.by_rows:
                cut = f"{stream.function} cuts the events of all keys together"
                fact = f"{cut}, and GROUP BY {group_keys[0]} would divide them"
                columns = group_keys[0] if len(group_keys) == 1 else f"({', '.join(group_keys)})"
                raise self._source.error(key_nodes[0], fact, f"write TABLE ... PARTITION BY {columns}")
            stream.keys = group_keys
            return list(group_keys)
        if any("as_events" in step for step in stream.steps):
            # The results of the inner query would keep its keys if none were named (None). This query groups by none.
            stream.keys = []
        return []

    def _named_modules(self, items: list[SelectItem]) -> dict[str, Any]:
        """Give each module that a column calls a name, and return the calls by these names.

        Args:
            items: The columns of SELECT, and HAVING.

        Raises:
            SqlError: No column calls a module.
        """
        modules: dict[str, Any] = {}
        aliases = [item.alias for item in items]
        for item in items:
            item.name_modules(modules, aliases)
        if not modules:
            advice = "write COUNT(*) AS n; rows of windows come from a module, such as stats.collect_list(km)"
            raise self._source.error(self._tree.expressions[0], "no column is an aggregate", advice)
        return modules

    def _is_operator(self, module: str, items: list[SelectItem]) -> bool:
        """Return True if a module returns rows.

        Args:
            module: The name of the module.
            items: The columns that call modules.

        Raises:
            SqlError: There is no such module. The error points to its first call.
        """
        try:
            return self._reader.is_operator(module)
        except MuntinError as error:  # there is no such module
            node = next(node for item in items for node, call in item.calls if call["module"] == module)
            fact, advice = fact_and_advice(str(error))
            raise self._source.error(node, fact, advice) from error

    def _window_steps(self, *, has_operator: bool) -> Steps:
        """Return the step that cuts the stream into windows; no step for an operator without windows.

        Args:
            has_operator: True if the query is an operator, which needs no windows.

        Raises:
            SqlError: The query needs windows, and the stream has none.
        """
        stream = self._stream
        clauses = self._reader.clauses(self._tree)
        if stream.window is not None:
            arguments = {"specification": stream.window, **clauses}
            return [{"window": self._source.mark(arguments, stream.node, self._tree)}]
        if has_operator and not clauses:
            return []
        node = stream.node
        fact = f"{EVENTS} has no windows"
        if clauses:
            node = self._tree.meta["clauses"][0]
            fact = f"{node.name} is of windows, and {EVENTS} has none"
        raise self._source.error(node, fact, "write GLOBAL_WINDOWS(TABLE ...) for one window over all rows")

    def _check_columns_of_operator(
        self, items: list[SelectItem], having: SelectItem | None, natural_columns: list[str]
    ) -> None:
        """Refuse columns and conditions beside an operator, whose rows have the columns that it says itself.

        Args:
            items: The columns of SELECT.
            having: The condition of HAVING; None without it.
            natural_columns: The columns that results have without a selection: keys, and the window or lifetime.

        Raises:
            SqlError: There is such a column or a condition.
        """
        other_items: list[SelectItem] = []
        for item in items:
            is_natural = item.is_module or text_of(item.body) in natural_columns
            if item.alias or not is_natural:  # an alias would rename the column, and nothing after `apply` does
                other_items.append(item)
        if having is not None:
            other_items.append(having)
        if other_items:
            fact = "the columns of an operator are its own, beside the keys and the window"
            advice = f"write SELECT {', '.join(natural_columns)}, the operator"
            raise self._source.error(other_items[0].node, fact, advice)

    def _check_grouped(self) -> None:
        """Refuse a query whose GROUP BY does not name the windows: in SQL its aggregates would go over all windows.

        Raises:
            SqlError: The windows are missing in GROUP BY.
        """
        group = self._tree.args.get("group")
        texts = [self._column(node).lower() for node in (group.expressions if group else ())]
        names_windows = {"window_start", "window_end"}.issubset(texts) or "window" in texts
        if names_windows or self._stream.function == "GLOBAL_WINDOWS":
            return
        fact = "each window has a result, and GROUP BY does not name the windows"
        keys = [text for text in texts if text not in WINDOW_COLUMNS] or self._stream.keys or []
        advice = f"write GROUP BY {', '.join([*keys, 'window_start', 'window_end'])}; one over all rows: GLOBAL_WINDOWS"
        raise self._source.error(group or self._tree.expressions[0], fact, advice)

    def _result_steps(
        self, items: list[SelectItem], having: SelectItem | None, keys: list[str], natural_columns: list[str]
    ) -> Steps:
        """Return the steps after the aggregates: one for HAVING, and one that selects the columns.

        Args:
            items: The columns of SELECT.
            having: The condition of HAVING; None without it.
            keys: The keys.
            natural_columns: The columns that results have without a selection: keys, window, and those of modules.
        """
        steps: Steps = []
        # The columns that SELECT may read of the results, by their names in SQL.
        columns = {**{key.strip("`").lower(): key for key in keys}, **WINDOW_COLUMNS}
        all_items = items if having is None else [*items, having]
        texts = self._texts_of(items, all_items, columns)
        if having is not None:
            # HAVING may also read columns of SELECT by their aliases.
            text_by_alias: dict[str, str] = {}
            for item, text in zip(items, texts, strict=True):
                if item.alias:
                    text_by_alias[item.alias.lower()] = text
            # A key or a window has its name also where an alias is the same.
            condition = having.text(self._source, self._stream.alias, text_by_alias | columns)
            steps.append({"where": self._source.mark({"condition": condition}, self._having_node)})
        selected = output_columns(self._source, items, texts, natural_columns)
        if selected is not None:
            steps.append({"select": self._source.mark({"columns": selected}, items[0].node, self._tree)})
        return steps

    def _texts_of(self, items: list[SelectItem], all_items: list[SelectItem], columns: Mapping[str, str]) -> list[str]:
        """Return the columns of SELECT as expressions over the results; each may read earlier ones by their aliases.

        Args:
            items: The columns of SELECT.
            all_items: These columns, and HAVING.
            columns: The keys and the columns of windows: expressions over the results by their names in SQL.
        """
        read_names = self._names_read_before_windows(all_items)
        text_by_name = dict(columns)
        texts: list[str] = []
        for item in items:
            text = item.text(self._source, self._stream.alias, text_by_name)
            texts.append(text)
            alias = item.alias.lower()
            # A name that modules or WHERE read is a column of the table, as in SQL.
            if alias and alias not in read_names:
                text_by_name.setdefault(alias, text)
        return texts

    def _names_read_before_windows(self, items: list[SelectItem]) -> set[str]:
        """Return the names, in small letters, of the columns that modules and WHERE read."""
        nodes = [node for item in items for node, _ in item.calls]
        if self._where:
            nodes.append(self._where)
        names: set[str] = set()
        for node in nodes:
            names.update(column.name.lower() for column in node.find_all(exp.Column))
        return names


def _table_names(tree: Any) -> set[str]:
    """Return the names of the tables that a tree reads, in small letters."""
    return {table.name.casefold() for table in tree.find_all(exp.Table) if not table.db}
