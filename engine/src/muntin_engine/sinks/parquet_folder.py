"""Parquet files by micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from muntin import EARLIEST
from muntin.errors import QueryError
from muntin_engine.sinks.batch_folders import COLUMN, BatchFolders
from muntin_engine.sinks.distributed_rows import changelogs_of
from muntin_engine.sinks.local_folder import address, reading_address
from muntin_engine.sinks.rows_on_driver import write_file
from muntin_engine.sinks.sink import InformedSink, WrittenBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession


class ParquetFolder(InformedSink):
    """Writes each micro-batch as a folder of Parquet files, put in place by renaming.

    On this machine's file system, or one that the driver and the workers share, the workers write the files. Anywhere
    else that pyarrow or fsspec knows, as on S3, the driver writes one file for each micro-batch, `rows.parquet`: rows
    pass through its memory, up to 100,000 of them at once, beyond that one partition at a time.

    Spark reads all of them with `spark.read.parquet(path)`, and adds a column `batch`, the number of the micro-batch;
    pandas and Arrow do too. A reader sees a micro-batch whole or not at all. One that comes again replaces what it
    wrote, so each row is there once.

    A micro-batch without rows makes no folder, but the very first does, so that there is a schema to read.

    A folder of results keeps the output watermark beside them, so it can tell which rows are `final`.

    Example:
        >>> str(ParquetFolder("results"))
        "ParquetFolder('results')"
    """

    guarantee = "exactly once"

    def __init__(self, path: str | PathLike[str]) -> None:
        """Take a folder.

        Args:
            path: Where there is nothing yet, or what an earlier run of the same query left. Of a path of the machine,
                the driver and the workers must see the same file system there. Otherwise an address such as
                `s3://bucket/results`, with what pyarrow takes as options behind a `?`.

        Raises:
            QueryError: It is neither.
        """
        self._folders = BatchFolders(path)
        self._path = self._folders.path if self._folders.is_elsewhere else path

    def __str__(self) -> str:
        return f"ParquetFolder({str(self._path)!r})"

    @property
    def folder(self) -> Path | None:
        """The folder, absolute; None if it is not on this machine's file system."""
        return None if self._folders.is_elsewhere else self._folders.path

    @property
    def place(self) -> str:
        """The folder, absolute, or its address."""
        return str(self._folders.path)

    @property
    def watermark(self) -> int | None:
        """The tick before which no later micro-batch changes anything; None if that is not known, as of late rows."""
        kept = self._folders.last
        return None if kept is None or kept.tick == EARLIEST else kept.tick

    @property
    def last_written(self) -> WrittenBatch:
        """The last micro-batch that is in the folder."""
        return self._folders.last_written

    def check(self, columns: Sequence[str]) -> None:
        """Refuse a column that readers could not tell from the number of the micro-batch, and a folder in use."""
        if COLUMN in map(str.lower, columns):
            raise QueryError(
                f"a ParquetFolder adds a column {COLUMN!r}, and the output has one already\n"
                "  give that another name, or write with a function"
            )
        self._folders.check()

    def open(self, query_id: str) -> None:
        """See that the folder belongs to the query."""
        with self._folders.alone():
            self._folders.claim(query_id)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Put the rows of a micro-batch in place, and then keep that they are, with the watermark."""
        with self._folders.alone():
            self._write(batch, batch_id)

    def _write(self, batch: DataFrame, batch_id: int) -> None:
        self._folders.check_owned()
        self._folders.go_back(batch_id)
        count, self._count = self._count, None
        is_empty = batch.isEmpty() if count is None else not count
        if is_empty and not self._folders.is_empty:
            self._folders.drop(batch_id)
        else:
            if self._folders.is_elsewhere:
                write_file(batch, count, self._folders.staged())
            else:
                batch.write.parquet(address(self._folders.staged()))
            self._folders.put(batch_id)
        self._folders.keep(batch_id, self._watermark, self._read)

    def final(self, spark: SparkSession | ConnectSession) -> DataFrame:
        """Return the rows that no later micro-batch changes, takes away or adds to, without `batch`; see `final_rows`.

        Raises:
            FileNotFoundError: No micro-batch was written yet.
            QueryError: The folder is not on this machine's file system.
        """
        if self._folders.is_elsewhere:
            raise QueryError(
                f"{self} is not on this machine's file system, and Spark reads it by a connector of its own\n"
                "  read it, and ask: final_rows(spark.read.parquet(address), folder.watermark)"
            )
        while True:
            kept = self._folders.last  # first, so that what it speaks of is read
            if self._folders.is_empty:
                raise FileNotFoundError(
                    f"{self} has no micro-batch yet\n  read it when its query has written the first"
                )
            rows = spark.read.parquet(reading_address(self._folders.path)).drop(COLUMN)
            if self._folders.last == kept:  # nothing was replaced while Spark listed the files
                watermark = None if kept is None else kept.tick
                return changelogs_of(rows).final_rows(rows, watermark, key=None)
