"""The calls of modules in the columns of a SELECT: aggregates of SQL, and modules of plugins by their names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlglot import exp

from muntin_engine.sql_text.refusals import refuse_other_rows
from muntin_engine.sql_text.select_columns import SelectItem
from muntin_engine.sql_text.sql_aggregates import AGGREGATES, DISTINCT_COUNT, ROW_COUNT
from muntin_engine.sql_text.sql_source import SqlText
from muntin_engine.sql_text.sql_values import add_argument, name_of, text_of


class _CalledName(NamedTuple):
    """A call of a module, taken apart.

    Attributes:
        call: The node of the call, without the name of a plugin before it and FILTER after it.
        name: The name of the module, after that of its plugin if it has one.
        condition: The condition of FILTER; empty without one.
    """

    call: Any
    name: str
    condition: str


@dataclass(frozen=True)
class ModuleCalls:
    """Reads the calls of modules in expressions over one stream.

    Attributes:
        source: The text.
        caller_names: The names of modules that the caller has beside those of plugins.
        alias: The name of the stream.
        column: Returns an expression of columns of the stream with a name.
    """

    source: SqlText
    caller_names: Collection[str]
    alias: str
    column: Callable[[Any, str], str]

    def select_item(self, node: Any) -> SelectItem:
        """Return a column of SELECT, or the condition of HAVING, with the calls of modules in it.

        Args:
            node: The node of the column, with its alias.

        Raises:
            SqlError: The column reads other rows, or a call is not that of a module.
        """
        alias = node.alias if isinstance(node, exp.Alias) else ""
        body = node.this if isinstance(node, exp.Alias) else node
        refuse_other_rows(self.source, body)
        calls: list[tuple[Any, dict[str, Any]]] = []
        nodes_of_calls: set[int] = set()
        # The nodes come from the outside inwards. Nodes within a call belong to it, such as the filter of an aggregate.
        for part in [body, *body.find_all(exp.Filter, exp.Column, exp.Dot, exp.Anonymous)]:
            if id(part) in nodes_of_calls:
                continue
            call = self.module_call(part)
            if call is not None:
                calls.append((part, call))
                nodes_of_calls.update(id(inner) for inner in part.walk())
        return SelectItem(node, body, alias, calls=calls)

    def module_call(self, node: Any) -> dict[str, Any] | None:
        """Return the call of a module as data; None if the node is something else.

        Raises:
            SqlError: The call has arguments that modules do not have, or a parameter twice.
        """
        called = self._called(node)
        if called is None:
            return None
        # The module, and the columns that it reads: its arguments without names.
        name = called.name
        module, parameters = AGGREGATES.get(name.upper(), (name, {}))
        column_nodes = [part for part in called.call.expressions if not isinstance(part, exp.Kwarg)]
        if name.upper() == "COUNT" and (not column_nodes or isinstance(column_nodes[0], exp.Star)):
            module, parameters = ROW_COUNT
            column_nodes = []
        elif column_nodes and isinstance(column_nodes[0], exp.Distinct):
            if name.upper() != "COUNT":
                raise self.source.error(node, f"{name}(DISTINCT ...) is no module", "write COUNT(DISTINCT km)")
            module, parameters = DISTINCT_COUNT
            column_nodes = column_nodes[0].expressions
        self._refuse_nested(column_nodes)
        columns = [self.column(part, self.alias) for part in column_nodes]

        # FILTER makes a column null in the rows that it leaves out: modules skip these.
        if called.condition:
            if module == ROW_COUNT[0]:
                # COUNT(*) reads no column, so it gets one that is null only in the rows that FILTER leaves out.
                columns = columns or ["1"]
                parameters = {"skip_nulls": True}
            if not columns:
                fact = f"{module} reads no column, so FILTER cannot leave rows out"
                raise self.source.error(node, fact, "filter the events of the query: WHERE")
            columns = [f"CASE WHEN {called.condition} THEN {column} END" for column in columns]

        # Arguments by name are parameters.
        named_parameters: dict[str, Any] = {}
        for part in called.call.expressions:
            if isinstance(part, exp.Kwarg):
                add_argument(named_parameters, part.this.name, part, self.source)
        parameters = {**parameters, **named_parameters}
        data: dict[str, Any] = {"module": module}
        if columns:
            data["columns"] = columns
        if parameters:
            data["parameters"] = parameters
        return data

    def _called(self, node: Any) -> _CalledName | None:
        """Return a node that is the call of a module, taken apart; None for another node."""
        call = node
        path = ""
        condition = ""
        # sqlglot has `my.module(x) FILTER (...)` as a column of a table `my`, and `my.module(x)` as a path. Each step
        # below removes one layer, until `call` is the call of the module itself.
        if isinstance(call, exp.Column) and isinstance(call.this, exp.Filter):
            path = f"{call.table}."
            call = call.this
        if isinstance(call, exp.Filter):
            condition = self.column(call.expression.this, self.alias)
            call = call.this
        if isinstance(call, exp.Dot):
            path = f"{name_of(call.this)}."
            call = call.expression
        if not isinstance(call, exp.Anonymous):
            return None
        name = f"{path}{call.name}"
        # An aggregate of SQL, a module of a plugin, which has a dot in its name, or a module of the caller.
        is_module = name.upper() in AGGREGATES or "." in name or name in self.caller_names
        return _CalledName(call, name, condition) if is_module else None

    def _refuse_nested(self, arguments: list[Any]) -> None:
        """Refuse arguments of a module that call a module themselves.

        Raises:
            SqlError: There is such an argument.
        """
        for argument in arguments:
            for inner in argument.find_all(exp.Anonymous, exp.Dot):
                if self.module_call(inner) is not None:
                    fact = f"{text_of(argument)} is an aggregate within an aggregate"
                    raise self.source.error(argument, fact, "aggregate the results of a query: TABLE (SELECT ...)")
