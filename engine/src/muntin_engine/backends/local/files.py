"""Files of Parquet, CSV and JSON, read by DuckDB.

DuckDB finds out how a file is written, and fills in what some of several files lack. A query would then have fewer rows
or other values than its writer thinks, so that files are read strictly, and what they do not have in common is refused.
"""

from __future__ import annotations

import csv
import glob
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

import duckdb

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.file_parts import FilePart, parts_of
from muntin_engine.backends.local.frame_kind import (
    FrameColumns,
    FrameKind,
    changed_since,
    columns_of_relation,
    keys_in,
    reason_of,
)

_WILDCARDS: Final = frozenset("*?[")

_WHOLE_NUMBERS: Final = frozenset({"int8", "int16", "int32", "int64"})
_FLOATS: Final = frozenset({"float", "double"})

_HUGE_INTEGER: Final = re.compile(r"\bHUGEINT(?=[\[\],)]|$)")
"""The word for whole numbers of 128 bits in a type of DuckDB's; after the name of a field there is a space."""

_MOST_FILES: Final = 2**31 - 1
"""More files than there are."""


class FileFormat(ABC):
    """A format of files.

    Attributes:
        word: The word for a column of such files, for messages.
    """

    word: ClassVar[str]

    @abstractmethod
    def rows(self, connection: duckdb.DuckDBPyConnection, paths: list[str]) -> duckdb.DuckDBPyRelation:
        """Return the rows of files.

        Args:
            connection: The connection on which they are read.
            paths: Their paths, in which DuckDB is not to find the characters of patterns.

        Raises:
            QueryError: A file cannot be read.
        """

    @abstractmethod
    def columns_of_file(self, path: str) -> list[tuple[str, str]] | None:
        """Return the names and types of the columns of a file; None if each row has its own.

        A type is empty if all files have those of DuckDB.
        """

    def keys_of_changelog(self, path: str) -> list[str] | None:
        """Return the key columns that a changelog names; None for a format that does not keep metadata."""
        del path
        return None


class ParquetFiles(FileFormat):
    """Files of Parquet."""

    word: ClassVar[str] = "Parquet column"

    def rows(self, connection: duckdb.DuckDBPyConnection, paths: list[str]) -> duckdb.DuckDBPyRelation:
        """Return the rows of files."""
        return connection.read_parquet(list(map(glob.escape, paths)), union_by_name=True)

    def columns_of_file(self, path: str) -> list[tuple[str, str]]:
        """Return the names and types of the columns of a file."""
        import pyarrow.parquet as pq

        schema = pq.read_schema(path)
        return [(field.name, str(field.type)) for field in schema]

    def keys_of_changelog(self, path: str) -> list[str] | None:
        """Return the key columns that a changelog names, as Muntin or Spark wrote it."""
        import pyarrow.parquet as pq

        return keys_in(pq.read_schema(path))


class CsvFiles(FileFormat):
    """Files of CSV, whose first line has the names of columns.

    Dates and times are written as ISO 8601 has them, as for Spark; other text stays text.
    """

    word: ClassVar[str] = "CSV column"

    def rows(self, connection: duckdb.DuckDBPyConnection, paths: list[str]) -> duckdb.DuckDBPyRelation:
        """Return the rows of files."""
        for path in paths:
            if os.path.getsize(path) == 0:
                raise QueryError(f"the file {path!r} is empty\n  expected: a first line with the names of columns")
        try:
            return connection.read_csv(
                list(map(glob.escape, paths)),
                header=True,
                delimiter=_delimiter(paths[0]),
                quotechar='"',
                escapechar='"',
                comment="",
                skiprows=0,
                allow_quoted_nulls=False,
                date_format="%Y-%m-%d",
                timestamp_format="%Y-%m-%d %H:%M:%S",
                union_by_name=True,
            )
        except duckdb.Error as error:
            for path in paths:
                _check_lines(path, _delimiter(paths[0]))
            raise QueryError(f"{paths[0]!r} cannot be read: {reason_of(error)}") from error

    def columns_of_file(self, path: str) -> list[tuple[str, str]]:
        """Return the names in the first line of a file."""
        with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
            names = next(csv.reader(file, delimiter=_delimiter(path)), [])
        return [(name.strip() or f"column{place}", "") for place, name in enumerate(names)]


