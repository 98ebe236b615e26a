"""A keyed table of live rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from muntin.errors import QueryError
from muntin_engine.sinks.addresses import spark_address, spark_reading_address
from muntin_engine.sinks.distributed_rows import changelogs_of
from muntin_engine.sinks.sink import InformedSink
from muntin_engine.sinks.table_versions import Pointer, TableVersions
from muntin_engine.sinks.written_batch import WrittenBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession

_COLUMNS_OF_CHANGES = ("change", "event_id")
"""The columns that every changelog has, besides those of its rows."""


class ChangelogTable(InformedSink):
    """Folds results that may be retracted into a table of Parquet files, with a row per key and `event_id`.

    For results that may be retracted, as with `emit="speculative"` or `"eager"`. After each micro-batch the table is
    what `fold` makes of all changes so far. A reader sees it before a micro-batch or after it, never in between. A
    micro-batch that comes again is skipped. With each micro-batch the table keeps the output's watermark, so it can
    tell which rows are `final`.

    Cost: every micro-batch that changes something writes the whole table anew. It suits tables of up to some millions
    of rows; for larger ones, give `write` a function that hands `net_changes` to a `MERGE` of your own.

    Example:
        >>> str(ChangelogTable("bikes", key="station"))
        "ChangelogTable('bikes', key=['station'])"
    """

    guarantee = "exactly once"

    def __init__(self, path: str | PathLike[str], key: str | Sequence[str] | None = None) -> None:
        """Take a folder.

        Args:
            path: A path where there is nothing yet, or the output of an earlier run of the same query. The driver and
                the workers must see the same file system there.
            key: The key columns, which identify a row of the table together with `event_id`. None for the key columns
                of the query, which `Query.write` passes on.

        Raises:
            QueryError: The path is not one of this machine, such as a URL; or the key names no columns.
        """
        self._versions = TableVersions(path)
        self._path = path
        self._keys = None if key is None else _names(key)

    def __str__(self) -> str:
        keys = "" if self._keys is None else f", key={self._keys}"
        return f"ChangelogTable({str(self._path)!r}{keys})"

    @property
    def folder(self) -> Path:
        """The folder, absolute."""
        return self._versions.path

    @property
    def watermark(self) -> int | None:
        """The tick before which no later micro-batch changes the table; None if that is not known yet."""
        current = self._versions.current
        return None if current is None else current.watermark

    @property
    def last_written(self) -> WrittenBatch:
        """The last micro-batch that is in the table."""
        return self._versions.last_written

    def keyed_by(self, keys: Sequence[str]) -> None:
        """Take the keys of the output, unless the table was made with a key of its own.

        Raises:
            QueryError: The table's own key lacks a key of the output, so that two rows would be one.
        """
        if self._keys is None:
            self._keys = list(keys)
            return
        missing = [key for key in keys if key not in self._keys]
        if missing:
            raise QueryError(
                f"{self} lacks the key {missing[0]!r}: rows of the output are told apart by {', '.join(keys)}\n"
                "  leave key= out, and the table takes the query's own keys"
            )

    def check(self, columns: Sequence[str]) -> None:
        """Refuse results that are never retracted, keys that are not among their columns, and a folder of other files.

        Raises:
            QueryError: The output lacks a column, or the folder has files that no query wrote.
        """
        needed_columns = (*_COLUMNS_OF_CHANGES, *(self._keys or ()))
        missing = [name for name in needed_columns if name not in columns]
        if missing:
            raise QueryError(
                f"{self} needs the columns {', '.join(needed_columns)}, and the output has no {missing[0]!r}\n"
                "  expected results that may be retracted, as with emit='speculative' or 'eager', with key columns;\n"
                "  those that never are need no table to take them back from: give a path alone"
            )
        self._versions.check()

    def open(self, query_id: str) -> None:
        """Check that the folder belongs to the query."""
        with self._versions.locked():
            self._versions.claim(query_id)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Fold the changes of a micro-batch into the table, unless the table has them.

        Raises:
            StateError: The folder was deleted or emptied while the query ran, or its pointer is damaged.
        """
        # Taken also where nothing is written: the next micro-batch must not find the number of rows of this one.
        row_count = self._pop_row_count()
        with self._versions.locked():
            self._versions.check_owned()
            if not self._versions.last_written.includes(batch_id):
                self._publish(batch, batch_id, row_count)

    def _publish(self, batch: DataFrame, batch_id: int, row_count: int | None) -> None:
        """Publish the table after a micro-batch: a new version with its changes, or the current rows if it has none.

        Args:
            batch: The changes.
            batch_id: The number of the micro-batch.
            row_count: The number of changes; None if it is not known.
        """
        current_rows = self._versions.rows_folder
        is_empty = batch.isEmpty() if row_count is None else row_count == 0
        # The very first micro-batch makes a version even without rows, so that there is a schema to read.
        if current_rows is not None and is_empty:
            version = current_rows
        else:
            version = self._versions.new_version(batch_id)
            self._folded(batch, current_rows).write.parquet(spark_address(version))
        self._versions.publish(
            version,
            batch_id,
            watermark=self._watermark,
            is_revisable="new_end" in batch.columns,
            input_id=self._input_id,
        )

    def read(self, spark: SparkSession | ConnectSession) -> DataFrame:
        """Return the table as it is now: the columns of the results without `change` and `new_end`.

        Raises:
            FileNotFoundError: No micro-batch was written yet.
        """
        return spark.read.parquet(spark_reading_address(self._current().rows_folder(self.folder)))

    def final(self, spark: SparkSession | ConnectSession) -> DataFrame:
        """Return the rows of the table that no later micro-batch changes or takes away.

        Every later change inserts, retracts or revises a lifetime at or after the output's watermark. So a row whose
        lifetime starts before the watermark is not retracted any more. Where lifetimes may get other ends (the results
        have `new_end`), the lifetime must end before the watermark, too. Rows that are final stay final. Once the
        stream is closed, all rows are final.

        The lifetime is the column `lifetime`, or `window` where there is none.

        Raises:
            FileNotFoundError: No micro-batch was written yet.
        """
        current = self._current()
        rows = spark.read.parquet(spark_reading_address(current.rows_folder(self.folder)))
        changelogs = changelogs_of(rows)
        final_rows: DataFrame = changelogs.settled_rows(rows, current.watermark, is_revisable=current.is_revisable)
        return final_rows

    def _current(self) -> Pointer:
        """Return the current version of the table.

        Raises:
            FileNotFoundError: No micro-batch was written yet.
        """
        current = self._versions.current
        if current is None:
            raise FileNotFoundError(f"{self} has no micro-batch yet\n  read it when its query has written the first")
        return current

    def _folded(self, batch: DataFrame, current_rows: Path | None) -> DataFrame:
        """Return the rows of the table after the changes of a micro-batch.

        Args:
            batch: The changes.
            current_rows: The folder with the rows before the changes; None if the table has no version yet.
        """
        table: DataFrame | None = None
        if current_rows is not None:
            table = batch.sparkSession.read.parquet(spark_reading_address(current_rows))
        live_rows: DataFrame = changelogs_of(batch).live_rows(batch, self._keys, table)
        return live_rows


def _names(key: object) -> list[str]:
    """Return the names of key columns, given as one name or several.

    Raises:
        QueryError: A name is no text.
    """
    names: list[Any] = [key]
    if isinstance(key, Iterable) and not isinstance(key, str):
        names = list(key)
    if not all(isinstance(name, str) for name in names):
        raise QueryError(f"key={key!r} names no columns\n  expected: a name, or a list of names, as in key='station'")
    return names
