"""Examine whether a machine can run queries: Python, Java, Spark and its requirements, plugins, and a worker."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

from muntin.catalog import Catalog
from muntin.errors import MuntinError
from muntin_cli.errors import EnvironmentLacksError
from muntin_cli.evaluation import can_evaluate
from muntin_cli.processes import ask_python, worker_python
from muntin_cli.survey import survey

_PROBE: Final = Path(__file__).parent / "probes" / "what_is_here.py"
_OURS: Final = ("muntin-sdk", "muntin-engine", "muntin-cli")
_SEEN_BY_WORKERS: Final = ("muntin-sdk", "muntin-engine", "pyspark", "pyarrow", "pandas", "protobuf")
_CLIENT: Final = "pyspark-client"
_NO_ENGINE: Final = "muntin-engine is not installed, so no query can run here\n  pip install muntin-engine"


_CLIENT_ALONE: Final = "not looked for: pyspark-client starts no Spark here, and asks a Spark Connect server"


class Health(StrEnum):
    """The state of one requirement of queries."""

    OK = "ok"
    """It is."""
    NOTE = "note"
    """It is missing, and only some need it."""
    TROUBLE = "trouble"
    """It is not."""


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that was looked at.

    Attributes:
        topic: What it is.
        health: Whether it is as queries need it.
        text: What was seen; where it is trouble with what to do.
    """

    topic: str
    health: Health
    text: str


def examine(catalog: Catalog) -> Iterator[Sign]:
    """Yield the findings on this machine, topic by topic."""
    yield Sign("Python", Health.OK, f"{platform.python_version()}, {sys.executable}")
    yield from (_own(package) for package in _OURS)
    if can_evaluate():
        yield from _needs("muntin-engine")
        yield Sign("Java", Health.NOTE, _CLIENT_ALONE) if _is_client_alone() else _guarded("Java", _java)
    yield from _plugins(catalog)
    yield from _worker(catalog)


def examine_spark() -> Sign:
    """Start a session, let a worker of Spark's own answer, and stop it."""
    return _guarded("Spark", _spark) if can_evaluate() else Sign("Spark", Health.TROUBLE, _NO_ENGINE)


def java_home_for_spark() -> str:
    """Return the `JAVA_HOME` that Spark's own programs need, which look for Java themselves.

    Raises:
        EnvironmentLacksError: The engine is not installed.
        JavaNotFoundError: There is no Java that Spark can run on.
    """
    if not can_evaluate():
        raise EnvironmentLacksError(_NO_ENGINE)
    from muntin_engine.backends.spark.session.java import find_java, spark_java_home

    return str(spark_java_home(find_java()))


def _own(package: str) -> Sign:
    try:
        return Sign(package, Health.OK, version(package))
    except PackageNotFoundError:
        return Sign(package, Health.NOTE, _NO_ENGINE if package == "muntin-engine" else "not installed")


def _needs(package: str) -> Iterator[Sign]:
    """Yield the requirements of a package, without its extras and our own packages."""
    for requirement in map(Requirement, requires(package) or ()):
        is_wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if not is_wanted or requirement.name in _OURS:
            continue
        if requirement.name == "pyspark" and _is_client_alone():
            requirement.name = _CLIENT  # it is PySpark without Spark
        yield _requirement(requirement, package)


def _requirement(requirement: Requirement, package: str) -> Sign:
    remedy = f"\n  pip install '{requirement.name}{requirement.specifier}'"
    try:
        has = version(requirement.name)
    except PackageNotFoundError:
        return Sign(requirement.name, Health.TROUBLE, f"is not installed, and {package} needs it{remedy}")
    if not requirement.specifier.contains(has, prereleases=True):
        return Sign(requirement.name, Health.TROUBLE, f"{has}, but {package} needs {requirement.specifier}{remedy}")
    return Sign(requirement.name, Health.OK, has)


def _is_client_alone() -> bool:
    """Return True if PySpark is here as the client of Spark Connect alone."""
    return not _version("pyspark") and bool(_version(_CLIENT))


def _java() -> str:
    from muntin_engine.backends.spark.session.java import find_java

    java = find_java()
    return f"{java.version}, {java.home}"


def _plugins(catalog: Catalog) -> Iterator[Sign]:
    listing = survey(catalog)
    for name, offers in listing.plugins.items():
        yield Sign("plugin", Health.OK, f"{name}, {offers}")
    yield from (Sign("plugin", Health.TROUBLE, failure.message) for failure in listing.failures)
    if not listing.plugins and not listing.failures:
        yield Sign(
            "plugin", Health.NOTE, "none is installed\n  pip install muntin-stats, or start one: muntin new <name>"
        )


def _worker(catalog: Catalog) -> Iterator[Sign]:
    python = worker_python()
    try:
        answer = ask_python(_PROBE, list(_SEEN_BY_WORKERS), python)
    except EnvironmentLacksError as error:
        yield Sign("worker", Health.TROUBLE, f"{error}\n  set PYSPARK_PYTHON to the Python of the workers")
        return
    differences = list(_differences(answer, {entry.name for entry in catalog.entries}))
    yield Sign("worker", Health.OK, f"Python {answer['python']}, {answer['executable']}")
    remedy = f"install the same in the environment of {python}, or set PYSPARK_PYTHON to another Python"
    yield from (Sign("worker", Health.TROUBLE, f"{difference}\n  {remedy}") for difference in differences)
    if not differences:
        yield Sign("worker", Health.OK, "sees the packages and plugins that are seen here")


def _differences(answer: dict[str, Any], plugins: set[str]) -> Iterator[str]:
    here = platform.python_version()
    if here.split(".")[:2] != answer["python"].split(".")[:2]:
        yield f"runs Python {answer['python']}, the driver {here}; Spark wants the same minor version"
    for package, has in answer["packages"].items():
        ours = _version(package)
        if ours and has != ours:
            yield (
                f"has {package} {has}, the driver {ours}" if has else f"does not see {package}, which is installed here"
            )
    for plugin in sorted(plugins - set(answer["plugins"])):
        yield f"does not see the plugin {plugin}, which is installed here"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _spark() -> str:
    from muntin_engine import local_session, stop_session

    spark = local_session("muntin doctor")
    try:
        rows = spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()
        return f"{spark.version} runs, and a worker of it answered with {len(rows)} row"
    finally:
        stop_session(spark)


def _guarded(topic: str, look: Callable[[], str]) -> Sign:
    try:
        return Sign(topic, Health.OK, look())
    except (MuntinError, ImportError) as error:
        return Sign(topic, Health.TROUBLE, str(error))
