"""The columns of a SELECT over windows: keys, windows, results of modules, and expressions over these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp

from muntin_engine.sql_text.sql_source import SqlText, did_you_mean, span_of
from muntin_engine.sql_text.sql_values import spell_name, text_of

WINDOW_COLUMNS: Final[Mapping[str, str]] = {
    "window_start": "window.start",
    "window_end": "window.end",
    "window_time": "window.end - INTERVAL '1' MILLISECOND",
    "window": "window",
    "lifetime": "lifetime",
    "window_name": "window_name",
}
"""The columns of windows in SQL, each with the expression over the results that it is."""


def over_results(
    source: SqlText,
    node: Any,
    alias: str,
    columns: Mapping[str, str] | None,
    *,
    calls: Iterable[tuple[Any, str]] = (),
    advice: str = "",
) -> str:
    """Return an expression of SELECT or HAVING as one of Spark's over the results of a query.

    Args:
        source: The text.
        node: The expression.
        alias: The name of the stream or of the inner query, which may stand before its columns.
        columns: The columns that the expression may read: expressions over the results by their names in small letters.
            None allows all columns of the results, if these are not known here.
        calls: The nodes of calls of modules within the expression, each with the name of the module's result.
        advice: The advice for an unknown column, where `{}` is its name.

    Raises:
        SqlError: A column is not among the allowed ones.
    """
    # A call of a module is replaced by the name of its result; columns within the call are not columns of the results.
    changes: list[tuple[Any, str]] = []
    nodes_of_calls: set[int] = set()
    for call, name in calls:
        changes.append((call, spell_name(name)))
        nodes_of_calls.update(id(part) for part in call.walk())

    # Each other column is replaced by its expression over the results.
    # Any other column of unknown results stands for itself: only those of windows have another expression.
    text_by_name = WINDOW_COLUMNS if columns is None else columns
    for column in node.find_all(exp.Column):
        if id(column) in nodes_of_calls:
            continue
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        has_alias = len(parts) > 1 and parts[0].name.casefold() == alias.casefold()
        name_node = parts[1] if has_alias else parts[0]
        name = name_node.name
        text = text_by_name.get(name.lower())
        if text is None and columns is None:
            text = spell_name(name)
        if text is None:
            fact = f"{name} is neither a key nor an aggregate"
            raise source.error(column, fact, f"{did_you_mean(name, text_by_name)}\n{advice.format(name)}")

        # Fields after the name of the column, such as `.start` after that of a window, stay as they are written. An
        # expression in the place of a name needs parentheses, unless it is the whole column of SELECT.
        _, name_end = span_of(name_node)
        _, column_end = span_of(column)
        fields = source.text[name_end:column_end]
        is_path = text.replace("`", "").replace(".", "_").isidentifier()
        needs_parentheses = not is_path and (fields or column is not node)
        changes.append((column, f"({text}){fields}" if needs_parentheses else text + fields))
    return source.edited(node, changes)


@dataclass
class SelectItem:
    """One column of a SELECT.

    Attributes:
        node: The node, with its alias.
        body: The node without the alias.
        alias: The alias; empty without one.
        calls: The nodes of the calls of modules in it, each with its data.
        names: The names of the results of these calls, once `name_modules` has named them.
    """

    node: Any
    body: Any
    alias: str
    calls: list[tuple[Any, dict[str, Any]]]
    names: list[str] = field(default_factory=list)

    @property
    def is_module(self) -> bool:
        """True if it is the result of one module and nothing else."""
        return bool(self.calls) and self.calls[0][0] is self.body

    @property
    def name(self) -> str:
        """The name of the column; empty if it has none."""
        if self.alias or self.is_module:
            return self.alias or self.names[0]
        return str(self.body.name) if isinstance(self.body, exp.Column) else ""

    def name_modules(self, modules: dict[str, Any], aliases: list[str]) -> None:
        """Give a name to each call of a module here, and add the calls to those of the query; equal calls are one.

        Args:
            modules: The calls of modules of the query so far, by their names; new ones are added.
            aliases: The aliases of all columns of SELECT, which calls within other columns must not get as names.
        """
        is_named = self.is_module and bool(self.alias)
        for _, call in self.calls:
            # An equal call has a result already, which serves this call too. But a column that is a module alone has
            # the result under its alias, so an equal call under another name does not serve it.
            equal_name = next((name for name, other in modules.items() if other == call), None)
            needs_other_name = is_named and self.alias != equal_name
            if equal_name is not None and not needs_other_name:
                self.names.append(equal_name)
                continue

            # The name is the alias, or else the name of the module; with a number if a result has that name, or if a
            # column of SELECT will have it.
            short_name = call["module"].rpartition(".")[2]
            name = self.alias if is_named else short_name
            number = 1
            while name in modules or (name in aliases and not is_named):
                number += 1
                name = f"{short_name}_{number}"
            modules[name] = call
            self.names.append(name)

    def text(self, source: SqlText, alias: str, columns: Mapping[str, str]) -> str:
        """Return the column as an expression of Spark's over the results.

        Args:
            source: The text.
            alias: The name of the stream.
            columns: The columns that this one may read besides results of modules, as for `over_results`.

        Raises:
            SqlError: The column reads a column that is neither a key nor the result of a module.
        """
        if self.is_module:
            return spell_name(self.names[0])
        nodes = [node for node, _ in self.calls]
        calls = list(zip(nodes, self.names, strict=True))
        advice = "write an aggregate such as MAX({0}), or GROUP BY it"
        computed_keys = [name for name in columns if not name.isidentifier() and name not in WINDOW_COLUMNS]
        if computed_keys:  # a key that is an expression has no name, so SELECT cannot read it
            key = computed_keys[0]
            advice += f"\nto show the key {key}, name it in the table: TABLE (SELECT *, {key} AS k FROM ...)"
        return over_results(source, self.body, alias, columns, calls=calls, advice=advice)


def output_columns(source: SqlText, items: list[SelectItem], texts: list[str], natural_columns: list[str]) -> Any:
    """Return the columns of SELECT, expressions over the results by name; None if no selection is needed.

    Args:
        source: The text.
        items: The columns of SELECT.
        texts: The same columns as expressions over the results.
        natural_columns: The columns that results have without a selection: keys, window, and those of modules.

    Returns:
        None if SELECT has just the natural columns, in their order.

    Raises:
        SqlError: A column has no name, or two columns have the same.
    """
    selected: dict[str, str] = {}
    for item, text in zip(items, texts, strict=True):
        if not item.name:
            raise source.error(item.node, f"{text_of(item.node)} has no name", "write ... AS ratio")
        if item.name in selected:
            raise source.error(item.node, f"two columns are called {item.name}", "name one of them otherwise with AS")
        selected[item.name] = text
    unquoted_columns = [(name, text.strip("`")) for name, text in selected.items()]
    is_natural = unquoted_columns == [(name, name) for name in natural_columns]
    return None if is_natural else selected
