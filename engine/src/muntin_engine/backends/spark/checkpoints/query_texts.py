"""The text of queries in a checkpoint: kept when they start, read without the program that started them."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from pyspark.sql import SparkSession

from muntin.errors import QueryError
from muntin_engine.backends.planned_query import PlannedQuery
from muntin_engine.backends.spark.checkpoints.checkpoint import Checkpoint
from muntin_engine.backends.spark.inputs.column_lookup import text_of_column
from muntin_engine.backends.spark.session.ended import in_session
from muntin_engine.errors import StateError
from muntin_engine.plan.query_as_text import text_of


def text_or_reason(queries: Mapping[str, PlannedQuery]) -> Mapping[str, Any] | str:
    """Return the text of queries, as data; or, in words, the reason why they have none.

    A query runs whether or not it has a text. A column of PySpark, for example, may have no spelling in SQL.

    Args:
        queries: The queries by name; the name of a query that is written alone is empty.
    """
    try:
        steps_by_query = {name: query.steps for name, query in queries.items()}
        return text_of(steps_by_query, tables={}, spell_column=text_of_column)
    except QueryError as error:
        return str(error)


@in_session()
def read_query(spark: SparkSession, checkpoint: str | PathLike[str]) -> Mapping[str, Any]:
    """Return the query of a checkpoint as data, or the queries of one pass, as they were when they last ran.

    Neither their program nor their modules are needed. `query_from_dict` makes the query of it again, and
    `one_pass_from_dict` the queries of one pass. `Query.write` keeps the text in the checkpoint with its first
    micro-batch, and again whenever the query was started with another text.

    Args:
        spark: The session that reads it.
        checkpoint: The checkpoint; a query may run on it meanwhile.

    Returns:
        The same data as `to_dict` of the query or the pass. DataFrames are called `input`, `input_2` and so on.

    Raises:
        StateError: The checkpoint has no text: no micro-batch was committed, the query was started by `writeStream`, or
            text cannot hold one of its arguments, which the message names. Or the record in the checkpoint is damaged.
    """
    stored_checkpoint = Checkpoint(spark, checkpoint)
    text = stored_checkpoint.text
    if isinstance(text, Mapping):
        return text
    if stored_checkpoint.last_commit < 0:
        reason = (
            "no micro-batch was committed yet\n  expected: the checkpoint of a query, as in query.write(checkpoint=...)"
        )
    else:
        reason = text or (
            "only write(...) keeps it, and the query was started by writeStream\n"
            "  keep query.to_dict() beside the program, or start the query by query.write(...)"
        )
    raise StateError(f"the checkpoint {checkpoint} has no text of its query: {reason}")
