"""A text of SQL as the steps of a query: its calls in order, each with its arguments by name, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp

from muntin.errors import MuntinError
from muntin_engine.sql_text.dialect import parse
from muntin_engine.sql_text.joins import read_join
from muntin_engine.sql_text.matching import read_match
from muntin_engine.sql_text.modules import AGGREGATES, DISTINCT_COUNT, ROW_COUNT
from muntin_engine.sql_text.places import SqlText, closest
from muntin_engine.sql_text.selecting import WINDOW_COLUMNS, SelectItem, output_columns
from muntin_engine.sql_text.steps import Steps, packed
from muntin_engine.sql_text.streams import SqlStream, is_streaming, read_stream, said_once, times_of
from muntin_engine.sql_text.unread import refuse_unread
from muntin_engine.sql_text.values import call_of, column_of, length_of, name_of, text_of, value_of
from muntin_engine.sql_text.windows import EVENTS

EMITS: Final = {"FINAL": "final", "SPECULATIVE": "speculative", "CHANGES": "eager", "EAGER": "eager"}
REFINEMENTS: Final = ("accumulate", "discard", "retract")
_REFUSED: Final = {
    "order": ("results of a stream have no order", "order them where you read them: query.results().orderBy('n')"),
    "limit": ("results of a stream have no last one", "stats.top_k or stats.top_by keep the largest of each window"),
    "distinct": ("results of windows differ by themselves", "leave DISTINCT out; COUNT(DISTINCT km) counts values"),
    "qualify": ("QUALIFY ranks rows, which come one by one", "stats.top_k or stats.top_by rank within a window"),
    "laterals": ("LATERAL reads rows of a table", "write it in the table: TABLE (SELECT ... LATERAL VIEW ...)"),
}


@dataclass
class SqlReader:
    """Reads queries of one text.

    Attributes:
        source: The text.
        is_operator: Returns True for the name of a module that returns rows.
        known: The names of modules that are no plugin's.
        tables: The queries of a WITH clause, by name.
    """

    source: SqlText
    is_operator: Callable[[str], bool]
    known: Collection[str] = ()
    tables: dict[str, Any] = field(default_factory=dict)

    def query(self, tree: Any) -> Steps:
        """Return the steps of a query.

        Raises:
            SqlError: It is none, or says what streams do not do.
        """
        if isinstance(tree, exp.Subquery):
            return self.query(tree.this)
        self._take_tables(tree)
        if not isinstance(tree, exp.Select):
            raise self.source.error(tree, "only SELECT reads streams", "UNION ALL unites them within TABLE (...)")
        for part, (said, advice) in _REFUSED.items():
            if tree.args.get(part):
                found = tree.args[part]
                raise self.source.error(found[0] if isinstance(found, list) else found, said, advice)
        refuse_unread(self.source, tree)
        table = tree.args["from_"].this if tree.args.get("from_") else None
        if table is None:
            raise self.source.error(tree, "this reads no table")
        if tree.args.get("match"):
            return read_match(self, tree, table)
        if tree.args.get("joins"):
            return read_join(self, tree, table)
        return self._windowed(tree, table)

    def stream(self, table: Any) -> SqlStream:
        """Return the stream that a FROM clause reads."""
        return read_stream(table, self.source, self._events)

    def clauses(self, tree: Any) -> dict[str, Any]:
        """Return the arguments that the clauses after a query are."""
        found: dict[str, Any] = {}
        for clause in said_once(tree.meta.get("clauses", ()), self.source):
            _CLAUSES[clause.name](found, clause, self.source)
        return found

    def column(self, node: Any, alias: str) -> str:
        """Return an expression of columns of one stream, without the name of the stream before each."""
        parts = [part for part in node.find_all(exp.Column) if part.table]
        for part in parts:
            if part.table.casefold() != alias.casefold():
                raise self.source.error(part, f"{part.table} is no stream here", f"the stream is called {alias}")
        if not parts:
            return column_of(node)
        bare = node.copy()
        for part in bare.find_all(exp.Column):
            part.set("table", None)
        return column_of(bare) if isinstance(bare, exp.Column) else bare.sql(dialect="spark")

    def _is_operator(self, name: str, items: list[SelectItem]) -> bool:
        try:
            return self.is_operator(name)
        except MuntinError as error:
            node = next(node for item in items for node, call in item.calls if call["module"] == name)
            said, _, advice = str(error).partition("\n")
            raise self.source.error(node, said, advice.replace("\n  ", "\n").strip()) from error

    def _take_tables(self, tree: Any) -> None:
        for table in tree.args["with_"].expressions if tree.args.get("with_") else ():
            self.tables[table.alias.casefold()] = table.this

    def _events(self, inner: Any, described: tuple[list[Any], Any]) -> tuple[Steps, Steps]:
        """Return the steps and bases of a `TABLE` argument, whose times are the columns of a DESCRIPTOR."""
        columns, node = described
        named = self.tables.get(inner.name.casefold()) if isinstance(inner, exp.Table) and not inner.db else None
        body = inner if named is None else named
        if isinstance(body, exp.Union) and is_streaming(body):
            streams = self._united(body)
            if columns:
                raise self.source.error(columns[0], "the streams of a union have times already", "leave DESCRIPTOR out")
            steps: Steps = [{"union": {"streams": {stream.alias: stream.steps for stream in streams}}}]
            return steps, [base for stream in streams for base in stream.bases]
        if not isinstance(body, exp.Table) and is_streaming(body):
            return self._chained(body, columns)
        times: dict[str, Any] = times_of(columns, node, self.source)
        if named is None and isinstance(inner, exp.Table):
            base = {"df": ".".join(part.name for part in inner.parts), **times}
            return [{"events": base}], [base]
        text = text_of(body)
        needed = {
            name: text_of(query) for name, query in self.tables.items() if query is not body and _reads(body, name)
        }
        before = ", ".join(f"{name} AS ({query})" for name, query in needed.items())
        base = {"df": {"sql": f"WITH {before} {text}" if before else text}, **times}
        return [{"events": base}], [base]

    def _united(self, union: Any) -> list[SqlStream]:
        found: list[SqlStream] = []
        if union.args.get("distinct"):
            raise self.source.error(union, "UNION of streams would compare their rows", "write UNION ALL")
        for side in (union.left.unnest(), union.right.unnest()):
            if isinstance(side, exp.Union):
                found += self._united(side)
                continue
            stream = self.stream(side.args["from_"].this)
            if where := side.args.get("where"):
                stream.keep(self.column(where.this, stream.alias))
            if stream.window is not None or not isinstance(side.expressions[0], exp.Star):
                said = "a union is of events, before windows"
                raise self.source.error(side, said, "write SELECT * FROM EVENTS(TABLE bikes, DESCRIPTOR(at)) AS bikes")
            found.append(stream)
        return found

    def _chained(self, body: Any, columns: list[Any]) -> tuple[Steps, Steps]:
        """Return the results of a query as events: their lifetimes are the windows of the results."""
        steps = self.query(body)
        chosen = steps.pop()["select"]["columns"] if "select" in steps[-1] else {}
        renamed = [name for name, text in chosen.items() if text not in (name, *WINDOW_COLUMNS.values())]
        if renamed or ("where" in steps[-1]):
            said = f"{', '.join(renamed) or 'HAVING'} is computed after the windows of the inner query"
            raise self.source.error(body, said, "compute it in the outer one: AVG(km / n), WHERE n > 3")
        named = [name_of(column).lower() for column in columns]
        if named not in ([], ["window_start"], ["window_start", "window_end"]):
            said = f"results last as long as their window, and DESCRIPTOR names {', '.join(named)}"
            raise self.source.error(columns[0], said, "write DESCRIPTOR(window_start, window_end)")
        base: dict[str, Any] = {}
        at_start: Steps = [{"to_points": {}}] if named == ["window_start"] else []
        return [*steps, {"as_events": base}, *at_start], [base]

    def _windowed(self, tree: Any, table: Any) -> Steps:
        inner = table.this if isinstance(table, exp.Subquery) else None
        if isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier):
            inner = self.tables.get(table.name.casefold())
        if inner is not None and is_streaming(inner):
            return self._selected(tree, table, self.query(inner))
        stream = self.stream(table)
        if where := tree.args.get("where"):
            stream.keep(self.column(where.this, stream.alias))
        keys = self._keys(tree, stream)
        items = [self._item(node, stream) for node in tree.expressions]
        having = tree.args.get("having")
        filtered = [] if having is None else [self._item(having.this, stream)]
        modules = self._modules(tree, [*items, *filtered])
        steps, arguments = stream.steps, self.clauses(tree)
        if stream.window is not None:
            steps.append({"window": {"specification": stream.window, **arguments}})
        elif arguments:
            clause = tree.meta["clauses"][0]
            raise self.source.error(clause, f"{clause.name} is of windows, and {EVENTS} has none")
        operators = [name for name, call in modules.items() if self._is_operator(call["module"], items)]
        if operators and len(modules) > 1:
            called = next(node for item in items for node, _ in item.calls)
            raise self.source.error(called, f"{modules[operators[0]]['module']} returns rows, so it stands alone")
        steps.append(
            {"apply": {"operator": next(iter(modules.values()))}} if operators else {"aggregate": {"modules": modules}}
        )
        steps += [{"where": {"condition": item.expression()}} for item in filtered]
        window = "window" if stream.window is not None else "lifetime"
        chosen = output_columns(self.source, items, [*keys, window], None if operators else list(modules))
        return [*steps, {"select": {"columns": chosen}}] if chosen is not None else steps

    def _selected(self, tree: Any, table: Any, steps: Steps) -> Steps:
        """Return a query of whose results some rows and columns are selected."""
        clauses = tree.meta.get("clauses", ())
        if tree.args.get("group") or clauses:
            said = "windows are of a stream, and this reads the results of a query"
            raise self.source.error(tree.args.get("group") or clauses[0], said, _AS_TABLE)
        known = steps[-1]["select"]["columns"] if "select" in steps[-1] else {}
        if "select" in steps[-1] or "where" in steps[-1]:
            steps = (
                [step for step in steps if step is not steps[-1]]
                if set(known.values()) <= _PLAIN | set(known)
                else steps
            )
        if "select" in steps[-1] or "where" in steps[-1]:
            said = "the inner query selects already what it computes"
            raise self.source.error(table, said, "compute everything in one of the two")
        if where := tree.args.get("where"):
            steps.append({"where": {"condition": self._of_results(where.this, table.alias)}})
        if len(tree.expressions) == 1 and isinstance(tree.expressions[0], exp.Star):
            return steps
        chosen = {}
        for node in tree.expressions:
            name = node.alias or (node.name if isinstance(node, exp.Column) else "")
            if not name:
                raise self.source.error(node, f"{text_of(node)} has no name", "write ... AS ratio")
            chosen[name] = self._of_results(node.unalias(), table.alias)
        return [*steps, {"select": {"columns": chosen}}]

    def _of_results(self, node: Any, alias: str) -> str:
        made = node.copy()
        for column in [made] if isinstance(made, exp.Column) else list(made.find_all(exp.Column)):
            if column.table.casefold() == alias.casefold():
                column.set("table", None)
            text = WINDOW_COLUMNS.get(column.name.lower())
            if text is not None and not column.table and column.name.lower() != text:
                replaced: Any = exp.maybe_parse(text, dialect="spark")
                made = replaced if column is made else made
                column.replace(replaced)
        return column_of(made) if isinstance(made, exp.Column) else made.sql(dialect="spark")

    def _keys(self, tree: Any, stream: SqlStream) -> list[str]:
        """Return the keys: of PARTITION BY, or of GROUP BY where windows do not depend on the key."""
        grouped = tree.args["group"].expressions if tree.args.get("group") else []
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
                raise self.source.error(grouped[0], said, f"write TABLE ... PARTITION BY {', '.join(keys)}")
            known = stream.keys = keys
        elif known is not None and grouped and {*map(str.lower, keys)} != {*map(str.lower, known)}:
            said = f"GROUP BY has {', '.join(keys) or 'no key'}, and PARTITION BY has {', '.join(known)}"
            raise self.source.error(grouped[0], said, "name the same columns in both")
        return list(known or [])

    def _item(self, node: Any, stream: SqlStream) -> SelectItem:
        """Return an output column: its name, its expression, and the calls of modules in it."""
        alias = node.alias if isinstance(node, exp.Alias) else ""
        body = node.this if isinstance(node, exp.Alias) else node
        calls: list[tuple[Any, dict[str, Any]]] = []
        for part in [body, *body.find_all(exp.Filter, exp.Dot, exp.Anonymous)]:
            if not any(part is inner for call in calls for inner in call[0].walk()):
                called = self._module(part, stream)
                if called is not None and not any(part is call[0] for call in calls):
                    calls.append((part, called))
        return SelectItem(node, body, alias, calls)

    def _module(self, node: Any, stream: SqlStream) -> dict[str, Any] | None:
        """Return a call of a module as data; None if a node is none."""
        condition = ""
        if isinstance(node, exp.Filter):
            condition, node = self.column(node.expression.this, stream.alias), node.this
        name = node.name if isinstance(node, exp.Anonymous) else ""
        called = node
        if isinstance(node, exp.Dot):
            called, name = node.expression, name_of(node)
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
            if not columns and module == ROW_COUNT[0]:
                columns, parameters = ["1"], {"skip_nulls": True}
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


_PLAIN: Final = frozenset(WINDOW_COLUMNS.values())
_AS_TABLE: Final = "write TUMBLE(TABLE (SELECT ...), DESCRIPTOR(window_start, window_end), INTERVAL '1' HOUR)"


def _reads(tree: Any, name: str) -> bool:
    return any(table.name.casefold() == name for table in tree.find_all(exp.Table))


def _emit(data: dict[str, Any], clause: Any, source: SqlText) -> None:
    """Read `EMIT FINAL | CHANGES | SPECULATIVE | EARLY trigger [refinement]`."""
    parts = list(clause.expressions)
    word = parts[0].name.upper() if parts and isinstance(parts[0], exp.Var) else ""
    if word in EMITS and len(parts) == 1:
        data["emit"] = EMITS[word]
        return
    if word != "EARLY":
        said = f"EMIT {text_of(parts[0]) if parts else ''} is no emission"
        raise source.error(parts[0] if parts else clause, said, closest(word, [*EMITS, "EARLY"]))
    early: dict[str, Any] = {"kind": "early"}
    if isinstance(parts[-1], exp.Var) and parts[-1].name.lower() in REFINEMENTS:
        early["refinement"] = parts.pop().name.lower()
    words = [part.name.upper() for part in parts if isinstance(part, exp.Var)]
    if words == ["EARLY", "EVERY"] and len(parts) == 3:
        early["trigger"] = {"kind": "every", "period": length_of(parts[2], source)}
    elif words == ["EARLY"] and len(parts) == 2 and call_of(parts[1], source) is not None:
        early["trigger"] = value_of(parts[1], source)
    else:
        raise source.error(clause, "this is no trigger", "write EMIT EARLY EVERY INTERVAL '1' MINUTE, or a trigger")
    data["emit"] = early


def _word(name: str) -> Callable[[dict[str, Any], Any, SqlText], None]:
    def read(data: dict[str, Any], clause: Any, source: SqlText) -> None:
        if len(clause.expressions) != 1:
            raise source.error(clause, f"{clause.name} takes one word")
        data[name] = clause.expressions[0].name.lower()

    return read


def _forget(data: dict[str, Any], clause: Any, source: SqlText) -> None:
    """Read `FORGET KEYS AFTER length`."""
    words = [part.name.upper() for part in clause.expressions if isinstance(part, exp.Var)]
    if words != ["KEYS", "AFTER"] or len(clause.expressions) != 3:
        raise source.error(clause, "this forgets nothing", "write FORGET KEYS AFTER INTERVAL '30' DAYS")
    data["forget_keys_after"] = length_of(clause.expressions[2], source)


_CLAUSES: Final[Mapping[str, Callable[[dict[str, Any], Any, SqlText], None]]] = {
    "EMIT": _emit,
    "CLIP": _word("clip"),
    "TIMESTAMPS": _word("timestamps"),
    "EVALUATOR": _word("evaluator"),
    "FORGET": _forget,
}


def read(text: str, is_operator: Callable[[str], bool], known: Collection[str] = ()) -> Steps | None:
    """Return the steps of the query that a text is; None if it is Spark's SQL alone.

    Args:
        text: The text.
        is_operator: Returns True for the name of a module that returns rows.
        known: The names of modules and functions that the caller has beside those of plugins.

    Raises:
        SqlError: It is no query.
    """
    tree = parse(text)
    if not is_streaming(tree):
        return None
    return packed(SqlReader(SqlText(text), is_operator, known).query(tree))
