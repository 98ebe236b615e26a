"""The columns that the expressions of a SELECT may read."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.expressions.translator import Scope, UnknownColumnError
from muntin_engine.backends.local.plain_sql.tables import TableColumn


@dataclass(frozen=True)
class SourceColumn:
    """A column that a FROM clause offers.

    Attributes:
        column: The column.
        sql: Its value in DuckDB's SQL.
        source: The name of the table that it is of, in small letters; empty for a column of a query without an alias,
            and for one that USING makes of two.
        is_plain: True if its name alone finds it, and `*` has it; False for the two that USING joins.
    """

    column: TableColumn
    sql: str
    source: str
    is_plain: bool = True


class SourceScope(Scope):
    """The columns of a FROM clause."""

    def __init__(self, columns: Sequence[SourceColumn]) -> None:
        self._columns = columns

    def source_column(self, path: Sequence[str]) -> tuple[SourceColumn, Sequence[str]]:
        """Return the column that a path names, and the rest of the path: names of fields of its structs.

        Args:
            path: The names between the dots, as in `table.column.field` or `column.field`.

        Raises:
            UnknownColumnError: There is no such column, or there are several.
        """
        # `a.b` is column b of table a if there is one, and otherwise field b of column a.
        folded_path = [name.casefold() for name in path]
        if len(path) > 1:
            candidates = self._columns_of_table(folded_path[0], folded_path[1])
            if candidates:
                return self._single(candidates, ".".join(path[:2])), path[2:]
        candidates = self._plain_columns(folded_path[0])
        if not candidates:
            # After a table, the second name should have been a column; otherwise the first should.
            tables = {column.source for column in self._columns}
            follows_table = len(path) > 1 and folded_path[0] in tables
            raise self._unknown(path[1] if follows_table else path[0])
        return self._single(candidates, path[0]), path[1:]

    def _columns_of_table(self, table: str, name: str) -> list[SourceColumn]:
        """Return the columns of a name that a table has; both names are in small letters."""
        candidates: list[SourceColumn] = []
        for column in self._columns:
            if column.source == table and column.column.name.casefold() == name:
                candidates.append(column)
        return candidates

    def _plain_columns(self, name: str) -> list[SourceColumn]:
        """Return the columns that a name in small letters finds without a table before it."""
        candidates: list[SourceColumn] = []
        for column in self._columns:
            if column.is_plain and column.column.name.casefold() == name:
                candidates.append(column)
        return candidates

    def _unknown(self, name: str) -> UnknownColumnError:
        """Return the error about a name that no column has, with the name that may have been meant."""
        names = [column.column.name for column in self._columns if column.is_plain]
        close = difflib.get_close_matches(name, names, n=1)
        question = f"did you mean {close[0]}? " if close else ""
        advice = f"{question}they have {', '.join(names)}"
        return UnknownColumnError("is not a column of the tables", advice, is_missing=True)

    @staticmethod
    def _single(candidates: Sequence[SourceColumn], name: str) -> SourceColumn:
        """Return the only one of the columns that a name finds.

        Raises:
            UnknownColumnError: There are several.
        """
        if len(candidates) > 1:
            sources = ", ".join(f"{column.source}.{column.column.name}" for column in candidates)
            raise UnknownColumnError(f"may be any of {sources}", f"write the table before {name}")
        return candidates[0]

    def column(self, path: Sequence[str]) -> tuple[DuckdbExpression, Sequence[str]]:
        """Return a column in DuckDB's SQL, and the fields of it that follow.

        Raises:
            UnknownColumnError: There is no such column, there are several, or its values have no meaning in a query.
        """
        source_column, fields = self.source_column(path)
        column = source_column.column
        if column.is_hidden:
            raise UnknownColumnError("is of a type that has no meaning in a query", "leave it out")
        return DuckdbExpression(source_column.sql, column.type), fields


class AliasScope(Scope):
    """The columns of a FROM clause, then the earlier columns of a SELECT by their aliases: `a + 1 AS b, b * 2 AS c`."""

    def __init__(self, inner: Scope) -> None:
        self._inner = inner
        self._values: dict[str, DuckdbExpression] = {}

    def add(self, alias: str, value: DuckdbExpression) -> None:
        """Add a column of the SELECT, which the columns after it may read."""
        self._values[alias.casefold()] = value

    def column(self, path: Sequence[str]) -> tuple[DuckdbExpression, Sequence[str]]:
        """Return a column of the FROM clause, or else an earlier column of the SELECT with the name as its alias."""
        aliased_value = self._values.get(path[0].casefold())
        try:
            return self._inner.column(path)  # a column of FROM hides an alias of the same name
        except UnknownColumnError as error:
            # A name that several columns of FROM have is an error, also if it is an alias.
            if aliased_value is None or not error.is_missing:
                raise
        return aliased_value, path[1:]

    def computed(self, node: exp.Expr) -> DuckdbExpression | None:
        """Return the value of a node that the inner scope has computed; None for others."""
        return self._inner.computed(node)


class OutputScope(Scope):
    """The columns of a SELECT by their names, and behind them the columns that the SELECT reads itself."""

    def __init__(self, outputs: Mapping[str, DuckdbExpression], inner: Scope | None) -> None:
        """Begin with the outputs.

        Args:
            outputs: The columns of the SELECT, by their names in small letters.
            inner: The columns that the SELECT reads itself; None where only its outputs are left, as after DISTINCT.
        """
        self._outputs = outputs
        self._inner = inner

    def column(self, path: Sequence[str]) -> tuple[DuckdbExpression, Sequence[str]]:
        """Return a column of the SELECT itself, or else a column that it reads."""
        output = self._outputs.get(path[0].casefold()) if len(path) == 1 else None
        if output is not None:
            return output, ()
        if self._inner is None:
            names = ", ".join(self._outputs)
            raise UnknownColumnError("is no column of SELECT DISTINCT", f"order by one of {names}")
        return self._inner.column(path)

    def computed(self, node: exp.Expr) -> DuckdbExpression | None:
        """Return the value of a node that the inner scope has computed; None for others."""
        return None if self._inner is None else self._inner.computed(node)
