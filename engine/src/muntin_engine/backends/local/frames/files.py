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
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

import duckdb

from muntin.errors import QueryError
from muntin_engine.backends.local.duckdb_types import quoted
from muntin_engine.backends.local.frames.file_parts import FilePart, parts_of
from muntin_engine.backends.local.frames.frame_kind import (
    FrameColumn,
    FrameColumns,
    FrameKind,
    changed_since,
    columns_of_relation,
    keys_in,
    reason_of,
)

_WILDCARDS: Final = frozenset("*?[")
"""The characters by which a path is a pattern."""

_WHOLE_NUMBERS: Final = frozenset({"int8", "int16", "int32", "int64"})
_FLOATS: Final = frozenset({"float", "double"})
"""The types of files, as Arrow spells them, whose values a column of the largest of them holds as they are."""

_ENDINGS: Final = "files that end in .parquet, .csv, .json, .jsonl or .ndjson, all alike"
"""The files that can be read, for messages."""

_HUGE_INTEGER: Final = re.compile(r"\bHUGEINT(?=[\[\],)]|$)")
"""The word for whole numbers of 128 bits in a type of DuckDB's; after the name of a field there is a space."""

_MOST_FILES: Final = 2**31 - 1
"""The files of JSON in which DuckDB looks for columns: a number that is larger than any number of files."""


class FileColumn(NamedTuple):
    """A column of one file.

    Attributes:
        name: Its name.
        type: Its type, as Arrow spells it; empty where DuckDB gives all files of a format one type.
    """

    name: str
    type: str


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
            connection: The connection on which the files are read.
            paths: The paths of the files. A character such as `*` in them is part of a name, and no pattern.

        Raises:
            QueryError: A file cannot be read.
        """

    @abstractmethod
    def columns_of_file(self, path: str) -> list[FileColumn] | None:
        """Return the columns of a file; None if each row has columns of its own."""

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

    def columns_of_file(self, path: str) -> list[FileColumn]:
        """Return the columns of a file."""
        import pyarrow.parquet as pq

        return [FileColumn(field.name, str(field.type)) for field in pq.read_schema(path)]

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
        """Return the rows of files.

        Raises:
            QueryError: A file is empty, or has a row with more or fewer fields than its first line.
        """
        for path in paths:
            if os.path.getsize(path) == 0:
                raise QueryError(f"the file {path!r} is empty\n  expected: a first line with the names of columns")
        delimiter = _delimiter(paths[0])
        try:
            # All that DuckDB would guess from the first rows of a file is said, so that all files are read alike.
            return connection.read_csv(
                list(map(glob.escape, paths)),
                header=True,
                delimiter=delimiter,
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
            # Usually a row has too many fields, for which DuckDB's message is many lines of settings: ours is clearer.
            for path in paths:
                _check_lines(path, delimiter)
            raise QueryError(f"{paths[0]!r} cannot be read: {reason_of(error)}") from error

    def columns_of_file(self, path: str) -> list[FileColumn]:
        """Return the columns that the first line of a file names; one without a name is `column` and its place."""
        with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
            names = next(csv.reader(file, delimiter=_delimiter(path)), [])
        return [FileColumn(name.strip() or f"column{place}", "") for place, name in enumerate(names)]


class JsonFiles(FileFormat):
    """Files of JSON: an object a line, or one array of them. A key that an object lacks is null, as on Spark."""

    word: ClassVar[str] = "JSON column"

    def rows(self, connection: duckdb.DuckDBPyConnection, paths: list[str]) -> duckdb.DuckDBPyRelation:
        """Return the rows of files.

        Cost: all rows are read once before, to know the columns: the last row may have a further one.
        """
        if all(os.path.getsize(path) == 0 for path in paths):
            raise QueryError(f"the file {paths[0]!r} is empty\n  expected: an object a line")
        rows = connection.read_json(
            list(map(glob.escape, paths)), sample_size=-1, maximum_sample_files=_MOST_FILES, union_by_name=True
        )
        return _with_whole_numbers_of_64_bits(rows)

    def columns_of_file(self, path: str) -> None:
        """Return None: each object has keys of its own, and a key that it lacks is null."""
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
        files = NamedFiles.of(frame)
        described = columns_of_relation(files.rows(connection), files.format.word, may_change=True)
        # A column that not all files have is refused only where a query reads it, so the error waits with the column.
        refusals = files.refusals(described.names, all_names=described.names)
        columns_with_refusals: list[FrameColumn] = []
        for column in described.columns:
            columns_with_refusals.append(replace(column, refusal=refusals.get(column.name)))
        return replace(described, columns=tuple(columns_with_refusals))

    def relation(
        self, connection: duckdb.DuckDBPyConnection, frame: Any, names: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Return columns of the files, their rows in the order of the names of files.

        Raises:
            QueryError: A file cannot be read, or files have come that do not fit the others.
        """
        files = NamedFiles.of(frame)
        rows = files.rows(connection)
        if isinstance(frame, FilePart) and frame.condition is not None:
            rows = rows.filter(frame.condition)

        # Checked again: files may have come, gone or changed since the query was planned.
        for name in names:
            if name not in rows.columns:
                raise changed_since(f"{files.path!r} has no column {name!r} any more")
        refusals = files.refusals(names, all_names=rows.columns)
        for refusal in refusals.values():
            raise QueryError(refusal)
        return rows.project(", ".join(map(quoted, names)))

    def row_count(self, frame: Any) -> int | None:
        """Return the number of rows of a part of files."""
        return frame.rows if isinstance(frame, FilePart) else None

    def parts(self, frame: Any) -> list[FilePart]:
        """Return parts of files of Parquet; other formats do not say where rows begin, so they have no parts."""
        files = NamedFiles.of(frame)
        return parts_of(files.path, files.paths) if isinstance(files.format, ParquetFiles) else []

    def subject(self, frame: Any) -> str:
        """Return the path."""
        return repr(os.fspath(frame))

    def keys_of_changelog(self, frame: Any) -> list[str] | None:
        """Return the key columns that a changelog names in its first file."""
        files = NamedFiles.of(frame)
        return files.format.keys_of_changelog(files.paths[0])


