"""The table that a changelog adds up to, with DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def fold(changelog: DataFrame, key: str | Sequence[str] | None = None) -> DataFrame:
    """Return the table that a changelog adds up to: what `emit="final"` gives once every window is complete.

    Args:
        changelog: All results so far of a query that may retract them, as with `emit="speculative"` or `"eager"`, as a
            static DataFrame; the order of its rows does not matter. Columns may be left out, but for `change`,
            `event_id`, the keys and, where there is a `new_end`, `lifetime`. Of an added one that differs among the
            changes of a result, such as the `batch` of a ParquetFolder, any value is taken.
        key: The query's key columns; `()` if it has none. None: those that the changelog says it has, which Muntin's
            results say, also after they were written to Parquet files and read again.

    Returns:
        The columns of the changelog without `change`, `event_id` and `new_end`; `lifetime` as revised last.

    Raises:
        QueryError: A column that is needed is missing, the keys are not known, one of them is left out, or the
            changelog is a stream.

    Cost:
        One shuffle of the changelog.
    """
    from muntin_engine.spark.changelog import folded

    return folded(changelog, key)


def net_changes(batch: DataFrame, key: str | Sequence[str] | None = None) -> DataFrame:
    """Return the net changes of a micro-batch of a changelog to a table that is keyed by `key` and `event_id`.

    For a `MERGE` of your own:

        MERGE INTO bikes AS t USING net AS n
        ON t.station <=> n.station AND t.event_id = n.event_id
        WHEN MATCHED AND n.change = 'delete' THEN DELETE
        WHEN MATCHED THEN UPDATE SET *
        WHEN NOT MATCHED AND n.change = 'upsert' THEN INSERT *

    Args:
        batch: Changes, as in `fold`: one micro-batch, or several that follow each other.
        key: The query's key columns, as in `fold`.

    Returns:
        At the most one row per key and `event_id`. Its `change` is `upsert`, with the row as it is from now on, or
        `delete`. A row that comes and goes within the batch is left out. There is no `new_end`; `lifetime` has it.

    Raises:
        QueryError: A column that is needed is missing, the keys are not known, or one of them is left out.
    """
    from muntin_engine.spark.changelog import netted

    return netted(batch, key)
