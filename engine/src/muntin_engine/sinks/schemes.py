"""Sinks by the scheme of an address."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Final, NamedTuple

from muntin.errors import QueryError
from muntin_engine.sinks.sink import Sink

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_USER: Final = re.compile(r"(?<=//)[^/?#]*@")
_SECRETS: Final = re.compile(r"(?<=[?&;])([^=&;#]*(?:key|pass|pwd|secret|token|sig)[^=&;#]*)=[^&;#]*", re.IGNORECASE)


class _Place(NamedTuple):
    """Where the sinks of a scheme are made.

    Attributes:
        module: The module of a function or class that takes the address.
        name: Its name.
        extra: The extra of `muntin-engine` that it needs; empty if it needs none.
    """

    module: str
    name: str
    extra: str = ""


_FOLDER: Final = _Place("parquet_folder", "ParquetFolder")

SCHEMES: Final = {
    "delta": _Place("delta_lake_table", "from_address", "delta"),
    "iceberg": _Place("iceberg_table", "from_address", "iceberg"),
    "kafka": _Place("kafka_topic", "KafkaTopic"),
    "postgresql": _Place("database_table", "DatabaseTable", "postgresql"),
    "sqlite": _Place("database_table", "DatabaseTable"),
    "file": _FOLDER,
    "s3": _FOLDER,
    "s3a": _FOLDER,
    "gs": _FOLDER,
    "hdfs": _FOLDER,
    "abfs": _FOLDER,
    "abfss": _FOLDER,
}
"""The places of sinks by scheme. Any other file system that `fsspec` has a package for is a folder too."""


def scheme_of(address: str) -> str:
    """Return the scheme of an address in lower case; empty if it has none, as a path of this machine."""
    found = _SCHEME.match(address)
    return found[1].lower() if found else ""


def without_secrets(address: str) -> str:
    """Return an address without what may be secret: a user with a password, and keys among its options.

    Example:
        >>> without_secrets("postgresql://ann:x@host/db?sslmode=require&password=x")
        'postgresql://***@host/db?sslmode=require&password=***'
    """
    return _SECRETS.sub(r"\1=***", _USER.sub("***@", address))


def sink_of(output: str, address: str) -> Sink:
    """Return the sink of an address with a scheme.

    Args:
        output: What is to be written there, for the error.
        address: The address.

    Raises:
        QueryError: No sink has that scheme, or the address is none of it.
        SetupError: What writes there is not installed.
    """
    scheme = scheme_of(address)
    place = SCHEMES.get(scheme, _FOLDER if _is_file_system(scheme) else None)
    if place is None:
        near = get_close_matches(scheme, SCHEMES, 1)
        meant = f"did you mean {near[0] + ':'!r}?" if near else "expected a path, a Sink or one of these schemes"
        extras = {name: f" (muntin-engine[{where.extra}])" if where.extra else "" for name, where in SCHEMES.items()}
        known = [f"{name}:{extra}" for name, extra in extras.items()]
        raise QueryError(
            f"{output}={without_secrets(address)!r} has a scheme that no sink is for: {scheme + ':'!r}\n"
            f"  {meant}\n  known: {', '.join(known)},\n"
            "  and those of file systems that fsspec has a package for; write elsewhere with a function\n"
            "  (batch, batch_id)"
        )
    make: Callable[[str], Sink] = getattr(import_module(f"muntin_engine.sinks.{place.module}"), place.name)
    return make(address)


def _is_file_system(scheme: str) -> bool:
    if find_spec("fsspec") is None:
        return False
    known: frozenset[str] = frozenset(import_module("fsspec.registry").known_implementations)
    return scheme in known - {"http", "https"}
