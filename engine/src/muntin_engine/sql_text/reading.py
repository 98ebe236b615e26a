"""A text of SQL as the steps of a query: its calls in order, each with its arguments by name, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from muntin.errors import MuntinError
from muntin_engine.sql_text.clauses import read_clauses
from muntin_engine.sql_text.dialect import parse
from muntin_engine.sql_text.joins import read_join
from muntin_engine.sql_text.matching import read_match
from muntin_engine.sql_text.modules import AGGREGATES, DISTINCT_COUNT, ROW_COUNT
from muntin_engine.sql_text.places import SqlText, span_of
from muntin_engine.sql_text.selecting import WINDOW_COLUMNS, SelectItem, output_columns, over_results
from muntin_engine.sql_text.steps import Steps
from muntin_engine.sql_text.streams import SqlStream, is_streaming, read_stream, times_of
from muntin_engine.sql_text.unread import (
    AS_TABLE,
    refuse_aggregates,
    refuse_groupings,
    refuse_other_rows,
    refuse_unread,
)
from muntin_engine.sql_text.values import column_of, name_of, stream_of, text_of, value_of
from muntin_engine.sql_text.windows import EVENTS


@dataclass(frozen=True)
class SqlReader:
    """Reads queries of one text.

    Attributes:
        source: The text.
        is_operator: Returns True for the name of a module that returns rows.
        known: The names of modules that are no plugin's.
        tables: The queries of WITH clauses that are seen here, by name; each with what reads it.
    """

    source: SqlText
    is_operator: Callable[[str], bool]
    known: Collection[str] = ()
    tables: Mapping[str, tuple[Any, SqlReader]] = field(default_factory=dict)

    def query(self, tree: Any) -> Steps:
        """Return the steps of a query.

        Raises:
            SqlError: It is none, or says what streams do not do.
        """
        refuse_unread(self.source, tree)
        if isinstance(tree, exp.Subquery):
            return self.query(tree.this)
        if not isinstance(tree, exp.Select):
            raise self.source.error(tree, "only SELECT reads streams", "UNION ALL unites them within TABLE (...)")
        reader = self._within(tree)
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
        return reader._windowed(tree, table)

    def stream(self, table: Any) -> SqlStream:
        """Return the stream that a FROM clause reads."""
        return read_stream(table, self.source, self.events)

    def clauses(self, tree: Any) -> dict[str, Any]:
        """Return the arguments that the clauses after a query are."""
        return read_clauses(tree.meta.get("clauses", ()), self.source)

    def column(self, node: Any, alias: str) -> str:
        """Return an expression of columns of one stream, without the name of the stream before each."""
        own = [part for part in node.find_all(exp.Column) if stream_of(part) == (alias.casefold() or None)]
        if not own or isinstance(node, exp.Column):
            return column_of(node, after=len(own))
        text = self.source.text
        return self.source.edited(node, [(one, text[span_of(one.parts[1])[0] : span_of(one)[1]]) for one in own])

    def is_streaming(self, tree: Any) -> bool:
        """Return True if a tree, or a query of WITH that it reads, is more than Spark's SQL alone."""
        read = [self.tables[name] for name in _names(tree) if name in self.tables]
        return is_streaming(tree) or any(reader.is_streaming(cte.this) for cte, reader in read)

    def _is_operator(self, name: str, items: list[SelectItem]) -> bool:
        try:
            return self.is_operator(name)
        except MuntinError as error:
            node = next(node for item in items for node, call in item.calls if call["module"] == name)
            said, _, advice = str(error).partition("\n")
            raise self.source.error(node, said, advice.replace("\n  ", "\n").strip()) from error

    def _within(self, tree: Any) -> SqlReader:
        """Return what reads a query after its WITH clause."""
        reader, clause = self, tree.args.get("with_")
        if clause is None:
            return self
        refuse_unread(self.source, clause)
        for cte in clause.expressions:
            if cte.alias.casefold() in reader.tables:
                raise self.source.error(cte.args["alias"], f"two queries are called {cte.alias}", "rename one of them")
            reader = replace(reader, tables={**reader.tables, cte.alias.casefold(): (cte, reader)})
        return reader

    def events(self, inner: Any, described: tuple[list[Any], Any]) -> tuple[Steps, Steps]:
        """Return the steps and bases of a `TABLE` argument, whose times are the columns of a DESCRIPTOR."""
        columns, node = described
        is_table, none = isinstance(inner, exp.Table), (None, self)
        cte, reader = self.tables.get(inner.name.casefold(), none) if is_table and not inner.db else none
        body = inner if cte is None else cte.this
        if not isinstance(body, exp.Table) and reader.is_streaming(body):
            refuse_unread(self.source, body, *([] if cte is None else [cte]))
            if not isinstance(body, exp.Union):
                return reader._chained(body, columns)
            streams = reader._within(body)._united(body)
            if columns:
                raise self.source.error(columns[0], "the streams of a union have times already", "leave DESCRIPTOR out")
            steps: Steps = [{"union": {"streams": {stream.alias: stream.steps for stream in streams}}}]
            return steps, [base for stream in streams for base in stream.bases]
        table: Any = ".".join(part.name for part in inner.parts) if is_table else ""
        if cte is not None or not is_table:
            table = {"sql": self._spark_sql(f"SELECT * FROM {text_of(inner)}" if is_table else text_of(inner), inner)}
        base = {"df": table, **times_of(columns, node, self.source)}
        return [{"events": base}], [base]

    def _spark_sql(self, text: str, tree: Any) -> str:
        """Return a query that Spark runs, after those of WITH clauses that it reads."""
        needed: list[str] = []
        read = _names(tree)
        for name, (cte, _) in reversed(list(self.tables.items())):
            if name in read:
                needed.insert(0, text_of(cte))
                read |= _names(cte.this)
        return f"WITH {', '.join(needed)} SELECT * FROM ({text})" if needed else text

    def _united(self, union: Any) -> list[SqlStream]:
        found: list[SqlStream] = []
        if union.args.get("distinct"):
            raise self.source.error(union, "UNION of streams would compare their rows", "write UNION ALL")
        for side in (union.left.unnest(), union.right.unnest()):
            refuse_unread(self.source, side)
            if isinstance(side, exp.Union):
                found += self._united(side)
                continue
            stream = self.stream(side.args["from_"].this)
            if where := side.args.get("where"):
                stream.keep(self.column(where.this, stream.alias), where, self.source)
            is_all = len(side.expressions) == 1 and isinstance(side.expressions[0], exp.Star)
            more = [side.args[name] for name in ("group", "having", "joins", "match", "with_") if side.args.get(name)]
            if stream.window is not None or not is_all or more:
                said = "a union is of events, before windows"
                raise self.source.error(side, said, "write SELECT * FROM EVENTS(TABLE bikes, DESCRIPTOR(at)) AS bikes")
            refuse_unread(self.source, side.args["from_"].this, side.expressions[0])
            found.append(stream)
        names = [stream.alias.casefold() for stream in found]
        if twice := [stream for stream in found if names.count(stream.alias.casefold()) > 1]:
            said = f"two streams are called {twice[1].alias or 'nothing'}"
            raise self.source.error(twice[1].node, said, "name each: EVENTS(...) AS bikes")
        return found

    def _chained(self, body: Any, columns: list[Any]) -> tuple[Steps, Steps]:
        """Return the results of a query as events: their lifetimes are the windows of the results."""
        steps = self.query(body)
        chosen = steps.pop()["select"]["columns"] if "select" in steps[-1] else {}
        renamed = [name for name, text in chosen.items() if text.strip("`") not in (name, WINDOW_COLUMNS.get(name))]
        if renamed or ("where" in steps[-1]):
            what = ", ".join(renamed) or "a condition on results"
            said = f"{what} is computed after the windows or the join of the inner query"
            raise self.source.error(body, said, "compute it in the outer one: AVG(km / n), WHERE n > 3")
        named = [name_of(column).lower() for column in columns]
        if named not in ([], ["window_start"], ["window_start", "window_end"]):
            said = f"results last as long as their window, and DESCRIPTOR names {', '.join(named)}"
            raise self.source.error(columns[0], said, "write DESCRIPTOR(window_start, window_end)")
        base: dict[str, Any] = {}
        at_start: Steps = [{"to_points": {}}] if named == ["window_start"] else []
        return [*steps, {"as_events": self.source.mark(base, body)}, *at_start], [base]

    def _windowed(self, tree: Any, table: Any) -> Steps:
        inner = table.this if isinstance(table, exp.Subquery) else None
        reader = self
        if isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier) and not table.db:
            cte, reader = self.tables.get(table.name.casefold(), (None, self))
            inner = cte and cte.this
        if inner is not None and reader.is_streaming(inner):
            return self._selected(tree, table, reader.query(inner))
        stream = self.stream(table)
        if isinstance(table, exp.Table) and (version := table.args.get("version")):
            raise self.source.error(version, "FOR SYSTEM_TIME AS OF is of a join", "write it after the right stream")
        if where := tree.args.get("where"):
            if stream.by_rows:
                said = f"WHERE follows {stream.function}, whose windows go by the rows that it would leave out"
                raise self.source.error(where, said, "filter before: TABLE (SELECT ... WHERE ...); or after: FILTER")
            stream.keep(self.column(where.this, stream.alias), where, self.source)
        keys = self._keys(tree, stream)
        items = [self._item(node, stream) for node in tree.expressions]
        having = self._item(tree.args["having"].this, stream) if tree.args.get("having") else None
        modules = self._modules(tree, [*items, *([having] if having else [])])
        steps, arguments, mark = stream.steps, self.clauses(tree), self.source.mark
        first = next(node for item in [*items, *([having] if having else [])] for node, _ in item.calls)
        operators = [name for name, call in modules.items() if self._is_operator(call["module"], items)]
        if operators and len(modules) > 1:
            said = f"{modules[operators[0]]['module']} returns rows, so it stands alone"
            raise self.source.error(first, said, "ask for the others in a query of their own")
        if stream.window is not None:
            steps.append({"window": mark({"specification": stream.window, **arguments}, stream.node, tree)})
        elif arguments or not operators:
            node = tree.meta["clauses"][0] if arguments else stream.node
            said = f"{node.name} is of windows, and {EVENTS} has none" if arguments else f"{EVENTS} has no windows"
            raise self.source.error(node, said, "write GLOBAL_WINDOWS(TABLE ...) for one window over all rows")
        window = "window" if stream.window is not None else "lifetime"
        columns = {**{key.strip("`").lower(): key for key in keys}, **WINDOW_COLUMNS}
        if operators:
            steps.append({"apply": mark({"operator": next(iter(modules.values()))}, first, tree)})
            return self._of_operator(items, having, [*keys, window], steps)
        self._check_grouped(tree, stream)
        steps.append({"aggregate": mark({"modules": modules}, first, tree)})
        texts: list[str] = []
        called = [node for item in [*items, *([having] if having else [])] for node, _ in item.calls]
        called += [tree.args["where"]] if tree.args.get("where") else []
        read = {column.name.lower() for node in called for column in node.find_all(exp.Column)}
        known = dict(columns)
        for item in items:
            texts.append(item.text(self.source, stream.alias, known))
            if item.alias and item.alias.lower() not in read:
                known.setdefault(item.alias.lower(), texts[-1])
        if having is not None:
            named = {item.alias.lower(): text for item, text in zip(items, texts, strict=True) if item.alias}
            condition = having.text(self.source, stream.alias, named | columns)
            steps.append({"where": mark({"condition": condition}, tree.args["having"])})
        chosen = output_columns(self.source, items, texts, [*keys, window, *modules])
        return [*steps, {"select": mark({"columns": chosen}, items[0].node, tree)}] if chosen is not None else steps

    def _of_operator(self, items: list[SelectItem], having: Any, natural: list[str], steps: Steps) -> Steps:
        """Refuse columns and conditions beside those of an operator."""
        for item in [*items, *([having] if having else [])]:
            if item is having or item.alias or not (item.is_module or text_of(item.body) in natural):
                said = "the columns of an operator are its own, beside the keys and the window"
                raise self.source.error(item.node, said, f"write SELECT {', '.join(natural)}, the operator")
        return steps

    def _check_grouped(self, tree: Any, stream: SqlStream) -> None:
        """Refuse aggregates over windows that GROUP BY does not name: in SQL they would be of several windows."""
        group = tree.args.get("group")
        texts = {self.column(node, stream.alias).lower() for node in (group.expressions if group else ())}
        if {"window_start", "window_end"} <= texts or "window" in texts or stream.function == "GLOBAL_WINDOWS":
            return
        said = "each window has a result, and GROUP BY does not name the windows"
        keys = [text for text in texts if text not in WINDOW_COLUMNS] or stream.keys or []
        advice = f"write GROUP BY {', '.join([*keys, 'window_start', 'window_end'])}"
        raise self.source.error(group or tree.expressions[0], said, f"{advice}; one over all rows: GLOBAL_WINDOWS")

    def _selected(self, tree: Any, table: Any, steps: Steps) -> Steps:
        """Return a query of whose results some rows and columns are selected."""
        clauses = tree.meta.get("clauses", ())
        for at in (tree.args.get("group"), tree.args.get("having"), *clauses):
            if at is not None:
                raise self.source.error(at, "windows are of a stream, and this reads the results of a query", AS_TABLE)
        chosen: dict[str, str] | None = steps.pop()["select"]["columns"] if "select" in steps[-1] else None
        known = None if chosen is None else {name.lower(): text for name, text in chosen.items()}

        def of_results(node: Any) -> str:
            refuse_other_rows(self.source, node)
            refuse_aggregates(self.source, node)
            return over_results(self.source, node, table.alias, known)

        if where := tree.args.get("where"):
            steps.append({"where": self.source.mark({"condition": of_results(where.this)}, where)})
        if len(tree.expressions) != 1 or not isinstance(tree.expressions[0], exp.Star):
            items = [SelectItem(node, node.unalias(), node.alias, []) for node in tree.expressions]
            chosen = output_columns(self.source, items, [of_results(item.body) for item in items], [])
        if chosen is None:
            return steps
        return [*steps, {"select": self.source.mark({"columns": chosen}, tree.expressions[0], tree)}]

    def _keys(self, tree: Any, stream: SqlStream) -> list[str]:
        """Return the keys: of PARTITION BY, or of GROUP BY where windows do not depend on the key."""
        grouped = tree.args["group"].expressions if tree.args.get("group") else []
        for node in grouped:
            if isinstance(node, exp.Literal | exp.Tuple):
                said = f"{text_of(node)} is no column, and GROUP BY names columns"
                raise self.source.error(node, said, "write each key by its name")
        texts = [self.column(node, stream.alias) for node in grouped]
        keys = [text for text in texts if text.lower() not in WINDOW_COLUMNS]
        known = stream.keys
        if any("as_events" in step for step in stream.steps) and known is None and not keys:
            stream.keys = []
        if known is None and keys:
            if stream.by_rows:
                said = (
                    f"{stream.function} cuts the events of all keys together, and GROUP BY {keys[0]} would divide them"
                )
                columns = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
                raise self.source.error(grouped[0], said, f"write TABLE ... PARTITION BY {columns}")
            known = stream.keys = keys
        elif known is not None and grouped and {*map(str.lower, keys)} != {*map(str.lower, known)}:
            said = f"GROUP BY has {', '.join(keys) or 'no key'}, and PARTITION BY has {', '.join(known)}"
            raise self.source.error(grouped[0], said, "name the same columns in both")
        return list(known or [])

    def _item(self, node: Any, stream: SqlStream) -> SelectItem:
        """Return an output column: its name, its expression, and the calls of modules in it."""
        alias = node.alias if isinstance(node, exp.Alias) else ""
        body = node.this if isinstance(node, exp.Alias) else node
        refuse_other_rows(self.source, body)
        calls: list[tuple[Any, dict[str, Any]]] = []
        for part in [body, *body.find_all(exp.Filter, exp.Column, exp.Dot, exp.Anonymous)]:
            if not any(part is inner for call in calls for inner in call[0].walk()):
                called = self._module(part, stream)
                if called is not None and not any(part is call[0] for call in calls):
                    calls.append((part, called))
        return SelectItem(node, body, alias, calls)

    def _module(self, node: Any, stream: SqlStream) -> dict[str, Any] | None:
        """Return a call of a module as data; None if a node is none."""
        called, condition, path = node, "", ""
        if isinstance(called, exp.Column) and isinstance(called.this, exp.Filter):  # of a plugin's module
            path, called = f"{called.table}.", called.this
        if isinstance(called, exp.Filter):
            condition, called = self.column(called.expression.this, stream.alias), called.this
        if isinstance(called, exp.Dot):
            path, called = f"{name_of(called.this)}.", called.expression
        name = f"{path}{called.name}"
        if not isinstance(called, exp.Anonymous) or (
            name.upper() not in AGGREGATES and "." not in name and name not in self.known
        ):
            return None
        module, parameters = AGGREGATES.get(name.upper(), (name, {}))
        places = [part for part in called.expressions if not isinstance(part, exp.Kwarg)]
        named = {part.this.name: part.expression for part in called.expressions if isinstance(part, exp.Kwarg)}
        if name.upper() == "COUNT" and (not places or isinstance(places[0], exp.Star)):
            (module, parameters), places = ROW_COUNT, []
        if places and isinstance(places[0], exp.Distinct):
            if name.upper() != "COUNT":
                raise self.source.error(node, f"{name}(DISTINCT ...) is no module", "write COUNT(DISTINCT km)")
            (module, parameters), places = DISTINCT_COUNT, places[0].expressions
        for part in places:
            if any(self._module(inner, stream) is not None for inner in part.find_all(exp.Anonymous, exp.Dot)):
                said = f"{text_of(part)} is an aggregate within an aggregate"
                raise self.source.error(part, said, "aggregate the results of a query: TABLE (SELECT ...)")
        columns = [self.column(part, stream.alias) for part in places]
        if condition:
            if module == ROW_COUNT[0]:
                columns, parameters = columns or ["1"], {"skip_nulls": True}
            if not columns:
                said = f"{module} reads no column, so FILTER cannot leave rows out"
                raise self.source.error(node, said, "filter the events of the query: WHERE")
            columns = [f"CASE WHEN {condition} THEN {column} END" for column in columns]
        given = {**parameters, **{key: value_of(part, self.source) for key, part in named.items()}}
        return {
            "module": module,
            **({"columns": columns} if columns else {}),
            **({"parameters": given} if given else {}),
        }

    def _modules(self, tree: Any, items: list[SelectItem]) -> dict[str, Any]:
        """Name the modules of all columns, and return them by name."""
        modules: dict[str, Any] = {}
        for item in items:
            item.name_modules(modules, [other.alias for other in items])
        if not modules:
            star = "; rows of windows come from a module, such as stats.collect_list(km)"
            raise self.source.error(tree.expressions[0], "no column is an aggregate", f"write COUNT(*) AS n{star}")
        return modules


def _names(tree: Any) -> set[str]:
    """Return the names of the tables that a tree reads, in small letters."""
    return {table.name.casefold() for table in tree.find_all(exp.Table) if not table.db}


def read(source: SqlText, is_operator: Callable[[str], bool], known: Collection[str] = ()) -> Steps | None:
    """Return the steps of the query that a text is; None if it is Spark's SQL alone.

    Args:
        source: The text.
        is_operator: Returns True for the name of a module that returns rows.
        known: The names of modules and functions that the caller has beside those of plugins.

    Raises:
        SqlError: It is not a query.
    """
    tree = parse(source.text)
    return SqlReader(source, is_operator, known).query(tree) if is_streaming(tree) else None
