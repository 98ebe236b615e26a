"""Declarative pipelines of Spark's: the files that define one, and what they may not do."""

from __future__ import annotations

import sys
from typing import Final

from pyspark.errors import AnalysisException, PySparkException

from muntin.errors import QueryError

_REGISTRY: Final = "pyspark.pipelines.graph_element_registry"
"""PySpark's module of the pipeline whose files are read; nobody imports it elsewhere."""

_NO_QUESTIONS: Final = "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION"
_NO_TABLE: Final = "TABLE_OR_VIEW_NOT_FOUND"


def is_in_pipeline() -> bool:
    """True while a file of a declarative pipeline is read."""
    registry = sys.modules.get(_REGISTRY)
    if registry is None:
        return False
    try:
        registry.get_active_graph_element_registry()
    except PySparkException:  # raised if no pipeline is being read
        return False
    return True


def check_outside_pipeline(call: str, instead: str) -> None:
    """Refuse a call in a file of a declarative pipeline.

    Args:
        call: The call, such as `write()`.
        instead: The advice in the error, for what the call would do.

    Raises:
        QueryError: A file of a pipeline is being read.
    """
    if is_in_pipeline():
        raise QueryError(
            f"{call} has no place in a declarative pipeline, which runs and writes its queries itself\n  {instead}"
        )


def without_schema(error: AnalysisException) -> QueryError | None:
    """Return the error for a query that asks Spark for the columns of a DataFrame in a file of a declarative pipeline.

    Spark does not answer such questions while it reads the files of a pipeline.

    Args:
        error: The error of Spark.

    Returns:
        The error with advice; None if the error of Spark has another reason.
    """
    condition = error.getCondition() or ""
    if condition == _NO_QUESTIONS:
        reason = "Spark does not tell the columns of a DataFrame inside a function of a declarative pipeline"
    elif condition == _NO_TABLE and is_in_pipeline():
        table = (error.getMessageParameters() or {}).get("relationName", "")
        reason = f"the table {table} does not exist: those of this pipeline come into being when it runs"
    else:
        return None
    return QueryError(f"{reason}\n  say what they are: events(..., schema='station string, at timestamp, km double')")
