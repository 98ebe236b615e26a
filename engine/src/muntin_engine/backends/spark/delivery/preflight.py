"""The preflight check: see, before a query starts, that the workers have all that it needs."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pyspark.errors import PySparkException

from muntin_engine.backends.spark.delivery.by_value import by_value
from muntin_engine.backends.spark.delivery.driver_python import check_driver_python
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.backends.spark.session.kinds import AnySession, name_of
from muntin_engine.backends.spark.session.settings import read_setting
from muntin_engine.errors import WorkerEnvironmentError
from muntin_engine.packages import worker_report
from muntin_engine.packages.local_code import is_local
from muntin_engine.packages.needed_packages import THEIRS, Needed, Reference, needed_by, references_of
from muntin_engine.packages.packing import is_shippable

SETTING: Final = "spark.muntin.preflight"
"""The setting of a session that turns the preflight check off by `false`."""

_ROWS: Final = 10_000
"""Spark makes a task of them for each core that it knows of, so that every executor gets some if all are idle."""

_PYTHON: Final = "or start the workers with another Python: set PYSPARK_PYTHON before the session starts"

_CHECKED: Final[dict[str, set[str]]] = {}
"""The packages and modules that were found on the workers, by session."""


def check_workers(spark: AnySession, tasks: Iterable[bytes], *, is_streaming: bool) -> None:
    """Check that the workers of a session can open tasks, unless the session turns the check off.

    A package is checked once in a session: workers that have it in the driver's version have all of it.

    Args:
        spark: The session.
        tasks: The pickled tasks.
        is_streaming: True if Spark will start a Python process on the driver, too.

    Raises:
        WorkerEnvironmentError: They cannot; it says what is missing, where, and what to do.
    """
    if read_setting(spark, SETTING, "true").lower() == "false":
        return
    if is_streaming:
        check_driver_python(spark)
    known = _CHECKED.setdefault(name_of(spark), set())
    references = {reference for task in tasks for reference in references_of(task)}
    units = {module: _unit(module) for module in {reference.module for reference in references}}
    unchecked = {reference for reference in references if units[reference.module] not in known}
    if unchecked:
        needed = needed_by(unchecked)
        reports = worker_reports(spark, unchecked, needed)
        missing = {Reference(name) for report in reports for _, _, name in report["failures"] if name}
        judge(reports, needed_by(unchecked | missing) if missing else needed, platform.python_version())
        known.update(units.values())


def _unit(module: str) -> str:
    """Return the unit of installation of a module: its package, or the module if it is of no package."""
    return module if is_local(module) else module.partition(".")[0]


def worker_reports(spark: AnySession, references: Iterable[Reference], needed: Needed) -> list[dict[str, Any]]:
    """Return the reports of the workers, one per task.

    Raises:
        WorkerEnvironmentError: Spark's workers do not run at all.
    """
    try:
        with by_value([worker_report]):
            reporting = worker_report.reporting([(one.module, one.name) for one in sorted(references)], needed.imports)
            rows = spark.range(_ROWS).mapInArrow(reporting, "report string").collect()
    except PySparkException as error:
        said = root_cause(error).splitlines()
        raise WorkerEnvironmentError({"a worker that Spark could not start": said}, [_PYTHON]) from error
    return [json.loads(row[0]) for row in rows]


def judge(reports: Iterable[Mapping[str, object]], needed: Needed, python: str) -> None:
    """Raise if a report shows that a worker cannot run a query.

    Args:
        reports: The reports of the workers.
        needed: Their requirements.
        python: The driver's version of Python.

    Raises:
        WorkerEnvironmentError: One cannot.
    """
    found: dict[str, dict[str, None]] = {}
    lacking: set[str] = set()
    for report in reports:
        place = f"{report['host']}, {report['executable']}, Python {report['python']}"
        for subject, trouble in _troubles(report, needed, python):
            found.setdefault(place, {})[trouble] = None
            lacking.add(subject)
    if found:
        raise WorkerEnvironmentError({place: list(lines) for place, lines in found.items()}, _remedies(lacking, needed))


def _troubles(report: Mapping[str, Any], needed: Needed, python: str) -> Iterator[tuple[str, str]]:
    """Yield the troubles of a worker, each with its package, or the module if it is of no package."""
    if report["python"].split(".")[:2] != python.split(".")[:2]:
        yield "", f"it is Python {report['python']}, and the driver is {python}: the minor versions must be equal"
    has: Mapping[str, str | None] = report["packages"]
    for package, version in has.items():
        here = needed.versions[package]
        if version is None:
            yield package, f"{package} is missing, the driver has {here}" if here else f"{package} is missing"
        elif package in needed.same and version and here and version != here:
            yield package, f"{package} is {version}, and the driver has {here}"
    for module, reason, missing in report["failures"]:
        subject = needed.home(missing or module)
        if has.get(subject, "") is not None:
            yield subject, f"{needed.home(module)} cannot be imported: {reason}"


def _remedies(lacking: set[str], needed: Needed) -> list[str]:
    packages = sorted(name for name in lacking if name in needed.versions)
    modules = sorted(name for name in lacking if name and name not in needed.versions)
    remedies = [
        f"{module} is of no installed package: make it one, or see that all it names can be pickled, to travel by value"
        for module in modules
    ]
    if packages:
        pins = (f"{name}=={needed.versions[name]}" if needed.versions[name] else name for name in packages)
        remedies.append(f"install there what the driver has: pip install {' '.join(pins)}")
    if sendable := [name for name in packages if name not in THEIRS and is_shippable(name)]:
        remedies.append(f"send it with the session: ship(spark, {', '.join(map(repr, sendable))})")
    return [*remedies, _PYTHON]
