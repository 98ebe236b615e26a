"""Places that a text names: a folder of this machine, a place elsewhere, or no place at all."""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path
from typing import Final

from muntin.errors import QueryError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_PATTERN: Final = re.compile(r"([\[\]{}*?\\])")
_LOCAL: Final = re.compile(r"file:(?:///|/(?!/))")
_TABLE: Final = re.compile(r"(\w+|`[^`]+`)(\.(\w+|`[^`]+`)){1,2}")
_FORMATS: Final = frozenset(
    {"avro", "binaryfile", "console", "csv", "delta", "deltalake", "hive", "hudi", "iceberg", "jdbc", "json", "kafka"}
    | {"memory", "noop", "orc", "parquet", "rate", "socket", "table", "text", "xml"}
)
"""Formats that `DataFrameWriter.format` takes, more or less."""

_FILES: Final = frozenset({"parquet", "pq"})
"""Endings of the name of a folder of Parquet files."""


def unpatterned(path: str) -> str:
    """Return a path as a pattern that matches nothing else, as Spark's readers want one."""
    return _PATTERN.sub(r"\\\1", path)


def is_elsewhere(path: str | PathLike[str]) -> bool:
    """True for the URL of a file system that is not this machine's, such as `s3://bucket/results`."""
    text = os.fspath(path)
    return _SCHEME.match(text) is not None and _LOCAL.match(text) is None


def local_path(path: str | PathLike[str]) -> Path:
    """Return a path of this machine, absolute; `file:/data/x` and `file:///data/x` are `/data/x`, as Spark reads them.

    Raises:
        QueryError: It is none.
    """
    text = os.fspath(path)
    if not text or is_elsewhere(text):
        raise QueryError(
            f"{text!r} is not a path of this machine's file system, in which folders are put in place by renaming\n"
            "  expected a path such as 'results' or 'file:/data/results'; write elsewhere with a function\n"
            "  (batch, batch_id) that writes what it is given, as one for foreachBatch does: results=write_batch"
        )
    if text.startswith("~"):
        raise QueryError(
            f"{text!r} would be a folder that is called {text.partition('/')[0]!r}\n"
            f"  expected a path without short forms: os.path.expanduser({text!r})"
        )
    return Path(_LOCAL.sub("/", text)).absolute()


def check_is_folder(output: str, text: str) -> None:
    """Refuse the name of a format or of a table, of which it would make a folder.

    Args:
        output: What is to be written there, for the error.
        text: What was named.

    Raises:
        QueryError: It is one.
    """
    is_table = _TABLE.fullmatch(text) is not None and text.rpartition(".")[2].lower() not in _FILES
    if is_table or text.lower() in _FORMATS:
        kind = "a table" if is_table else "a format"
        raise QueryError(
            f"{output}={text!r} is the name of {kind}, and a path is expected, in which Parquet files are put\n"
            f"  for a folder of that name write {output}={'./' + text!r}\n"
            "  for a table, or another format, give a function (batch, batch_id) that writes what it is given:\n"
            "  as foreachBatch does, it gets each micro-batch as a DataFrame, with its number"
        )