@dataclass(frozen=True)
class NamedFiles:
    """The files that a path names.

    Attributes:
        path: The path of a file or folder, or a pattern, as the query writer gave it.
        paths: The paths of the files, in their order.
        format: Their format.
    """

    path: str
    paths: list[str]
    format: FileFormat

    @classmethod
    def of(cls, frame: str | os.PathLike[str]) -> NamedFiles:
        """Find the files that a path names.

        Args:
            frame: The path of a file or a folder, a pattern, or a `FilePart`, which names its files itself.

        Raises:
            QueryError: There is no file, the files are of several formats, or their format cannot be read.
        """
        path = os.fspath(frame)
        if isinstance(frame, FilePart):
            return cls(path, list(frame.files), _FORMATS[".parquet"])  # no files of other formats have parts
        paths = _paths_named(path)
        suffixes = {Path(file_path).suffix.casefold() for file_path in paths}
        file_format = _FORMATS.get(suffixes.pop()) if len(suffixes) == 1 else None
        if file_format is None:
            raise QueryError(f"{path!r} is no file that can be read\n  expected: {_ENDINGS}")
        return cls(path, paths, file_format)

    def rows(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """Return the rows of the files.

        Raises:
            QueryError: A file cannot be read.
        """
        try:
            return self.format.rows(connection, self.paths)
        except (duckdb.Error, OSError) as error:
            raise QueryError("{value!r} cannot be read: {reason}", value=self.path, reason=reason_of(error)) from error

    def refusals(self, names: Sequence[str], all_names: Sequence[str]) -> dict[str, str]:
        """Return the errors for reading columns that a file lacks, or that files have in several types; by column name.

        Args:
            names: The names of the columns.
            all_names: The names of all columns of the files, as DuckDB names them.
        """
        # Of a single file, only a column whose name it has twice is refused. Such columns show by the names that DuckDB
        # gives them, `km` and `km_1`. So most single files need not be opened.
        if len(self.paths) == 1 and not any(map(_second_name_of, all_names)):
            return {}
        columns_by_file: dict[str, list[FileColumn]] = {}
        for file_path in self.paths:
            columns = self.format.columns_of_file(file_path)
            if columns is not None:  # each row of JSON has columns of its own, so its files cannot differ in them
                columns_by_file[file_path] = columns

        refusals: dict[str, str] = {}
        for name in names:
            refusal = self._refusal(name, columns_by_file)
            if refusal is not None:
                refusals[name] = refusal
        return refusals

    def _refusal(self, name: str, columns_by_file: Mapping[str, Sequence[FileColumn]]) -> str | None:
        """Return the error for reading a column; None if each file has it once, in types that fit together.

        Args:
            name: The name of the column, as DuckDB has it: the second of two columns `km` is `km_1` there.
            columns_by_file: The columns of each file, with the names that they have in it.
        """
        file_by_type: dict[str, str] = {}  # of each type, the first file that has the column in it
        for file_path, columns in columns_by_file.items():
            namesakes = _columns_named(name, columns)
            if not namesakes:
                # `km_1` may be DuckDB's name for the second of two columns `km` of the file.
                doubled_name = _second_name_of(name)
                if len(_columns_named(doubled_name, columns)) > 1:
                    return f"{file_path!r} has several columns {doubled_name!r}\n  rename all but one of them"
                return (
                    f"{file_path!r} has no column {name!r}, and other files of {self.path!r} have it\n"
                    "  read the files that have it, or write the column to all of them"
                )
            if len(namesakes) > 1:
                return f"{file_path!r} has several columns {name!r}\n  rename all but one of them"
            file_by_type.setdefault(namesakes[0].type, file_path)

        # Numbers of several sizes fit together: the column is of the largest.
        are_numbers = file_by_type.keys() <= _WHOLE_NUMBERS or file_by_type.keys() <= _FLOATS
        if len(file_by_type) < 2 or are_numbers:
            return None
        spelled = ", ".join(f"{data_type} in {file_path!r}" for data_type, file_path in file_by_type.items())
        return f"the column {name!r} of {self.path!r} is of several types: {spelled}\n  write it in one type"


def _paths_named(path: str) -> list[str]:
    """Return the files that a path names, in the order of their names.

    Args:
        path: The path of a file or a folder, or a pattern such as `rides/*.csv`.

    Raises:
        QueryError: The path names no file.
    """
    if os.path.isdir(path):
        paths_in_folder = _paths_in(Path(path))
        if not paths_in_folder:
            raise QueryError(f"the folder {path!r} has no files that can be read\n  expected: {_ENDINGS}")
        return paths_in_folder
    if os.path.exists(path):
        return [path]  # also if there are wildcards in its name
    paths = [] if _WILDCARDS.isdisjoint(path) else _paths_matching(path)
    if not paths:
        raise QueryError(
            f"there is no file {path!r}\n"
            f"  it is looked for in {os.getcwd()}; a table of Spark's is spark.table({path!r})"
        )
    return paths


def _paths_matching(pattern: str) -> list[str]:
    """Return the files that a pattern matches, and those that can be read in the folders that it matches.

    As on Spark, a hidden file is left out, such as `_SUCCESS` of the pattern `rides/*`, unless the pattern spells the
    first letter of its name.
    """
    pattern_of_name = os.path.basename(pattern)
    # `**` matches a folder, and also each file in it. By their absolute paths, files count once.
    path_by_absolute_path: dict[str, str] = {}
    for match in sorted(glob.glob(pattern, recursive=True)):
        name = os.path.basename(match)
        paths = [match]
        if os.path.isdir(match):
            paths = _paths_in(Path(match))
        elif name[0] in "._" and not pattern_of_name.startswith(name[0]):
            paths = []
        for path in paths:
            path_by_absolute_path.setdefault(os.path.abspath(path), path)
    return list(path_by_absolute_path.values())


def _paths_in(folder: Path) -> list[str]:
    """Return the files that can be read in a folder and the folders within it, without hidden ones."""
    paths: list[str] = []
    for path in sorted(folder.rglob("*")):
        # As on Spark, a file is hidden if its name, or that of a folder around it, begins with `.` or `_`.
        is_hidden = any(part[0] in "._" for part in path.relative_to(folder).parts)
        if path.suffix.casefold() in _FORMATS and path.is_file() and not is_hidden:
            paths.append(str(path))
    return paths


def _columns_named(name: str, columns: Sequence[FileColumn]) -> list[FileColumn]:
    """Return the columns of a name in any case, as DuckDB does not tell upper from lower case."""
    return [column for column in columns if column.name.casefold() == name.casefold()]


def _second_name_of(name: str) -> str:
    """Return the name that a column has in its file if DuckDB numbered it; empty for a name without a number.

    DuckDB numbers columns of one name: of two columns `km`, the second one is `km_1`. Whether a file has two such
    columns, or one that is called `km_1`, shows only in the file.

    Example:
        >>> _second_name_of("km_1"), _second_name_of("km")
        ('km', '')
    """
    first_part, _, number = name.rpartition("_")
    return first_part if number.isdecimal() else ""


def _delimiter(path: str) -> str:
    """Return the character between the fields of a CSV file: the most frequent of four in its first line."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        first_line = file.readline()
    return max(",;\t|", key=first_line.count)


def _with_whole_numbers_of_64_bits(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """Cast columns of whole numbers of 128 bits to 64 bits, as on Spark, unless a number would not fit.

    DuckDB reads JSON with 128 bits as soon as some numbers are negative and others are not.
    """
    casts: dict[str, str] = {}
    for name, data_type in zip(rows.columns, rows.types, strict=True):
        narrow_type = _HUGE_INTEGER.sub("BIGINT", str(data_type))
        if narrow_type != str(data_type):
            casts[name] = f"TRY_CAST({quoted(name)} AS {narrow_type})"
    if not casts:
        return rows

    # A number that does not fit is null after the cast, also within a list or a struct: such a cast is not done.
    losses = [f"bool_or({quoted(name)} IS DISTINCT FROM {cast})" for name, cast in casts.items()]
    (is_lossy,) = rows.aggregate(", ".join(losses)).fetchall()  # one row, with a column for each cast
    for name, loses_values in zip(list(casts), is_lossy, strict=True):
        if loses_values:
            del casts[name]

    columns: list[str] = []
    for name in rows.columns:
        columns.append(f"{casts.get(name, quoted(name))} AS {quoted(name)}")
    return rows.project(", ".join(columns))


def _check_lines(path: str, delimiter: str) -> None:
    """Refuse a file of CSV that has a row with more or fewer fields than its first line.

    Args:
        path: The path of the file.
        delimiter: The character between fields.

    Raises:
        QueryError: The file has such a row.
    """
    # Python's reader refuses fields that are longer than its limit. The lines from such a field on are not checked.
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as file, suppress(csv.Error):
        rows = csv.reader(file, delimiter=delimiter)
        names = next(rows, [])
        for row in rows:
            if row and len(row) != len(names):
                raise QueryError(
                    f"{path!r} cannot be read: the row that ends in line {rows.line_num} has {len(row)} fields, and "
                    f"the first line has {len(names)}\n  the row: {delimiter.join(row)[:200]!r}\n"
                    f"  expected: the names of columns in the first line, and {delimiter!r} between fields"
                )
