"""The tables that a text of SQL names, or selects in Spark's SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from muntin.errors import QueryError
from muntin_engine.backends.spark.inputs.column_lookup import unlogged
from muntin_engine.plan.request import backquoted

if TYPE_CHECKING:
    from muntin_engine.backends.spark.session.kinds import AnySession


def table_of(
    session: AnySession | None, table: str | Mapping[str, str], dataframes: Mapping[str, DataFrame]
) -> DataFrame:
    """Return a table by its name, or the rows of a query in Spark's SQL.

    Args:
        session: The session, whose tables and views may be named; None for the session of the DataFrames.
        table: The name of the table, or a mapping with the query as `sql`.
        dataframes: DataFrames by the names that they have in the query.

    Raises:
        QueryError: Spark does not find the table, or refuses the query.
    """
    spark: AnySession = next(iter(dataframes.values())).sparkSession if session is None else session
    try:
        with unlogged():
            if isinstance(table, str):
                rows: DataFrame = dataframes[table] if table in dataframes else spark.table(table)
                return rows
            text = table["sql"]
            named_tables: dict[str, Any] = {}
            for name, df in dataframes.items():
                if re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE):
                    named_tables[name] = df
            if not named_tables:
                result: DataFrame = spark.sql(text)
                return result

            # `spark.sql` replaces a name in braces by a DataFrame. A clause WITH before the text gives each DataFrame
            # its plain name, so that the text itself need not be changed, except that its own braces are doubled.
            with_clause = ", ".join(f"{backquoted(name)} AS (SELECT * FROM {{{name}}})" for name in named_tables)
            escaped = text.replace("{", "{{").replace("}", "}}")
            return spark.sql(f"WITH {with_clause} SELECT * FROM ({escaped})", **named_tables)
    except AnalysisException as error:
        # The first line of Spark's message, without the class of the error, "[...] ", and its state, " SQLSTATE: ...".
        reason = re.sub(r"^\[[\w.]+\] | SQLSTATE: .*", "", str(error).strip().partition("\n")[0])
        parameters = error.getMessageParameters() or {}
        name = parameters.get("relationName") or parameters.get("objectName") or ""
        raise QueryError("{reason}", value=name.replace("`", ""), reason=reason) from error
