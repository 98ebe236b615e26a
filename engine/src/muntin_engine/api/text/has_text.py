"""The text of a query: plain data that people read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from muntin_engine.backends.choosing import backend_of
from muntin_engine.backends.planned_query import PlannedQuery
from muntin_engine.needed import required_module
from muntin_engine.plan.query_as_text import text_of
from muntin_engine.plan.steps import Step

if TYPE_CHECKING:
    from pyspark.sql import Column

    from muntin_engine.plan.request import Frame


def text_of_queries(queries: Mapping[str, Sequence[Step]], tables: Mapping[str, Frame]) -> dict[str, Any]:
    """Return queries as plain data, whose columns are names or expressions in Spark's SQL.

    Args:
        queries: The calls that make each query, by its name; a query that is written alone has an empty name.
        tables: The DataFrames that the queries read, by the names that they get.

    Raises:
        QueryError: Text cannot hold an argument of a call.
    """

    def spell_column(frame: Frame, column: Column) -> str | None:
        """Return the text of a column, as `SpellColumn` says it."""
        return backend_of(frame).inputs.text_of_column(frame, column)

    return text_of(queries, tables, spell_column)


@dataclass(frozen=True, repr=False)
class HasText(PlannedQuery):
    """The part of a query that writes it as plain data, which `query_from_dict` reads, and as SQL."""

    def to_dict(self, **tables: Frame) -> dict[str, Any]:
        """Return the query as plain data, which JSON and YAML can hold: the calls that make it, in order.

        Each call is an object: it has its first argument under the name of the call, and the others by the names of the
        parameters. Windows, policies and triggers are objects too, with the function that makes them as `kind`. Only
        arguments that were given are written, and the calls `named` and `untimed` are not. A column that was given as
        an expression of PySpark's is written as SQL if Spark finds that the two mean the same.

        Args:
            tables: The DataFrames that the query reads, by the names that they get; others are called `input`,
                `input_2` and so on.

        Raises:
            QueryError: An argument cannot be written as text, such as a lambda, or a column that has no SQL.

        Example:
            >>> query.to_dict(rides=df)  # doctest: +SKIP
            {'muntin': 1, 'query': [{'events': 'rides', 'key': 'station', 'at': 'leaves'}, ...]}
        """
        return text_of_queries({"": self.steps}, tables)

    def to_sql(self, **tables: Frame) -> str:
        """Return the query as SQL, from which `sql` makes the query again.

        SQL cannot express several windows at once (`windows`), a `clip` join, a join in windows that overlap, modules
        of several streams, and refinements of your own.

        Args:
            tables: The DataFrames that the query reads, by the names that they get, as for `to_dict`.

        Raises:
            QueryError: SQL cannot express a part of the query, which the message names; or as for `to_dict`.
            SetupError: `sqlglot` is not installed.
        """
        required_module("sqlglot", feature="to_sql()", extra="sql")
        from muntin_engine.sql_text.query_writing import sql_of_steps

        return sql_of_steps(self.to_dict(**tables)["query"])
