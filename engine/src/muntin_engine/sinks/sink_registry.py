"""The sinks by the scheme of their addresses: `delta:hours` is a `DeltaLakeTable`.

To add a sink:

1. its class, a subclass of `Sink`, in a file of its own in this folder; `TableSink` serves those with transactions;
2. its scheme in `SINK_TYPES`, if a text names it, and its name in `sinks/__init__.py` and `muntin_engine/__init__.py`;
3. a test in `tests/engine/sinks` that calls `muntin_engine.testing.check_sink`;
4. a section in `docs/how-to/write-results.md`, and a line in `docs/reference/query.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Final, NamedTuple

from muntin.errors import QueryError
from muntin_engine.sinks.addresses import scheme_of, without_secrets
from muntin_engine.sinks.sink import Sink


class SinkType(NamedTuple):
    """A class of sinks that are named by addresses. Its module is imported when a query has such an address.

    Attributes:
        module: The module in this folder.
        factory: The name of a function or class in it that takes the address.
        extra: The extra of `muntin-engine` that it needs; empty if it needs none.
    """

    module: str
    factory: str
    extra: str = ""

    def sink(self, address: str) -> Sink:
        """Import the module of this class of sinks, and return the sink of an address."""
        module = import_module(f"muntin_engine.sinks.{self.module}")
        factory: Callable[[str], Sink] = getattr(module, self.factory)
        return factory(address)


_FOLDER: Final = SinkType("parquet_folder", "ParquetFolder")

SINK_TYPES: Final = {
    "delta": SinkType("delta_lake_table", "from_address", "delta"),
    "iceberg": SinkType("iceberg_table", "from_address", "iceberg"),
    "kafka": SinkType("kafka_topic", "KafkaTopic"),
    "postgresql": SinkType("database_table", "DatabaseTable", "postgresql"),
    "sqlite": SinkType("database_table", "DatabaseTable"),
    "file": _FOLDER,
    "s3": _FOLDER,
    "s3a": _FOLDER,
    "gs": _FOLDER,
    "hdfs": _FOLDER,
    "abfs": _FOLDER,
    "abfss": _FOLDER,
}
"""The types of sinks by scheme. Any other file system that `fsspec` has a package for is a folder too."""


def sink_of_address(output: str, address: str) -> Sink:
    """Return the sink of an address with a scheme.

    Args:
        output: The argument of `write` that has the address, for the error.
        address: The address.

    Raises:
        QueryError: No sink has the scheme, or its sink cannot read the rest of the address.
        SetupError: The package that writes there is not installed.
    """
    scheme = scheme_of(address)
    if scheme in SINK_TYPES:
        return SINK_TYPES[scheme].sink(address)
    if _is_file_system(scheme):
        return _FOLDER.sink(address)

    close_schemes = get_close_matches(scheme, SINK_TYPES, 1)
    if close_schemes:
        hint = f"did you mean {close_schemes[0] + ':'!r}?"
    else:
        hint = "expected a path, a Sink or one of these schemes"
    schemes: list[str] = []
    for name, sink_type in SINK_TYPES.items():
        extra = f" (muntin-engine[{sink_type.extra}])" if sink_type.extra else ""
        schemes.append(f"{name}:{extra}")
    raise QueryError(
        f"{output}={without_secrets(address)!r} has a scheme that no sink is for: {scheme + ':'!r}\n"
        f"  {hint}\n  known: {', '.join(schemes)},\n"
        "  and those of file systems that fsspec has a package for; write elsewhere with a function\n"
        "  (batch, batch_id)"
    )


def _is_file_system(scheme: str) -> bool:
    """True for the scheme of a file system that `fsspec` can write to, if that package is installed."""
    if find_spec("fsspec") is None:
        return False
    file_systems: frozenset[str] = frozenset(import_module("fsspec.registry").known_implementations)
    return scheme in file_systems - {"http", "https"}  # fsspec only reads from these
