"""The tables that a text of SQL names, or selects in Spark's SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from muntin.errors import QueryError
from muntin_engine.backends.spark.inputs.column_lookup import unlogged

if TYPE_CHECKING:
    from muntin_engine.backends.spark.session.kinds import AnySession


def table_of(session: AnySession | None, table: str | Mapping[str, str], given: Mapping[str, DataFrame]) -> DataFrame:
    """Return a table by its name, or the rows that a query of Spark's has.

    Args:
        session: The session, whose tables and views may be named; None for that of the DataFrames.
        table: The name, or an object with the query as `sql`.
        given: DataFrames that are read by these names.

    Raises:
        QueryError: Spark refuses it.
    """
    spark: AnySession = next(iter(given.values())).sparkSession if session is None else session
    try:
        with unlogged():
            if isinstance(table, str):
                rows: DataFrame = given[table] if table in given else spark.table(table)
                return rows
            text = table["sql"]
            read: dict[str, Any] = {
                name: df for name, df in given.items() if re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE)
            }
            if not read:
                result: DataFrame = spark.sql(text)
                return result
            before = ", ".join(f"`{name}` AS (SELECT * FROM {{{name}}})" for name in read)
            escaped = text.replace("{", "{{").replace("}", "}}")
            return spark.sql(f"WITH {before} SELECT * FROM ({escaped})", **read)
    except AnalysisException as error:
        said = re.sub(r"^\[[\w.]+\] | SQLSTATE: .*", "", str(error).strip().partition("\n")[0])
        parameters = error.getMessageParameters() or {}
        name = parameters.get("relationName") or parameters.get("objectName") or ""
        raise QueryError("{reason}", value=name.replace("`", ""), reason=said) from error
