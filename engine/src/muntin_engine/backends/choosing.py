"""The backend of an input, chosen by its type.

The type's own module says to whom it belongs, so nothing is imported to find out. The module of a backend is imported
when the first of its inputs comes: nobody waits for a backend that is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from muntin.errors import QueryError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin_engine.backends.backend import Backend

SPARK: Final = "muntin_engine.backends.spark.spark_backend"
"""The module of the backend that runs on Spark."""

_MODULES: Final[Mapping[str, str]] = {"pyspark": SPARK}
"""The module of the backend, by the package whose types it takes; each has a constant `BACKEND`."""


def backend_of(thing: object) -> Backend:
    """Return the backend of a DataFrame, or of a session.

    Raises:
        QueryError: No backend takes things of its type.
    """
    module = _module_of(type(thing))
    if module is None:
        raise QueryError(f"a {type(thing).__name__} is no input of a query\n  expected a DataFrame of Spark's")
    return _backend_in(module)


def is_input(thing: object) -> bool:
    """True if something is a DataFrame that a backend takes."""
    module = _module_of(type(thing))
    return module is not None and _backend_in(module).inputs.takes(thing)


def is_stream(df: DataFrame) -> bool:
    """True if a DataFrame goes on without an end."""
    return backend_of(df).inputs.is_stream(df)


def spark_backend() -> Backend:
    """Return the backend of Spark, for what is not of any input yet."""
    return _backend_in(SPARK)


def _module_of(kind: type) -> str | None:
    """Return the module of the backend that takes a type or one that it derives from; None if none does."""
    for ancestor in kind.__mro__:
        package = ancestor.__module__.partition(".")[0]
        if package in _MODULES:
            return _MODULES[package]
    return None


@cache
def _backend_in(module: str) -> Backend:
    backend: Backend = import_module(module).BACKEND
    return backend
