"""The columns of a SELECT as they are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from muntin_engine.backends.local.expressions.duckdb_expression import DuckdbExpression
from muntin_engine.backends.local.plain_sql.tables import TableColumn


@dataclass(frozen=True)
class OutputColumn:
    """A column of a SELECT.

    Attributes:
        name: Its name.
        value: Its value.
        column: The column of a table that is passed on as it is; None for other values.
    """

    name: str
    value: DuckdbExpression
    column: TableColumn | None = None

    @property
    def output(self) -> TableColumn:
        """The column as the queries around the SELECT see it: as a column of a table."""
        if self.column is None:
            return TableColumn(self.name, self.value.type)
        return replace(self.column, name=self.name)  # the SELECT may give the column another name

    @property
    def refusal(self) -> str | None:
        """The error for reading the column."""
        return None if self.column is None else self.column.refusal

    @property
    def is_hidden(self) -> bool:
        """True if no expression can read the column."""
        return self.column is not None and self.column.is_hidden
