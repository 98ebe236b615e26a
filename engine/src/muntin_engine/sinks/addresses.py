"""Addresses that sinks are written by: paths of this machine, and URLs of other file systems."""

from __future__ import annotations

import os
import re
from os import PathLike
from pathlib import Path
from typing import Final

from muntin.errors import QueryError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_LOCAL: Final = re.compile(r"file:(?:///|/(?!/))")
_PATTERN: Final = re.compile(r"([\[\]{}*?\\])")
_USER: Final = re.compile(r"(?<=//)[^/?#]*@")
_SECRETS: Final = re.compile(r"(?<=[?&;])([^=&;#]*(?:key|pass|pwd|secret|token|sig)[^=&;#]*)=[^&;#]*", re.IGNORECASE)


def scheme_of(address: str) -> str:
    """Return the scheme of an address in lower case; empty if it has none, as a path of this machine."""
    scheme = _SCHEME.match(address)
    return "" if scheme is None else scheme[1].lower()


def is_elsewhere(path: str | PathLike[str]) -> bool:
    """True for the URL of a file system that is not this machine's, such as `s3://bucket/results`."""
    text = os.fspath(path)
    return _SCHEME.match(text) is not None and _LOCAL.match(text) is None


def local_path(path: str | PathLike[str]) -> Path:
    """Return a path of this machine, absolute; `file:/data/x` and `file:///data/x` are `/data/x`, as Spark reads them.

    Raises:
        QueryError: The path is on another file system, or begins with `~`.
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


def unpatterned(path: str) -> str:
    """Return a path with its special characters escaped: Spark's readers take `[`, `*` and others for a pattern."""
    return _PATTERN.sub(r"\\\1", path)


def spark_address(path: Path) -> str:
    """Return a local path for Spark to write to, with a scheme: Spark's default may be another file system."""
    return f"file://{path}"


def spark_reading_address(path: Path) -> str:
    """Return a local path for Spark to read from, with characters escaped that Spark takes for a pattern."""
    return spark_address(Path(unpatterned(str(path))))


def without_secrets(address: str) -> str:
    """Return an address with `***` in the place of what may be secret: users with passwords, and keys in options.

    Example:
        >>> without_secrets("postgresql://ann:x@host/db?sslmode=require&password=x")
        'postgresql://***@host/db?sslmode=require&password=***'
    """
    return _SECRETS.sub(r"\1=***", _USER.sub("***@", address))
