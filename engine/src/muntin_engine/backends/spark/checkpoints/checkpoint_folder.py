"""The folder of a checkpoint: read by the driver where it sees the files, and otherwise by DataFrames.

So a checkpoint is read wherever Spark itself keeps it, and on Spark Connect as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from muntin_engine.backends.spark.session.kinds import is_connect
from muntin_engine.sinks.addresses import is_elsewhere, local_path, unpatterned
from muntin_engine.sinks.checkpoint_copy import is_same_place

_NUMBERED_FILE: Final = re.compile(r"/(\d+)/[^/]+$|/(\d+)$")
"""The path of a file whose name is a number, or of one in a folder whose name is a number."""

_OPERATOR_METADATA: Final = "state/*/_metadata/v2/*"
_PARTS_OF_OPERATOR_METADATA: Final = 5
"""The number of names in such a path."""

_PATH_NOT_FOUND: Final = "PATH_NOT_FOUND"


class CheckpointFolder:
    """The files of one checkpoint. Names of files are relative to its folder."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path

    @property
    def is_visible(self) -> bool:
        """True if the driver sees the files itself."""
        return not is_connect(self._spark) and not is_elsewhere(self._path)

    def files(self, folder: str) -> list[str]:
        """Return the addresses of the files in a folder and in the folders below it; none if there is no folder."""
        if self.is_visible and not (local_path(self._path) / folder).exists():
            return []  # not asked of Spark, which would log an error with a long stack of the JVM
        try:
            return self._lines(folder).inputFiles()
        except AnalysisException as error:
            if error.getCondition() == _PATH_NOT_FOUND:
                return []
            raise

    def text_by_spark(self, file: str) -> str:
        """Return the text of a file, as Spark reads it.

        Raises:
            PySparkException: The file cannot be read.
        """
        return "\n".join(row["value"] for row in self._lines(file).collect())

    def text(self, file: str) -> str:
        """Return the text of a file, which is read without Spark if the driver sees it; empty if there is no file."""
        if not self.is_visible:
            return self.text_by_spark(file) if self.files(file) else ""
        path = local_path(self._path) / file
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def operator_metadata(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each file with the metadata of a stateful operator."""
        if self.is_visible:
            folder = local_path(self._path)
            for path in sorted(folder.glob(_OPERATOR_METADATA)):
                if not path.name.startswith("."):
                    yield str(path.relative_to(folder)), path.read_text(encoding="utf-8", errors="replace")
            return
        for address in self.files(_OPERATOR_METADATA):
            # The name in the checkpoint is what the pattern matches, the last parts of the address.
            parts = address.rsplit("/", _PARTS_OF_OPERATOR_METADATA)[1:]
            name = "/".join(parts)
            yield name, self.text_by_spark(name)

    def lies_at(self, address: str) -> bool:
        """Return True if an address is that of this folder.

        Args:
            address: The address, with a scheme, as Spark writes it into its metadata.
        """
        if is_elsewhere(self._path) or is_elsewhere(address):
            return is_same_place(address, self._path)
        path = local_path(self._path)
        other_path = local_path(address)
        if other_path == path:
            return True
        # By way of a symbolic link, one folder has two paths.
        return self.is_visible and other_path.exists() and other_path.samefile(path)

    def exists(self, address: str) -> bool:
        """Return True if there is a file at an address in Spark's metadata, in this folder or outside of it."""
        if not is_elsewhere(address) and not is_connect(self._spark):
            return local_path(address).exists()
        try:
            return bool(self._spark.read.format("binaryFile").load(unpatterned(address)).inputFiles())
        except AnalysisException as error:
            if error.getCondition() == _PATH_NOT_FOUND:
                return False
            raise

    def _lines(self, path: str) -> DataFrame:
        """Return the lines of a file, or of all files in a folder."""
        reader = self._spark.read.format("text").option("recursiveFileLookup", "true")
        return reader.load(f"{unpatterned(self._path)}/{path}")


def numbers_in(files: list[str]) -> list[int]:
    """Return the numbers of micro-batches that name files, as in `commits/7`, or folders of files, as in `7/part-0`."""
    numbers: list[int] = []
    for file in files:
        match = _NUMBERED_FILE.search(file)
        if match is not None:
            numbers.append(int(match[1] or match[2]))
    return numbers
