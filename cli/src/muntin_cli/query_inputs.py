"""The inputs of a query in SQL: tables of files."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from muntin_cli.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS: Final = {".parquet": "parquet", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv"}
"""The formats of files, by how their names end."""

_OPTIONS: Final = {"csv": {"header": "true", "inferSchema": "true"}, "json": {"inferTimestamp": "true"}, "parquet": {}}
"""The options with which Spark finds the types of columns, by format: files of text do not say them."""

_WILDCARDS: Final = frozenset("*?[")
"""The characters that make a path a pattern."""


@dataclass(frozen=True)
class InputTable:
    """A table of files.

    Attributes:
        name: Name of the table in the query.
        path: Folder of the files, the only file, or a pattern of several.
        format: Format of the files, as Spark names it.
        files: Number of files at present.
    """

    name: str
    path: Path
    format: str
    files: int

    def static(self, spark: SparkSession) -> DataFrame:
        """Return the rows of the present files, with the types that Spark infers from them."""
        return spark.read.options(**_OPTIONS[self.format]).format(self.format).load(str(self.path))

    def streaming(self, spark: SparkSession) -> DataFrame:
        """Return the rows of present and later files as a stream, with the types that the present files have."""
        stream = spark.readStream.options(**_OPTIONS[self.format]).schema(self.static(spark).schema)
        folder = self.path
        pattern = "*"
        if not self.path.is_dir():
            # Spark streams folders only: a single file, or those of a pattern, are the folder's only ones that match.
            folder = self.path.parent
            pattern = self.path.name
        return stream.format(self.format).option("pathGlobFilter", pattern).load(str(folder))


def sql_in(file: Path) -> str:
    """Return the text of a query.

    Raises:
        UsageError: The file cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}\n  name a file with a query in SQL") from error


def tables_of(inputs: Sequence[str]) -> list[InputTable]:
    """Return the tables that values of `--input` name.

    Args:
        inputs: Values, each `NAME=PATH` or a path: of a file, which need not have its ending, of a folder of files, of
            a folder of such folders, or a pattern of files.

    Raises:
        UsageError: A path does not exist or has no readable files, or two tables have the same name.
    """
    tables: list[InputTable] = []
    for text in inputs:
        name, has_name, path_text = text.partition("=")
        if not has_name or "/" in name or os.sep in name:  # a path such as data/day=1, which has no name before it
            name = ""
            path_text = text
        if _WILDCARDS.isdisjoint(path_text):
            tables += _tables_at(text, name, path_text)
        else:
            tables.append(_table_of_pattern(text, name, path_text))
    # Names of tables in SQL do not differ by case.
    names = [table.name.casefold() for table in tables]
    for table in tables:
        if names.count(table.name.casefold()) > 1:
            raise UsageError(f"two inputs are called {table.name}\n  name one of them: --input other={table.name}")
    return tables


def _tables_at(text: str, name: str, path_text: str) -> list[InputTable]:
    """Return the tables of an input that is no pattern."""
    path = _existing(Path(path_text))
    if path is None:
        raise UsageError(f"--input {text}: there is no {path_text}\n  expected: a file, a folder, or NAME=FOLDER")
    if not _files(path):
        return _tables_inside(path)
    return [_table(name or path.resolve().stem, path, _files(path))]


def _existing(path: Path) -> Path | None:
    """Return a path that exists: itself, or with the ending of a format; None if there is none."""
    if path.exists():
        return path
    for suffix in FORMATS:
        file = path.with_name(f"{path.name}{suffix}")
        if file.is_file():
            return file
    return None


def _table_of_pattern(text: str, name: str, pattern: str) -> InputTable:
    """Return all files that a pattern names as one table.

    Raises:
        UsageError: The input has no name, or the pattern names no file that can be read.
    """
    if not name:
        raise UsageError(f"--input {text} is a pattern, and has no name\n  name it: --input 'rides={text}'")
    files: list[Path] = []
    for path in map(Path, sorted(glob.glob(pattern, recursive=True))):
        if path.is_file() and path.suffix.lower() in FORMATS:
            files.append(path)
    if not files:
        raise UsageError(
            f"--input {text}: there is no file {pattern} that can be read\n  expected: files named {', '.join(FORMATS)}"
        )
    return _table(name, Path(pattern), files)


def _tables_inside(folder: Path) -> list[InputTable]:
    """Return the folders inside a folder as tables, each by its own name."""
    tables: list[InputTable] = []
    if folder.is_dir():
        for part in sorted(folder.iterdir()):
            if part.is_dir() and _files(part):
                tables.append(_table(part.name, part, _files(part)))
    if not tables:
        raise UsageError(f"{folder} has no files that can be read\n  expected: files named {', '.join(FORMATS)}")
    return tables


def _files(path: Path) -> list[Path]:
    """Return the files of a table: the file itself, or the folder's, also in partition folders such as `day=1`."""
    if path.is_file():
        return [path] if path.suffix.lower() in FORMATS else []
    files: list[Path] = []
    for file in [*path.glob("*"), *path.glob("*=*/**/*")]:
        is_hidden = file.name[0] in "._"  # Spark ignores these, too
        if file.suffix.lower() in FORMATS and file.is_file() and not is_hidden:
            files.append(file)
    return files


def _table(name: str, path: Path, files: Sequence[Path]) -> InputTable:
    """Return files of one format as a table; a name in SQL has no hyphen."""
    formats = sorted({FORMATS[file.suffix.lower()] for file in files})
    if len(formats) > 1:
        raise UsageError(f"{path} has files of several formats, {' and '.join(formats)}\n  keep each in its own folder")
    return InputTable(name.replace("-", "_"), path, formats[0], len(files))
