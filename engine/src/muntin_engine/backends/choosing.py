"""The backend of an input, chosen by its type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from muntin.errors import QueryError
from muntin_engine.backend_modules import LOCAL, SPARK, imported_backend, input_module
from muntin_engine.needed import needed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from muntin_engine.backends.backend import Backend


def backend_of(thing: object) -> Backend:
    """Return the backend of a DataFrame, or of a session.

    Raises:
        QueryError: No backend takes things of its type.
    """
    module = input_module(thing)
    if module is None:
        raise QueryError(f"a {type(thing).__name__} is no input of a query\n  expected a DataFrame of Spark's")
    backend: Backend = module.BACKEND
    return backend


def backend_of_all(frames: Iterable[object]) -> Backend:
    """Return the backend that the inputs of a query have in common.

    Raises:
        QueryError: They are of several backends.
    """
    backends = {id(backend): backend for backend in map(backend_of, frames)}
    if len(backends) > 1:
        raise QueryError(
            "the inputs of a query are all DataFrames of Spark's, or all tables in this process; got both\n"
            "  make them one kind, for example with spark.createDataFrame(frame)"
        )
    (backend,) = backends.values()
    return backend


def is_input(thing: object) -> bool:
    """True if something is a DataFrame that a backend takes."""
    module = input_module(thing)
    return module is not None and module.BACKEND.inputs.takes(thing)


def is_stream(df: DataFrame) -> bool:
    """True if a DataFrame goes on without an end."""
    return backend_of(df).inputs.is_stream(df)


def spark_backend() -> Backend:
    """Return the backend of Spark, for what is not of any input yet."""
    backend: Backend = imported_backend(SPARK).BACKEND
    return backend


def local_backend() -> Backend:
    """Return the backend of tables in this process, for what is not of any input yet."""
    for package in ("duckdb", "sqlglot"):
        needed(package, "a query without Spark", "local")
    backend: Backend = imported_backend(LOCAL).BACKEND
    return backend
