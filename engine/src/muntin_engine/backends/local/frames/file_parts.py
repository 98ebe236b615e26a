"""Parts of Parquet files, which several processes read side by side."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

PART_ROWS: Final = 500_000
"""The number of rows at which a part ends: a map task that gets many rows at once can merge more of them."""

PART_BYTES: Final = 128 * 2**20
"""The bytes of rows, as they lie in memory, at which a part ends."""

_ROW_NUMBER: Final = "file_row_number"
"""The name under which DuckDB has the place of a row in its file, if no column of the file has it."""


@dataclass(frozen=True)
class FilePart(os.PathLike[str]):
    """Some of the files that a path names, or rows of one of them. It is read as the path is.

    Attributes:
        path: The path that the query writer gave.
        files: The files.
        rows: The number of the rows.
        condition: The condition that the rows of the part meet, in DuckDB's SQL; None if it has all rows of its files.
    """

    path: str
    files: tuple[str, ...]
    rows: int
    condition: str | None = None

    def __fspath__(self) -> str:
        return self.path


class RowGroup(NamedTuple):
    """A row group of a file of Parquet: the smallest piece of it that is read without the rows before it.

    Attributes:
        file: The file.
        first_row: The place of its first row in the file.
        rows: The number of its rows.
        size: The bytes of its rows, as they lie in memory.
    """

    file: str
    first_row: int
    rows: int
    size: int


@dataclass(slots=True)
class PartRows:
    """Row groups that become a part, with their size so far.

    Attributes:
        groups: The row groups.
        rows: The number of their rows.
        size: The bytes of their rows.
    """

    groups: list[RowGroup] = field(default_factory=list)
    rows: int = 0
    size: int = 0

    @property
    def is_large(self) -> bool:
        """True if they are enough for a part."""
        return self.rows >= PART_ROWS or self.size >= PART_BYTES

    def add(self, groups: Sequence[RowGroup]) -> None:
        """Add row groups behind the others."""
        self.groups += groups
        self.rows += sum(group.rows for group in groups)
        self.size += sum(group.size for group in groups)


def parts_of(path: str, files: Sequence[str]) -> list[FilePart]:
    """Cut Parquet files into parts, which together have the rows of the files in their order.

    Args:
        path: The path that names the files.
        files: The files, in their order.

    Returns:
        The parts; none if the files have to be read as a whole.
    """
    schemas: list[pa.Schema] = []
    groups_by_file: list[list[RowGroup]] = []
    for file in files:
        try:
            metadata = pq.read_metadata(file)
        except (pa.ArrowException, OSError):
            return []  # all files are then read as a whole, which fails with an error that says what is wrong
        schemas.append(metadata.schema.to_arrow_schema().remove_metadata())
        groups_by_file.append(list(_row_groups_of(file, metadata)))

    # Where files differ in their columns, a part may lack a column that is null in the rows of the whole.
    if any(schema != schemas[0] for schema in schemas):
        return []
    # DuckDB finds a part of a file by its column of row numbers, which a column of the same name would hide.
    if _ROW_NUMBER in schemas[0].names:
        return []
    return [_part(path, groups) for groups in _cut(groups_by_file)]


def _row_groups_of(file: str, metadata: pq.FileMetaData) -> Iterator[RowGroup]:
    """Yield the row groups of a file, in their order."""
    first_row = 0
    for place in range(metadata.num_row_groups):
        group = metadata.row_group(place)
        yield RowGroup(file, first_row, group.num_rows, group.total_byte_size)
        first_row += group.num_rows


def _cut(groups_by_file: Sequence[Sequence[RowGroup]]) -> Iterator[list[RowGroup]]:
    """Yield the row groups of each part: a large file becomes several parts, several small ones become one."""
    small_files = PartRows()
    for groups in groups_by_file:
        file_rows = PartRows()
        file_rows.add(groups)
        if file_rows.is_large:
            # A large file is cut by row numbers, which are counted by file. So the small files before it become a part
            # of their own, and rows stay in order.
            if small_files.groups:
                yield small_files.groups
                small_files = PartRows()
            yield from _cut_file(groups)
            continue
        small_files.add(groups)
        if small_files.is_large:
            yield small_files.groups
            small_files = PartRows()
    if small_files.groups:
        yield small_files.groups


def _cut_file(groups: Sequence[RowGroup]) -> Iterator[list[RowGroup]]:
    """Yield the row groups of each part of one large file."""
    part = PartRows()
    for group in groups:
        part.add([group])
        if part.is_large:
            yield part.groups
            part = PartRows()
    if part.groups:
        yield part.groups


def _part(path: str, groups: Sequence[RowGroup]) -> FilePart:
    """Return a part of the rows of some row groups.

    Args:
        path: The path that names all files.
        groups: The row groups, in order without a gap: some of one file, or all of several files.
    """
    files = tuple(dict.fromkeys(group.file for group in groups))
    rows = sum(group.rows for group in groups)
    if len(files) > 1:
        return FilePart(path, files, rows)  # whole files, so no condition is needed
    first_row = groups[0].first_row
    condition = f"{_ROW_NUMBER} >= {first_row} AND {_ROW_NUMBER} < {first_row + rows}"
    return FilePart(path, files, rows, condition)
