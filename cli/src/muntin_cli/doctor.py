"""Examine whether a machine can run queries: in this process, and on Spark with its Java and its workers."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from muntin.catalog import Catalog
from muntin.errors import MuntinError
from muntin_cli.errors import EnvironmentLacksError
from muntin_cli.evaluation import can_evaluate
from muntin_cli.processes import ask_python, worker_python
from muntin_cli.survey import survey

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_PROBE: Final = Path(__file__).parent / "probes" / "what_is_here.py"
_OURS: Final = ("muntin-sdk", "muntin-engine", "muntin-cli")
_SEEN_BY_WORKERS: Final = ("muntin-sdk", "muntin-engine", "pyspark", "pyarrow", "pandas", "protobuf")
_CLIENT: Final = "pyspark-client"
_NO_ENGINE: Final = "muntin-engine is not installed, so no query can run here\n  pip install muntin"
_NO_LOCAL: Final = "need DuckDB, which is not installed\n  pip install 'muntin-engine[local]'"
_NO_SPARK: Final = (
    "need PySpark, which is not installed; what runs in this process does not\n  pip install 'muntin[spark]'"
)
_CLIENT_ALONE: Final = "not looked for: pyspark-client starts no Spark here, and asks a Spark Connect server"


class Health(StrEnum):
    """The state of one requirement of queries."""

    OK = "ok"
    """It is met."""
    NOTE = "note"
    """It is not met, and only some queries need it."""
    TROUBLE = "trouble"
    """It is not met."""


@dataclass(frozen=True, slots=True)
class Sign:
    """The state of one requirement, as it was found.

    Attributes:
        topic: Name of the requirement.
        health: State of the requirement.
        text: Details, such as a version; for trouble with a remedy.
    """

    topic: str
    health: Health
    text: str


def examine(catalog: Catalog) -> Iterator[Sign]:
    """Yield the findings on this machine, topic by topic."""
    yield Sign("Python", Health.OK, f"{platform.python_version()}, {sys.executable}")
    yield from map(_check_ours, _OURS)
    if can_evaluate():
        yield from _check_requirements("muntin-engine")
        yield from _check_local_queries()
        yield from _check_queries_on_spark()
    yield from _check_plugins(catalog)
    if _has_pyspark():
        yield from _check_worker(catalog)


def examine_spark() -> Sign:
    """Start a session, run a task in a worker of it, and stop it."""
    return _guarded("Spark", _spark) if can_evaluate() else Sign("Spark", Health.TROUBLE, _NO_ENGINE)


def java_home_for_spark() -> str:
    """Return the `JAVA_HOME` for Spark's own programs, which look for Java themselves.

    Raises:
        EnvironmentLacksError: The engine is not installed.
        JavaNotFoundError: There is no Java that Spark can run on.
    """
    if not can_evaluate():
        raise EnvironmentLacksError(_NO_ENGINE)
    from muntin_engine.backends.spark.session.java import find_java, spark_java_home

    return str(spark_java_home(find_java()))


def _check_ours(package: str) -> Sign:
    """Return the version of a package of ours, or a note that it is not installed."""
    installed_version = _version(package)
    if installed_version:
        return Sign(package, Health.OK, installed_version)
    return Sign(package, Health.NOTE, _NO_ENGINE if package == "muntin-engine" else "not installed")


def _check_local_queries() -> Iterator[Sign]:
    """Yield the state of each requirement of queries over tables in this process."""
    if not _version("duckdb"):
        yield Sign("local queries", Health.NOTE, _NO_LOCAL)
        return
    yield from _check_requirements("muntin-engine", extra="local")


def _check_queries_on_spark() -> Iterator[Sign]:
    """Yield the state of each requirement of queries on Spark, which run over streams and on clusters."""
    if not _has_pyspark():
        yield Sign("streams", Health.NOTE, _NO_SPARK)
        return
    yield from _check_requirements("muntin-engine", extra="spark")
    yield Sign("Java", Health.NOTE, _CLIENT_ALONE) if _is_client_alone() else _guarded("Java", _java)


def _check_requirements(package: str, extra: str = "") -> Iterator[Sign]:
    """Yield the requirements of a package, or of one of its extras, without our own packages."""
    from packaging.requirements import Requirement  # of all commands this one alone reads any

    for requirement in map(Requirement, requires(package) or ()):
        # Our own packages have signs of their own.
        if requirement.name in _OURS or not _belongs_to(requirement, extra):
            continue
        if requirement.name == "pyspark" and _is_client_alone():
            requirement.name = _CLIENT  # the client has PySpark's modules, so it meets the requirement
        yield _check_requirement(requirement, package)


def _belongs_to(requirement: Requirement, extra: str) -> bool:
    """True if a requirement applies here, and is one of an extra; without an extra, one of the package itself."""
    if requirement.marker is None:
        return not extra
    is_of_package = requirement.marker.evaluate({"extra": ""})
    if not extra:
        return is_of_package
    return not is_of_package and requirement.marker.evaluate({"extra": extra})


def _check_requirement(requirement: Requirement, package: str) -> Sign:
    """Compare the installed version of a requirement with the versions that a package needs."""
    remedy = f"\n  pip install '{requirement.name}{requirement.specifier}'"
    installed_version = _version(requirement.name)
    if not installed_version:
        return Sign(requirement.name, Health.TROUBLE, f"is not installed, and {package} needs it{remedy}")
    # Whoever has installed a pre-release wants it.
    if not requirement.specifier.contains(installed_version, prereleases=True):
        text = f"{installed_version}, but {package} needs {requirement.specifier}{remedy}"
        return Sign(requirement.name, Health.TROUBLE, text)
    return Sign(requirement.name, Health.OK, installed_version)


def _has_pyspark() -> bool:
    """True if PySpark is installed, whole or as the client of Spark Connect."""
    return bool(_version("pyspark") or _version(_CLIENT))


def _is_client_alone() -> bool:
    """True if PySpark is installed as the client of Spark Connect alone."""
    return not _version("pyspark") and bool(_version(_CLIENT))


def _java() -> str:
    """Find the Java that Spark would run on, and return its version and its home."""
    from muntin_engine.backends.spark.session.java import find_java

    java = find_java()
    return f"{java.version}, {java.home}"


def _check_plugins(catalog: Catalog) -> Iterator[Sign]:
    """Yield the plugins that load, each in a process of its own, and the failures of others."""
    listing = survey(catalog)
    for name, offers in listing.plugins.items():
        yield Sign("plugin", Health.OK, f"{name}, {offers}")
    for failure in listing.failures:
        yield Sign("plugin", Health.TROUBLE, failure.message)
    if not listing.plugins and not listing.failures:
        text = "none is installed\n  pip install muntin-stats, or start one: muntin new <name>"
        yield Sign("plugin", Health.NOTE, text)


def _check_worker(catalog: Catalog) -> Iterator[Sign]:
    """Start the Python that Spark's workers would run, and yield where its packages differ from those seen here."""
    python = worker_python()
    try:
        answer = ask_python(_PROBE, list(_SEEN_BY_WORKERS), python)
    except EnvironmentLacksError as error:
        yield Sign("worker", Health.TROUBLE, f"{error}\n  set PYSPARK_PYTHON to the Python of the workers")
        return
    differences = list(_differences(answer, {entry.name for entry in catalog.entries}))
    yield Sign("worker", Health.OK, f"Python {answer['python']}, {answer['executable']}")
    remedy = f"install the same in the environment of {python}, or set PYSPARK_PYTHON to another Python"
    for difference in differences:
        yield Sign("worker", Health.TROUBLE, f"{difference}\n  {remedy}")
    if not differences:
        yield Sign("worker", Health.OK, "sees the packages and plugins that are seen here")


