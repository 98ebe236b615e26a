"""A keyed table of what stands."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from muntin import QueryError
from muntin_engine.writing.local_folder import address
from muntin_engine.writing.sink import Sink
from muntin_engine.writing.table_versions import TableVersions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin_engine.spark.sessions import AnySession

_NEEDED = ("change", "event_id")


class ChangelogTable(Sink):
    """Keeps the results that stand in a table of Parquet files: insertions come in, retractions go, revisions change.

    For results that may be retracted, as with `emit="speculative"` or `"eager"`. After each micro-batch the table is
    what `fold` makes of all changes so far. A reader sees it before a micro-batch or after it, never in between, and a
    micro-batch that comes again changes nothing.

    Cost: every micro-batch that changes something writes the whole table anew. It suits tables of up to some millions
    of rows; for larger ones, give `write` a function that hands `net_changes` to a `MERGE` of your own.

    Example:
        >>> str(ChangelogTable("bikes", key="station"))
        "ChangelogTable('bikes', key=['station'])"
    """

    def __init__(self, path: str | PathLike[str], key: str | Sequence[str] = ()) -> None:
        """Take a folder.

        Args:
            path: Where there is nothing yet, or what an earlier run of the same query left. The driver and the workers
                must see the same file system there.
            key: The query's key columns. With `event_id` they name a row of the table.

        Raises:
            QueryError: The path is a URL.
        """
        self._path = path
        self._keys = [key] if isinstance(key, str) else list(key)
        self._versions = TableVersions(path)

    def __str__(self) -> str:
        return f"ChangelogTable({str(self._path)!r}, key={self._keys})"

    @property
    def folder(self) -> Path:
        """The folder, absolute."""
        return self._versions.path

    def check(self, columns: Sequence[str]) -> None:
        """Refuse results that are final, and keys that are none of theirs."""
        missing = [name for name in (*_NEEDED, *self._keys) if name not in columns]
        if missing:
            raise QueryError(
                f"{self} needs the columns {', '.join((*_NEEDED, *self._keys))}, and the output has no {missing[0]!r}\n"
                "  expected results that may be retracted, as with emit='speculative' or 'eager', with key columns;\n"
                "  those that never are need no table to take them back from: give a path alone"
            )
        self._versions.check()

    def open(self, query_id: str) -> None:
        """See that the folder belongs to the query."""
        self._versions.claim(query_id)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Fold the changes of a micro-batch into the table."""
        if self._versions.has(batch_id):
            return
        before = self._versions.rows
        if before is not None and batch.isEmpty():
            self._versions.turn_to(before, batch_id)
            return
        after = self._versions.next(batch_id)
        self._folded(batch, before).write.parquet(address(after))
        self._versions.turn_to(after, batch_id)

    def read(self, spark: AnySession) -> DataFrame:
        """Return the table as it is now: the columns of the results without `change` and `new_end`.

        Raises:
            FileNotFoundError: No micro-batch was written yet.
        """
        rows = self._versions.rows
        if rows is None:
            raise FileNotFoundError(f"{self} has no micro-batch yet\n  read it when its query has put out the first")
        return spark.read.parquet(address(rows))

    def _folded(self, batch: DataFrame, before: Path | None) -> DataFrame:
        from muntin_engine.spark.changelog import standing

        table = None if before is None else batch.sparkSession.read.parquet(address(before))
        return standing(batch, self._keys, table)
