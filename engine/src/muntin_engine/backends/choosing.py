"""The backend of an input, chosen by its type."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from muntin.errors import QueryError
from muntin_engine.backend_modules import LOCAL, SPARK, backend_module, imported_backend, input_module
from muntin_engine.needed import engine_module, required_module

if TYPE_CHECKING:
    import pyarrow as pa

    from muntin_engine.backends.backend import Backend
    from muntin_engine.plan.request import Frame

_DECLARED_SCHEMA: Final = "muntin_engine.backends.local.inputs.declared_schema"
"""The module that reads the columns that a query writer declares."""

TABLES: Final = (
    "a data frame of pandas or Polars,\n"
    "  a relation of DuckDB, Arrow data, or the path of files of Parquet, CSV or JSON"
)
"""The tables that are read in this process, for messages."""


def backend_of(thing: object) -> Backend:
    """Return the backend of an input of a query, or of a session.

    Raises:
        QueryError: No backend takes things of its type.
    """
    module = input_module(thing)
    if module is None:
        raise QueryError(
            f"a {type(thing).__name__} is no input of a query\n  expected: a DataFrame of Spark's, or {TABLES}"
        )
    backend: Backend = module.BACKEND
    return backend


def backend_of_all(frames: Iterable[object]) -> Backend:
    """Return the backend that the inputs of a query have in common.

    Raises:
        QueryError: The inputs are of several backends.
    """
    backends = {id(backend): backend for backend in map(backend_of, frames)}  # there is one object of each backend
    if len(backends) > 1:
        raise QueryError(
            "the inputs of a query are all DataFrames of Spark's, or all tables in this process; got both\n"
            "  make them one kind, for example with spark.createDataFrame(frame)"
        )
    (backend,) = backends.values()
    return backend


def is_input(thing: object) -> bool:
    """True if an object is an input that a backend takes, and not a session or a column."""
    module = input_module(thing)
    return module is not None and module.BACKEND.inputs.takes(thing)


def is_stream(df: Frame) -> bool:
    """True if an input goes on without an end."""
    return backend_of(df).inputs.is_stream(df)


def is_table(df: Frame) -> bool:
    """True if an input is read in this process, so that a query over it needs no Spark."""
    return backend_module(type(df)) is None


def declared_schema(schema: object) -> pa.Schema:
    """Read the columns that a query writer declares, so that a query is planned without asking its input for them.

    Args:
        schema: Text in Spark's DDL, a `StructType`, an Arrow schema, or a class of records such as a dataclass.

    Raises:
        QueryError: The schema declares no columns, or columns of types that have no meaning in a query.
        SetupError: DuckDB or sqlglot is missing, which read the schema.
    """
    for package in ("duckdb", "sqlglot"):
        required_module(package, feature="a query with schema=", extra="local")
    columns: pa.Schema = engine_module(_DECLARED_SCHEMA, feature="schema=").declared_schema(schema)
    return columns


def spark_backend() -> Backend:
    """Return the backend of Spark, for a call that has no input to choose a backend by."""
    backend: Backend = imported_backend(SPARK).BACKEND
    return backend


def local_backend() -> Backend:
    """Return the backend of tables in this process, for a call that has no input to choose a backend by."""
    for package in ("duckdb", "sqlglot"):
        required_module(package, feature="a query without Spark", extra="local")
    backend: Backend = imported_backend(LOCAL).BACKEND
    return backend