class JsonFiles(FileFormat):
    """Files of JSON: an object a line, or one array of them. A key that an object lacks is null, as on Spark."""

    word: ClassVar[str] = "JSON column"

    def rows(self, connection: duckdb.DuckDBPyConnection, paths: list[str]) -> duckdb.DuckDBPyRelation:
        """Return the rows of files, after a look at all of them: a column may be in the last row alone."""
        if all(os.path.getsize(path) == 0 for path in paths):
            raise QueryError(f"the file {paths[0]!r} is empty\n  expected: an object a line")
        rows = connection.read_json(
            list(map(glob.escape, paths)), sample_size=-1, maximum_sample_files=_MOST_FILES, union_by_name=True
        )
        return _with_whole_numbers_of_64_bits(rows)

    def columns_of_file(self, path: str) -> None:
        """Return nothing: each object has keys of its own."""
        del path


_FORMATS: Final[Mapping[str, FileFormat]] = {
    ".parquet": ParquetFiles(),
    ".csv": CsvFiles(),
    ".json": JsonFiles(),
    ".jsonl": JsonFiles(),
    ".ndjson": JsonFiles(),
}
"""The formats, by the ending of a file's name."""


class Files(FrameKind):
    """A file of Parquet, CSV or JSON, several by a pattern, or a folder of such files."""

    word: ClassVar[str] = "column of files"

    def takes(self, frame: object) -> bool:
        """Say whether an object is a path."""
        return isinstance(frame, str | os.PathLike)

    def columns(self, connection: duckdb.DuckDBPyConnection, frame: Any) -> FrameColumns:
        """Describe the columns of the files."""
        path = os.fspath(frame)
        paths, file_format = _files_of(frame)
        columns = columns_of_relation(_rows(connection, path, paths, file_format), file_format.word)
        return replace(columns, refusals=_refusals(columns.names, columns.names, path, paths, file_format))

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of the files, their rows in the order of the names of files.

        Raises:
            QueryError: A file cannot be read, or files have come that do not fit the others.
        """
        path = os.fspath(frame)
        paths, file_format = _files_of(frame)
        rows = _rows(connection, path, paths, file_format)
        if isinstance(frame, FilePart) and frame.condition is not None:
            rows = rows.filter(frame.condition)
        for name in names:
            if name not in rows.columns:
                raise changed_since(f"{path!r} has no column {name!r} any more")
        refusals = _refusals(names, rows.columns, path, paths, file_format)
        for refusal in refusals.values():
            raise QueryError(refusal)
        return rows.project(", ".join(map(quoted, names)))

    def row_count(self, frame: Any) -> int | None:
        """Return the number of rows of a part of files."""
        return frame.rows if isinstance(frame, FilePart) else None

    def parts(self, frame: Any) -> list[FilePart]:
        """Return parts of files of Parquet, which say where rows begin; others are read from their beginning."""
        paths, file_format = _files_of(frame)
        return parts_of(os.fspath(frame), paths) if isinstance(file_format, ParquetFiles) else []

    def subject(self, frame: Any) -> str:
        """Return the path."""
        return repr(os.fspath(frame))

    def keys_of_changelog(self, frame: Any) -> list[str] | None:
        """Return the key columns that a changelog names in its first file."""
        paths, file_format = _files_of(frame)
        return file_format.keys_of_changelog(paths[0])


def _files_of(frame: str | os.PathLike[str]) -> tuple[list[str], FileFormat]:
    """Return the files that a path names, in the order of their names, and their format.

    Raises:
        QueryError: There is no file, or they are not of one format that is read.
    """
    if isinstance(frame, FilePart):
        return list(frame.files), _FORMATS[".parquet"]
    path = os.fspath(frame)
    if os.path.isdir(path):
        paths = _paths_in(Path(path))
        if not paths:
            raise QueryError(
                f"the folder {path!r} has no files that can be read\n"
                "  expected: files that end in .parquet, .csv, .json, .jsonl or .ndjson, all alike"
            )
    elif _WILDCARDS.isdisjoint(path) or os.path.exists(path):
        paths = [path] if os.path.exists(path) else []
    else:
        paths = sorted(glob.glob(path, recursive=True))
    if not paths:
        raise QueryError(
            f"there is no file {path!r}\n"
            f"  it is looked for in {os.getcwd()}; a table of Spark's is spark.table({path!r})"
        )
    suffixes = {Path(file_path).suffix.casefold() for file_path in paths}
    file_format = _FORMATS.get(suffixes.pop()) if len(suffixes) == 1 else None
    if file_format is None:
        raise QueryError(
            f"{path!r} is no file that can be read\n"
            "  expected: files that end in .parquet, .csv, .json, .jsonl or .ndjson, all alike"
        )
    return paths, file_format


def _paths_in(folder: Path) -> list[str]:
    """Return the files of a folder that can be read, also those in folders within it, and none that is hidden."""
    paths: list[str] = []
    for path in sorted(folder.rglob("*")):
        is_hidden = any(part[0] in "._" for part in path.relative_to(folder).parts)  # Spark ignores these, too
        if path.suffix.casefold() in _FORMATS and path.is_file() and not is_hidden:
            paths.append(str(path))
    return paths


def _rows(
    connection: duckdb.DuckDBPyConnection, path: str, paths: list[str], file_format: FileFormat
) -> duckdb.DuckDBPyRelation:
    """Return the rows of files.

    Raises:
        QueryError: A file cannot be read.
    """
    try:
        return file_format.rows(connection, paths)
    except (duckdb.Error, OSError) as error:
        raise QueryError("{value!r} cannot be read: {reason}", value=path, reason=reason_of(error)) from error


def _refusals(
    names: Sequence[str], all_names: Sequence[str], path: str, paths: Sequence[str], file_format: FileFormat
) -> dict[str, str]:
    """Return the errors for reading columns that files do not have in common, by name.

    Args:
        names: The names of columns.
        all_names: The names of all columns, as DuckDB has them.
        path: The path or pattern that names the files.
        paths: The files.
        file_format: Their format.
    """
    if len(paths) == 1 and not any(map(_second_name_of, all_names)):
        return {}
    columns_by_file: dict[str, list[tuple[str, str]]] = {}
    for file_path in paths:
        columns = file_format.columns_of_file(file_path)
        if columns is not None:
            columns_by_file[file_path] = columns

    refusals: dict[str, str] = {}
    for name in names:
        types: dict[str, str] = {}
        for file_path, columns in columns_by_file.items():
            file_names = [column_name.casefold() for column_name, _ in columns]
            number = file_names.count(name.casefold())
            doubled_name = _second_name_of(name)
            if number == 1:
                types.setdefault(dict(zip(file_names, columns, strict=True))[name.casefold()][1], file_path)
            elif number > 1:
                refusals[name] = f"{file_path!r} has several columns {name!r}\n  rename all but one of them"
            elif file_names.count(doubled_name.casefold()) > 1:
                refusals[name] = f"{file_path!r} has several columns {doubled_name!r}\n  rename all but one of them"
            else:
                refusals[name] = (
                    f"{file_path!r} has no column {name!r}, and other files of {path!r} have it\n"
                    "  read the files that have it, or write the column to all of them"
                )
        is_of_numbers = types.keys() <= _WHOLE_NUMBERS or types.keys() <= _FLOATS
        if name not in refusals and len(types) > 1 and not is_of_numbers:
            spelled = ", ".join(f"{data_type} in {file_path!r}" for data_type, file_path in types.items())
            refusals[name] = f"the column {name!r} of {path!r} is of several types: {spelled}\n  write it in one type"
    return refusals


def _second_name_of(name: str) -> str:
    """Return the name of which DuckDB makes another one where a file has it twice; empty if it makes no such name.

    Example:
        >>> _second_name_of("km_1"), _second_name_of("km")
        ('km', '')
    """
    first_part, _, number = name.rpartition("_")
    return first_part if number.isdecimal() else ""


def _delimiter(path: str) -> str:
    """Return the character between the fields of a file of CSV: the most frequent one of its first line."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        first_line = file.readline()
    return max(",;\t|", key=first_line.count)


