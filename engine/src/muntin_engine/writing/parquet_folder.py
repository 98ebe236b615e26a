"""Parquet files by micro-batch."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from muntin import QueryError
from muntin_engine.writing.batch_folders import COLUMN, BatchFolders
from muntin_engine.writing.local_folder import address
from muntin_engine.writing.sink import Sink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class ParquetFolder(Sink):
    """Writes each micro-batch as a folder of Parquet files, put in place by renaming.

    Spark reads all of them with `spark.read.parquet(path)`, and adds a column `batch`, the number of the micro-batch;
    pandas and Arrow do too. A reader sees a micro-batch whole or not at all. One that comes again replaces what it
    wrote, so each row is there once.

    A micro-batch without rows makes no folder, but the very first does, so that there is a schema to read.

    Example:
        >>> str(ParquetFolder("results"))
        "ParquetFolder('results')"
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Take a folder.

        Args:
            path: Where there is nothing yet, or what an earlier run of the same query left. The driver and the workers
                must see the same file system there.

        Raises:
            QueryError: It is no path, or none of this machine, such as a URL.
        """
        self._path = path
        self._folders = BatchFolders(path)

    def __str__(self) -> str:
        return f"ParquetFolder({str(self._path)!r})"

    @property
    def folder(self) -> Path:
        """The folder, absolute."""
        return self._folders.path

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
        self._folders.claim(query_id)

    def write(self, batch: DataFrame, batch_id: int) -> None:
        """Put the rows of a micro-batch in place."""
        self._folders.check_owned()
        if batch.isEmpty() and not self._folders.is_empty:
            self._folders.drop(batch_id)
            return
        batch.write.parquet(address(self._folders.staged()))
        self._folders.put(batch_id)
