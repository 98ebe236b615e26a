"""The settings of a recording: its folder, its keys and its size, as `write(record=...)` takes them."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

from muntin.errors import QueryError
from muntin_engine.sinks.addresses import local_path

_UNITS: Final = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?B)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Recorder:
    """A recording that a query makes of itself.

    Attributes:
        path: The folder, which the driver and all workers see. A query that is started again goes on with it.
        keys: The keys whose rows are recorded: each a value, or a tuple of a value per key column. None for all. Rows
            of no key, such as punctuation, and the progress that all rows made are always recorded.
        most_bytes: The size on disk at which the recording ends; the query goes on. A row can be replayed only with
            those before it, so the first rows are kept and not the last.

    Raises:
        QueryError: A size cannot be read, the path is not one of a file system, or `keys` is a single key.

    Example:
        >>> query.write("checkpoint", results="results", record=Recorder("fault", keys=["north"]))  # doctest: +SKIP
    """

    path: str | PathLike[str]
    keys: Sequence[Any] | None = None
    most_bytes: str | int = "1 GB"

    def __post_init__(self) -> None:
        """Refuse arguments that a query writer may have confused.

        Raises:
            QueryError: The size cannot be read, the path is not on this machine, or `keys` is a single key.
        """
        _size_in_bytes(self.most_bytes)  # called for its error: the text must be a size
        local_path(self.path)  # called for its error: the folder must be on this machine
        keys: object = self.keys  # at run time a caller may give a value of any type
        if keys is not None and (isinstance(keys, str) or not isinstance(keys, Collection)):
            raise QueryError(f"keys={keys!r} is one key\n  expected: a list of keys, keys=[{keys!r}]")

    @classmethod
    def of(cls, record: object) -> Self:
        """Return the recorder that an argument `record` of `write` is, or one for the folder that it names.

        Raises:
            QueryError: The argument is neither a recorder nor a path.
        """
        if isinstance(record, cls):
            return record
        if isinstance(record, str | PathLike):
            return cls(record)
        raise QueryError(
            f"record={record!r:.80} is no place for a recording\n"
            "  expected: the path of a folder, or Recorder('<path>', ...)"
        )

    @property
    def folder(self) -> Path:
        """The folder of the recording."""
        return local_path(self.path)

    @property
    def key_tuples(self) -> tuple[tuple[Any, ...], ...] | None:
        """The keys, each as a tuple of a value per key column; None for all keys."""
        if self.keys is None:
            return None
        return tuple(key if isinstance(key, tuple) else (key,) for key in self.keys)

    @property
    def bytes_limit(self) -> int:
        """The size at which the recording ends, in bytes."""
        return _size_in_bytes(self.most_bytes)


def _size_in_bytes(size: str | int) -> int:
    """Return a size in bytes, given as a number of bytes or as a text such as `500 MB`.

    Raises:
        QueryError: The text is no number with a unit.
    """
    if isinstance(size, int):
        return size
    parts = _SIZE.fullmatch(size)
    if parts is None:
        raise QueryError(f"most_bytes={size!r} is not a size\n  expected: such as '500 MB', or a number")
    number, unit = parts.groups()
    return int(float(number) * _UNITS[unit.upper()])


RecordLike: TypeAlias = str | PathLike[str] | Recorder
"""The destination of a recording: a folder, or a recorder."""