def _with_whole_numbers_of_64_bits(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Cast whole numbers to 64 bits where these hold all of a column, as on Spark.

    DuckDB takes 128 bits as soon as some numbers are negative and others are not.
    """
    casts: dict[str, str] = {}
    for name, data_type in zip(rows.columns, rows.types, strict=True):
        narrow_type = _HUGE_INTEGER.sub("BIGINT", str(data_type))
        if narrow_type != str(data_type):
            casts[name] = f"TRY_CAST({quoted(name)} AS {narrow_type})"
    if not casts:
        return rows

    # A number that does not fit is null after the cast, also within a list or a struct.
    changes = [f"bool_or({quoted(name)} IS DISTINCT FROM {cast})" for name, cast in casts.items()]
    (changed,) = rows.aggregate(", ".join(changes)).fetchall()
    for name, is_changed in zip(list(casts), changed, strict=True):
        if is_changed:
            del casts[name]
    return rows.project(", ".join(f"{casts.get(name, quoted(name))} AS {quoted(name)}" for name in rows.columns))


def _check_lines(path: str, delimiter: str) -> None:
    """Refuse a file of CSV that has a row with more or fewer fields than its first line.

    Raises:
        QueryError: There is one.
    """
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
        rows = csv.reader(file, delimiter=delimiter)
        names = next(rows, [])
        for row in rows:
            if row and len(row) != len(names):
                raise QueryError(
                    f"{path!r} cannot be read: the row that ends in line {rows.line_num} has {len(row)} fields, and "
                    f"the first line has {len(names)}\n  the row: {delimiter.join(row)[:200]!r}\n"
                    f"  expected: the names of columns in the first line, and {delimiter!r} between fields"
                )
