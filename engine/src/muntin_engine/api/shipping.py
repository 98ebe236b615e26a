"""Send packages to the workers of a session."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from muntin.errors import QueryError
from muntin_engine.backends.choosing import backend_of
from muntin_engine.backends.planned_query import PlannedQuery
from muntin_engine.errors import NotShippableError
from muntin_engine.plan.request import InputRequest, WindowRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    from muntin_engine.api.query import EventStream, Query, WindowedStream


def ship(
    session: SparkSession | ConnectSession | DataFrame | EventStream | WindowedStream | Query,
    *packages: str | PathLike[str],
) -> list[str]:
    """Send packages that are installed here to the workers of a session, for the lifetime of the session.

    Each package becomes a `.zip` with its Python files and its metadata, which Spark adds to the import path of its
    workers; on Spark Connect by way of the server. A package that was shipped to the session before is not sent again.
    Dependencies are not sent along: name those that the workers lack; errors of `results` and `write` list them.

    Args:
        session: The session, classic or of Spark Connect, or an object that has one: a DataFrame, a stream, a query.
        packages: The names of installed distributions, of plugins, or of imported packages; or paths of wheels. A
            package may be installed in place (`pip install -e`).

    Returns:
        The packages with their versions, such as `"muntin-stats 0.1.0"`.

    Raises:
        QueryError: The session is left out.
        NotShippableError: No installed package has the name; the package has compiled parts, which run on one kind of
            machine alone; it has a top-level module that would hide a module of Python or of another package; or the
            session has the package with other contents.

    Example:
        >>> ship(spark, "muntin-stats", "patterns")  # doctest: +SKIP
        ['muntin-stats 0.1.0', 'muntin-patterns 0.1.0']
    """
    if isinstance(session, str | PathLike):
        raise QueryError(f"ship() needs a session first, got {str(session)!r}\n  write ship(spark, {str(session)!r})")
    for package in packages:
        if not isinstance(package, str | PathLike):
            raise NotShippableError(repr(package), "it is neither a name nor a path")
    # Of a query or a stream take the DataFrame: the backend finds the session of that itself. The three classes are the
    # bases of the public ones.
    target: Any = session
    if isinstance(target, PlannedQuery):  # a Query
        target = target.source.df
    elif isinstance(target, WindowRequest):  # a WindowedStream
        target = target.events.df
    elif isinstance(target, InputRequest):  # an EventStream
        target = target.df
    return backend_of(target).ship_packages(target, packages)