def _differences(answer: dict[str, Any], plugins: set[str]) -> Iterator[str]:
    """Yield the differences between a worker, as it answered, and the driver, which has `plugins`."""
    # Spark refuses workers of another minor version, and tells nobody before the first task.
    driver_python = platform.python_version()
    worker_minor = answer["python"].split(".")[:2]
    if driver_python.split(".")[:2] != worker_minor:
        yield f"runs Python {answer['python']}, the driver {driver_python}; Spark wants the same minor version"
    # A package that the driver itself does not have is no difference.
    for package, worker_version in answer["packages"].items():
        driver_version = _version(package)
        if not driver_version or worker_version == driver_version:
            continue
        if worker_version:
            yield f"has {package} {worker_version}, the driver {driver_version}"
        else:
            yield f"does not see {package}, which is installed here"
    for plugin in sorted(plugins - set(answer["plugins"])):
        yield f"does not see the plugin {plugin}, which is installed here"


def _version(package: str) -> str:
    """Return the version of an installed package; empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _spark() -> str:
    """Start Spark, have a worker of it answer, and describe the outcome."""
    from muntin_engine import local_session, stop_session

    spark = local_session("muntin doctor")
    try:
        # The function does nothing, but Python has to run it in a worker.
        rows = spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()
        return f"{spark.version} runs, and a worker of it answered with {len(rows)} row"
    finally:
        stop_session(spark)


def _guarded(topic: str, look: Callable[[], str]) -> Sign:
    """Call a function that examines a topic, and return its text, or its error as trouble."""
    try:
        return Sign(topic, Health.OK, look())
    except (MuntinError, ImportError) as error:
        return Sign(topic, Health.TROUBLE, str(error))
