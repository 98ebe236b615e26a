"""The module of the backend of an object, found by the package of its type.

It stands below all rooms, and imports a backend by its name when the first of its objects comes: nobody waits for a
backend that is not used, and neither sinks nor the contract of backends import one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Final

from muntin_engine.needed import check_installed, engine_module, required_module

SPARK: Final = "muntin_engine.backends.spark.spark_backend"
"""The module of the backend that runs on Spark."""

LOCAL: Final = "muntin_engine.backends.local.local_backend"
"""The module of the backend that runs in this process."""

_MODULES: Final[Mapping[str, str]] = {"pyspark": SPARK}
"""The module of the backend, by the package whose types it takes; each has a constant `BACKEND`."""

_WITHOUT_SPARK: Final = "a query without Spark"

_FRAME_PACKAGES: Final = frozenset({"pandas", "polars", "pyarrow", "duckdb"})
"""The packages of tables that are read in this process."""


def backend_module(kind: type) -> ModuleType | None:
    """Return the module of the backend whose package defines a type, or a type that it derives from.

    Returns:
        The module, which is imported by the call; None for a type of no backend, such as a table in this process.
    """
    for package in _packages_of(kind):
        name = _MODULES.get(package)
        if name is not None:
            return imported_backend(name)
    return None


def input_module(thing: object) -> ModuleType | None:
    """Return the module of the backend that takes an input of a query, or a session.

    Args:
        thing: The input or session, or any other object.

    Returns:
        The module; None if no backend takes the object.

    Raises:
        SetupError: A package is missing that the backend needs.
    """
    module = backend_module(type(thing))
    if module is not None:
        return module
    if not _may_be_table(thing):
        return None
    required_module("duckdb", feature=_WITHOUT_SPARK, extra="local")
    check_installed("sqlglot", feature=_WITHOUT_SPARK, extra="local")  # it is imported with the first expression in SQL
    return imported_backend(LOCAL)


def _may_be_table(thing: object) -> bool:
    """True if an object may be a table in this process, or the path of a table; only reading it shows whether it is."""
    if isinstance(thing, str | os.PathLike):
        return True
    kind = type(thing)
    if not _FRAME_PACKAGES.isdisjoint(_packages_of(kind)):
        return True
    return hasattr(kind, "__arrow_c_stream__")  # by this protocol, tables of any library give their rows to Arrow


def _packages_of(kind: type) -> list[str]:
    """Return the packages that define a type and the types that it derives from."""
    return [ancestor.__module__.partition(".")[0] for ancestor in kind.__mro__]


@cache
def imported_backend(name: str) -> ModuleType:
    """Import the module of a backend.

    Args:
        name: The name of the module: `SPARK` or `LOCAL`.

    Raises:
        SetupError: The backend is that of Spark, and PySpark is not installed.
    """
    # The error is only ever about Spark: callers check the packages of tables before they import that backend.
    return engine_module(name, feature="a query on Spark")
