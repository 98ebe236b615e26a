"""The calls that add up results which may be retracted: the table of a changelog, and the rows that are final."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from muntin_engine.backends.choosing import backend_of

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
    return backend_of(changelog).changelogs.fold(changelog, key)


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
    compute_itself = getattr(type(batch), "net_changes", None)
    if compute_itself is not None:  # a batch of `muntin_engine.testing`
        changes: DataFrame = compute_itself(batch, key)
        return changes
    return backend_of(batch).changelogs.net_changes(batch, key)


def final_rows(results: DataFrame, watermark: int | None, key: str | Sequence[str] | None = None) -> DataFrame:
    """Return the rows of results that no later micro-batch changes, takes away or adds to.

    Every later change has a sync time at or after the output's watermark. So a row is final where its lifetime starts
    before the watermark; and where lifetimes may get other ends (there is a `new_end`), where it ends before it too.
    Rows that are final stay so, and once the stream is closed all are. Results that are neither early nor a changelog
    are final when they are emitted: all are returned.

    Of early results that are not retracted, all firings of a window are returned once its last one is among them; as
    before, the last counts with `refinement="accumulate"`, and their sum with `"discard"`.

    Args:
        results: All results so far, as a static DataFrame, with the columns that `fold` needs if they have `change`,
            and with `lifetime`, or `window` if that is the lifetime.
        watermark: The output watermark after one of the micro-batches that are in the results, in ticks: as a function
            gets it that writes results and has a parameter `watermark`, as `Sink.take_watermark` and
            `ParquetFolder.watermark` have it, and `batch_metrics`. Read it before the results. None: none is known, and
            no row is final that could change.
        key: The query's key columns, as in `fold`.

    Returns:
        The columns of the results; of a changelog those that `fold` returns.

    Raises:
        QueryError: As for `fold`; or the rows have no lifetime.

    Cost:
        One shuffle of a changelog; none otherwise.
    """
    return backend_of(results).changelogs.final_rows(results, watermark, key)
