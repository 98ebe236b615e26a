"""The texts of queries in a checkpoint: kept when they start, read without the program that started them."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from pyspark.sql import SparkSession

from muntin.errors import QueryError
from muntin_engine.api.planned_query import PlannedQuery
from muntin_engine.api.text.writing import query_to_data
from muntin_engine.errors import StateError
from muntin_engine.spark.session.ended import in_session
from muntin_engine.spark.writing.checkpoints import Checkpoint


def kept_text(query: PlannedQuery) -> Mapping[str, Any] | str:
    """Return the text of a query that starts; or, in words, why it has none, as a query runs without a text too."""
    try:
        return query_to_data(query.steps, {})
    except QueryError as error:
        return str(error)


@in_session()
def read_query(spark: SparkSession, checkpoint: str | PathLike[str]) -> dict[str, Mapping[str, Any]]:
    """Return the queries of a checkpoint as data, as they were when they last ran.

    Neither their program nor their modules are needed. `query_from_dict` makes a query of one again.

    Args:
        spark: The session that reads it.
        checkpoint: The checkpoint; a query may run on it meanwhile.

    Returns:
        What `Query.to_dict` returned, by the names of the queries of one pass. The name of a query that was written
        alone is empty. DataFrames are called `input`, `input_2` and so on.

    Raises:
        StateError: There is no text: no micro-batch was committed, the query was started by `writeStream`, or it has
            an argument that text cannot hold, which is said; or the record is damaged.
    """
    known = Checkpoint(spark, checkpoint)
    texts = known.texts
    if known.last_commit < 0:
        why = (
            "no micro-batch was committed yet\n  expected: the checkpoint of a query, as in query.write(checkpoint=...)"
        )
    elif not texts:
        why = (
            "only write(...) keeps it, and the query was started by writeStream\n"
            "  keep query.to_dict() beside the program, or start the query by query.write(...)"
        )
    else:
        why = "\n".join(f"{name}: {told}" if name else told for name, told in texts.items() if isinstance(told, str))
    if why:
        raise StateError(f"the checkpoint {checkpoint} has no text of its query: {why}")
    return {name: text for name, text in texts.items() if not isinstance(text, str)}
