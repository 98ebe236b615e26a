"""Parquet files by micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from muntin.errors import QueryError
from muntin_engine.sinks.addresses import spark_reading_address
from muntin_engine.sinks.batch_folders import COLUMN, batch_folders_at
from muntin_engine.sinks.distributed_rows import changelogs_of
from muntin_engine.sinks.sink import InformedSink
from muntin_engine.sinks.written_batch import WrittenBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession


class ParquetFolder(InformedSink):
    """Writes each micro-batch as a folder of Parquet files, put in place by renaming.

    On this machine's file system, or one that the driver and the workers share, the workers write the files. Anywhere
    else that pyarrow or fsspec knows, as on S3, the driver writes one file for each micro-batch, `rows.parquet`: rows
    pass through its memory, up to 100,000 of them at once, beyond that one partition at a time.

    Spark reads all of them with `spark.read.parquet(path)`, and adds a column `batch`, the number of the micro-batch;
    pandas and Arrow do too. A reader sees a micro-batch whole or not at all. A micro-batch that comes again replaces
    what it wrote, so each row is there once.

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
            path: A path where there is nothing yet, or the output of an earlier run of the same query. The driver and
                the workers must see the same file system there. Otherwise an address such as `s3://bucket/results`,
                with options of pyarrow's behind a `?`.

        Raises:
            QueryError: The argument is neither a path nor an address.
        """
        self._folders = batch_folders_at(path)
        self._path = self._folders.path if self._folders.is_elsewhere else path

    def __str__(self) -> str:
        return f"ParquetFolder({str(self._path)!r})"

    @property
    def folder(self) -> Path | None:
        """The folder, absolute; None if it is not on this machine's file system."""
        return None if self._folders.is_elsewhere else self._folders.path

    @property
    def destination(self) -> str:
        """The absolute path of the folder, or its address."""
        return str(self._folders.path)

    @property
    def watermark(self) -> int | None:
        """The tick before which no later micro-batch changes anything.

        None if that is not known yet, and always for another output than the results, such as late rows: sinks get the
        watermark of results alone.
        """
        last_record = self._folders.last_record
        return None if last_record is None else last_record.watermark

    @property
    def last_written(self) -> WrittenBatch:
        """The last micro-batch that is in the folder."""
        return self._folders.last_written

    def check(self, columns: Sequence[str]) -> None:
        """Refuse an output that has a column `batch`, and a folder with files that no query wrote.

        Readers get a column of that name from the names of the folders, `batch=7` and so on.

        Raises:
            QueryError: The output has such a column, or the folder has files that no query wrote.
        """
        if COLUMN in map(str.lower, columns):
            raise QueryError(
                f"a ParquetFolder adds a column {COLUMN!r}, and the output has one already\n"
                "  give that another name, or write with a function"
            )
        self._folders.check()

    def open(self, query_id: str) -> None:
        """Check that the folder belongs to the query."""
        with self._folders.locked():
            self._folders.claim(query_id)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Put the rows of a micro-batch in place, and then record that they are, with the watermark.

        If the micro-batch comes again, its rows replace those that the earlier attempt wrote.

        Raises:
            StateError: The folder was deleted or emptied while the query ran.
        """
        with self._folders.locked():
            self._folders.check_owned()
            self._folders.undo_record(batch_id)
            self._replace_rows(batch, batch_id, self._pop_row_count())
            self._folders.record_batch(batch_id, watermark=self._watermark, input_id=self._input_id)

    def _replace_rows(self, batch: DataFrame, batch_id: int, row_count: int | None) -> None:
        """Put the rows of a micro-batch in the place of those of an earlier attempt.

        A micro-batch without rows has no folder, except for the very first one.

        Args:
            batch: The rows.
            batch_id: The number of the micro-batch.
            row_count: The number of rows; None if it is not known.
        """
        is_empty = batch.isEmpty() if row_count is None else row_count == 0
        # The very first micro-batch makes a folder even without rows, so that there is a schema to read.
        if is_empty and not self._folders.is_empty:
            self._folders.drop(batch_id)
            return
        staged = self._folders.stage(batch, row_count)
        self._folders.put(staged, batch_id)

    def final(self, spark: SparkSession | ConnectSession) -> DataFrame:
        """Return the rows that no later micro-batch changes or retracts, without the column `batch`; see `final_rows`.

        Raises:
            FileNotFoundError: No micro-batch was written yet.
            QueryError: The folder is not on this machine's file system.
        """
        if self._folders.is_elsewhere:
            raise QueryError(
                f"{self} is not on this machine's file system, and Spark reads it by a connector of its own\n"
                "  read it, and ask: final_rows(spark.read.parquet(address), folder.watermark)"
            )
        # Rows and watermark have to be of one moment, so both are read again if the record has changed meanwhile.
        while True:
            # The record is read before Spark lists the files: the watermark of a newer record would count rows as
            # written that are not in the list.
            last_record = self._folders.last_record
            if self._folders.is_empty:
                raise FileNotFoundError(
                    f"{self} has no micro-batch yet\n  read it when its query has written the first"
                )
            rows = spark.read.parquet(spark_reading_address(self._folders.path)).drop(COLUMN)
            if self._folders.last_record == last_record:  # nothing was replaced while Spark listed the files
                watermark = None if last_record is None else last_record.watermark
                final_rows: DataFrame = changelogs_of(rows).final_rows(rows, watermark, key=None)
                return final_rows
