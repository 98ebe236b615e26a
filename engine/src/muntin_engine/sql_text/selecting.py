"""The columns of a SELECT over windows: keys, windows, results of modules, and expressions over these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp

from muntin_engine.sql_text.places import SqlText, closest, span_of
from muntin_engine.sql_text.values import spell_name, text_of

WINDOW_COLUMNS: Final[Mapping[str, str]] = {
    "window_start": "window.start",
    "window_end": "window.end",
    "window_time": "window.end - INTERVAL '1' MILLISECOND",
    "window": "window",
    "lifetime": "lifetime",
    "window_name": "window_name",
}
"""The columns of windows in SQL, and what they are of the results."""


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
        columns: By their names in small letters, what columns are of the results; None if only the query knows them.
        calls: Calls of modules within it, and the columns of their results.
        advice: What to write for a column that is none, where `{}` is its name.

    Raises:
        SqlError: A column is none of the results.
    """
    changes = [(call, spell_name(name)) for call, name in calls]
    inside = {id(part) for call, _ in changes for part in call.walk()}
    known = WINDOW_COLUMNS if columns is None else columns
    for column in node.find_all(exp.Column):
        if id(column) in inside:
            continue
        parts = [part for part in column.parts if isinstance(part, exp.Identifier)]
        first = parts[1] if len(parts) > 1 and parts[0].name.casefold() == alias.casefold() else parts[0]
        text = known.get(first.name.lower(), None if columns is not None else spell_name(first.name))
        if text is None:
            said = f"{first.name} is neither a key nor an aggregate"
            raise source.error(column, said, f"{closest(first.name, known)}\n{advice.format(first.name)}")
        rest = source.text[span_of(first)[1] : span_of(column)[1]]
        is_path = text.replace("`", "").replace(".", "_").isidentifier()
        changes.append((column, f"({text}){rest}" if not is_path and (rest or column is not node) else text + rest))
    return source.edited(node, changes)


@dataclass
class SelectItem:
    """One column of a SELECT.

    Attributes:
        node: The node, with its alias.
        body: The node without.
        alias: The alias; empty without one.
        calls: The calls of modules in it, each with its data.
        names: The columns of their results, once they are named.
    """

    node: Any
    body: Any
    alias: str
    calls: list[tuple[Any, dict[str, Any]]]
    names: list[str] = field(default_factory=list)

    @property
    def is_module(self) -> bool:
        """True if it is the result of a module as it is."""
        return bool(self.calls) and self.calls[0][0] is self.body

    @property
    def name(self) -> str:
        """The name of the column; empty if it has none."""
        if self.alias or self.is_module:
            return self.alias or self.names[0]
        return str(self.body.name) if isinstance(self.body, exp.Column) else ""

    def name_modules(self, modules: dict[str, Any], taken: list[str]) -> None:
        """Name the modules called here, and add them to those of the query; equal calls are one module."""
        for _, call in self.calls:
            known = next((name for name, other in modules.items() if other == call), None)
            if known is not None and not (self.is_module and self.alias and self.alias != known):
                self.names.append(known)
                continue
            short = call["module"].rpartition(".")[2]
            name = self.alias if self.is_module and self.alias else short
            number = 1
            while name in modules or (name in taken and not (self.is_module and self.alias)):
                number += 1
                name = f"{short}_{number}"
            modules[name] = call
            self.names.append(name)

    def text(self, source: SqlText, alias: str, columns: Mapping[str, str]) -> str:
        """Return it as an expression of Spark's over the results; see `over_results`."""
        if self.is_module:
            return spell_name(self.names[0])
        calls = [(node, name) for (node, _), name in zip(self.calls, self.names, strict=True)]
        advice = "write an aggregate such as MAX({0}), or GROUP BY it"
        if keys := [name for name in columns if not name.isidentifier() and name not in WINDOW_COLUMNS]:
            advice += f"\nto show the key {keys[0]}, name it in the table: TABLE (SELECT *, {keys[0]} AS k FROM ...)"
        return over_results(source, self.body, alias, columns, calls=calls, advice=advice)


def output_columns(source: SqlText, items: list[SelectItem], texts: list[str], natural: list[str]) -> Any:
    """Return the columns of the results by name; None if they are those that the query has without being asked.

    Args:
        source: The text.
        items: The columns of SELECT.
        texts: What they are of the results.
        natural: The names of the keys, of the window or the lifetime, and of the results of modules.

    Raises:
        SqlError: A column has no name, or a name is there twice.
    """
    chosen: dict[str, str] = {}
    for item, text in zip(items, texts, strict=True):
        if not item.name:
            raise source.error(item.node, f"{text_of(item.node)} has no name", "write ... AS ratio")
        if item.name in chosen:
            raise source.error(item.node, f"two columns are called {item.name}", "name one of them otherwise with AS")
        chosen[item.name] = text
    plain = [(name, text.strip("`")) for name, text in chosen.items()]
    return None if plain == [(name, name) for name in natural] else chosen
