"""The columns of a SELECT over windows: keys, windows, results of modules, and expressions over these."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlglot import exp

from muntin_engine.sql_text.places import SqlText, closest
from muntin_engine.sql_text.values import name_of, spell_path, text_of

WINDOW_COLUMNS: Final[Mapping[str, str]] = {
    "window_start": "window.start",
    "window_end": "window.end",
    "window_time": "window.end - INTERVAL '1' MILLISECOND",
    "window": "window",
    "lifetime": "lifetime",
    "window_name": "window_name",
}
"""The columns of windows in SQL, and what they are of the results."""


@dataclass
class SelectItem:
    """One column of a SELECT.

    Attributes:
        node: The node, with its alias.
        body: The node without.
        alias: The alias; empty without one.
        calls: The calls of modules in it, each with its data.
    """

    node: Any
    body: Any
    alias: str
    calls: list[tuple[Any, dict[str, Any]]]

    def name_modules(self, modules: dict[str, Any], taken: list[str]) -> None:
        """Name the modules called here, and add them to those of the query; equal calls are one module."""
        self.names = []
        for node, call in self.calls:
            is_whole = node is self.body
            known = next((name for name, other in modules.items() if other == call), None)
            if known is not None and not (is_whole and self.alias and self.alias != known):
                self.names.append(known)
                continue
            short = call["module"].rpartition(".")[2]
            name = self.alias if is_whole and self.alias else short
            number = 1
            while name in modules or (name in taken and not (is_whole and self.alias)):
                number += 1
                name = f"{short}_{number}"
            modules[name] = call
            self.names.append(name)

    def expression(self) -> str:
        """Return the column as an expression of Spark's over the results."""
        if self.calls and self.calls[0][0] is self.body:
            return self.names[0]
        if isinstance(self.body, exp.Column) and not self.calls:
            return WINDOW_COLUMNS.get(name_of(self.body).lower(), self.body.name)
        made = self.body.copy()
        nodes = list(self.body.walk())
        copies = list(made.walk())
        for (node, _), name in zip(self.calls, self.names, strict=True):
            copy = copies[next(place for place, part in enumerate(nodes) if part is node)]
            copy.replace(exp.column(name))
        for column in list(made.find_all(exp.Column)):
            if column.name.lower() in WINDOW_COLUMNS and column.name.lower() != "window":
                column.replace(exp.maybe_parse(WINDOW_COLUMNS[column.name.lower()], dialect="spark"))
        return str(made.sql(dialect="spark"))


def output_columns(
    source: SqlText, items: list[SelectItem], natural: list[str], modules: list[str] | None
) -> dict[str, str] | None:
    """Return the columns of the results by name; None if they are those that the query has without being asked.

    Args:
        source: The text.
        items: The columns of SELECT.
        natural: The names of the keys, and of the window or the lifetime.
        modules: The names of the results of modules; None for an operator, whose columns are its own.

    Raises:
        SqlError: A column is none of a result, or a name is there twice.
    """
    for item in items:
        _check(source, item, natural, modules or [])
    if modules is None:
        rest = [item for item in items if not item.calls]
        if any(item.expression() not in natural or item.alias for item in rest):
            said = "the columns of an operator are its own, beside the keys and the window"
            raise source.error(rest[0].node, said, f"write SELECT {', '.join(natural)}, the operator")
        return None
    chosen: dict[str, str] = {}
    for item in items:
        name = item.alias or (item.names[0] if item.calls and item.calls[0][0] is item.body else "")
        name = name or (item.body.name if isinstance(item.body, exp.Column) else "")
        if not name:
            raise source.error(item.node, f"{text_of(item.node)} has no name", "write ... AS ratio")
        if name in chosen:
            raise source.error(item.node, f"two columns are called {name}", "name one of them otherwise with AS")
        chosen[name] = item.expression()
    return None if list(chosen.items()) == [(name, name) for name in (*natural, *modules)] else chosen


def _check(source: SqlText, item: SelectItem, natural: list[str], modules: Collection[str]) -> None:
    """Refuse columns that results do not have."""
    inside = {id(part) for call, _ in item.calls for part in call.walk()}
    if isinstance(item.body, exp.Star):
        raise source.error(item.node, "* is not the columns of windows", f"write {', '.join(natural)}, COUNT(*) AS n")
    known = {*map(str.lower, natural), *WINDOW_COLUMNS, *map(str.lower, modules)}
    for column in item.body.find_all(exp.Column):
        if id(column) not in inside and column.name.lower() not in known and spell_path(column.name) not in natural:
            said = f"{column.name} is neither a key nor an aggregate"
            advice = f"{closest(column.name, known)}\nwrite an aggregate such as MAX({column.name}), or GROUP BY it"
            raise source.error(column, said, advice)
