"""The calls that add up results with retractions: the table of a changelog, its net changes, and its final rows."""

from __future__ import annotations

from collections.abc import Sequence

from muntin_engine.api.input_types import FrameT
from muntin_engine.backends.choosing import backend_of


def fold(changelog: FrameT, key: str | Sequence[str] | None = None) -> FrameT:
    """Return the table that a changelog adds up to: the results of `emit="final"` once every window is complete.

    Args:
        changelog: All results so far of a query that may retract results, as with `emit="speculative"` or `"eager"`, as
            a static DataFrame; the order of its rows does not matter. Columns may be left out, except `change`,
            `event_id`, the keys and, if there is a `new_end`, `lifetime`. An added column that differs among the
            changes of a result, such as the `batch` of a ParquetFolder, gets any of its values.
        key: The query's key columns; `()` if it has none. None: the keys that the changelog itself names; results of
            Muntin name them, even after they were written to Parquet files and read again.

    Returns:
        The columns of the changelog without `change`, `event_id` and `new_end`. The ends in `lifetime` are those to
        which results were revised last.

    Raises:
        QueryError: A required column is missing, the keys are not known, a key is left out, or the changelog is a
            stream.

    Cost:
        One shuffle of the changelog.
    """
    table: FrameT = backend_of(changelog).changelogs.fold(changelog, key)
    return table


def net_changes(batch: FrameT, key: str | Sequence[str] | None = None) -> FrameT:
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
        At most one row per key and `event_id`. Its `change` is `upsert`, with the row as it is from now on, or
        `delete`. A row that is inserted and retracted within the batch is left out. There is no `new_end`: `lifetime`
        has the new end.

    Raises:
        QueryError: A required column is missing, the keys are not known, or a key is left out.
    """
    net_changes_of_batch = getattr(type(batch), "net_changes", None)
    changes: FrameT
    if net_changes_of_batch is not None:  # a batch that `muntin_engine.testing` made, which no backend knows
        changes = net_changes_of_batch(batch, key)
    else:
        changes = backend_of(batch).changelogs.net_changes(batch, key)
    return changes


def final_rows(results: FrameT, watermark: int | None, key: str | Sequence[str] | None = None) -> FrameT:
    """Return the rows of results that no later micro-batch changes, retracts or adds to.

    Every later change has a sync time at or after the output watermark. So a row is final if its lifetime starts before
    the watermark; if lifetimes may get other ends (there is a `new_end`), it has to end before the watermark as well.
    Final rows stay final, and once the stream is closed all rows are final. Results that are neither early nor a
    changelog are final when they are emitted: all are returned.

    For early results that are not retracted, all firings of a window are returned once its last one is among them: with
    `refinement="accumulate"` the last one counts, with `"discard"` their sum.

    Args:
        results: All results so far, as a static DataFrame, with the columns that `fold` needs if they have `change`,
            and with `lifetime`, or `window` if that is the lifetime.
        watermark: The output watermark after one of the micro-batches in the results, in ticks, as
            `Sink.take_watermark`, `ParquetFolder.watermark` and `batch_metrics` have it. Read it before the results.
            None: the watermark is not known, and no row is final that could change.
        key: The query's key columns, as in `fold`.

    Returns:
        The columns of the results; for a changelog the columns that `fold` returns.

    Raises:
        QueryError: As for `fold`; or the rows have no lifetime.

    Cost:
        One shuffle of a changelog; none otherwise.
    """
    rows: FrameT = backend_of(results).changelogs.final_rows(results, watermark, key)
    return rows
