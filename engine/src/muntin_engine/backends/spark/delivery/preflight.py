"""The preflight check: before a query starts, check that the workers have the packages that it needs."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pyspark.errors import PySparkException

from muntin_engine.backends.spark.delivery.by_value import by_value
from muntin_engine.backends.spark.delivery.driver_python import check_driver_python
from muntin_engine.backends.spark.failures.root_cause import root_cause
from muntin_engine.backends.spark.session.declarative_pipelines import is_in_pipeline
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
"""The rows of the job that asks the workers: Spark makes a task for each core that it knows of, so that every executor
gets one if all are idle."""

_PYTHON: Final = "or start the workers with another Python: set PYSPARK_PYTHON before the session starts"

_CHECKED: Final[dict[str, set[str]]] = {}
"""The packages and modules that the workers are known to have, by session."""


def check_workers(spark: AnySession, tasks: Iterable[bytes], *, is_streaming: bool) -> None:
    """Check that the workers of a session can open tasks, unless the session turns the check off.

    A package is checked once in a session: workers that have it in the driver's version have all of its modules.

    Args:
        spark: The session.
        tasks: The pickled tasks.
        is_streaming: True if Spark will start a Python process on the driver, too.

    Raises:
        WorkerEnvironmentError: The workers cannot open them; the message says what is missing, where, and what to do.
    """
    if is_in_pipeline() or read_setting(spark, SETTING, "true").lower() == "false":
        return  # while a pipeline is defined, Spark runs nothing
    if is_streaming:
        check_driver_python(spark)

    # A unit is a package, or a module that no package has.
    checked_units = _CHECKED.setdefault(name_of(spark), set())
    references: set[Reference] = set()
    for task in tasks:
        references |= references_of(task)
    unchecked: set[Reference] = set()  # the references to units that were not checked in this session yet
    units: set[str] = set()
    for reference in references:
        unit = _unit(reference.module)
        if unit not in checked_units:
            unchecked.add(reference)
            units.add(unit)
    if not unchecked:
        return

    # Have the workers import the unchecked modules, and report what failed and which versions they have. `needs` are
    # the packages of these modules, with the driver's versions.
    needs = needed_by(unchecked)
    reports = worker_reports(spark, unchecked, needs)

    # A worker may fail to import a module because that module imports another one, which is missing. The missing module
    # is needed as well, so that the advice can name the driver's version of its package.
    missing: set[Reference] = set()
    for report in reports:
        # Each failure has a module, the reason, and the missing module, which is empty if the reason is another one.
        for _, _, missing_module in report["failures"]:
            if missing_module:
                missing.add(Reference(missing_module))
    if missing:
        needs = needed_by(unchecked | missing)
    check_reports(reports, needs, python=platform.python_version())
    checked_units |= units  # added only now, as the check has not raised


def _unit(module: str) -> str:
    """Return the unit by which a module is checked: its package, or the module itself if no package has it."""
    return module if is_local(module) else module.partition(".")[0]


def worker_reports(spark: AnySession, references: Iterable[Reference], needs: Needed) -> list[dict[str, Any]]:
    """Have the workers of a session try to import modules, and return their reports, one per task.

    Args:
        spark: The session.
        references: The modules and the names in them.
        needs: The packages of these modules.

    Raises:
        WorkerEnvironmentError: Spark's workers do not run at all.
    """
    try:
        with by_value([worker_report]):  # its code travels whole, as workers may lack the engine
            names = [(reference.module, reference.name) for reference in sorted(references)]
            # A function for `mapInArrow`, which yields one row with the report of its worker as JSON.
            reporting = worker_report.reporting(names, needs.imports)
            rows = spark.range(_ROWS).mapInArrow(reporting, "report string").collect()
    except PySparkException as error:
        reasons = root_cause(error).splitlines()
        raise WorkerEnvironmentError({"a worker that Spark could not start": reasons}, [_PYTHON]) from error
    return [json.loads(row[0]) for row in rows]


def check_reports(reports: Iterable[Mapping[str, object]], needs: Needed, python: str) -> None:
    """Raise if a report of a worker shows that it cannot run a query.

    Args:
        reports: The reports of the workers.
        needs: The packages and modules that the query needs.
        python: The driver's version of Python.

    Raises:
        WorkerEnvironmentError: A worker cannot run it.
    """
    # Several tasks of one worker report the same troubles: a dict keeps each of them once, in order.
    troubles_by_worker: dict[str, dict[str, None]] = {}
    lacking: set[str] = set()
    for report in reports:
        worker = f"{report['host']}, {report['executable']}, Python {report['python']}"
        for subject, trouble in _troubles(report, needs, python):
            troubles_by_worker.setdefault(worker, {})[trouble] = None
            lacking.add(subject)
    if troubles_by_worker:
        troubles = {worker: list(sentences) for worker, sentences in troubles_by_worker.items()}
        raise WorkerEnvironmentError(troubles, _remedies(lacking, needs))


def _troubles(report: Mapping[str, Any], needs: Needed, python: str) -> Iterator[tuple[str, str]]:
    """Yield the troubles of a worker as pairs: the package or module that it lacks, and a sentence.

    The first part is the name of the package, or of the module if no package has it; it is empty if the trouble is the
    version of Python.

    Args:
        report: The report of the worker.
        needs: The packages and modules that the query needs.
        python: The driver's version of Python.
    """
    if report["python"].split(".")[:2] != python.split(".")[:2]:
        yield "", f"it is Python {report['python']}, and the driver is {python}: the minor versions must be equal"
    # The version of each package on the worker: None if the package is missing there, empty if its version is unknown.
    worker_versions: Mapping[str, str | None] = report["packages"]
    for package, version in worker_versions.items():
        driver_version = needs.versions[package]
        if version is None:
            advice = f", the driver has {driver_version}" if driver_version else ""
            yield package, f"{package} is missing{advice}"
        elif package in needs.same and version and driver_version and version != driver_version:
            # Objects of a package in `needs.same` are pickled, so it must have the driver's version.
            yield package, f"{package} is {version}, and the driver has {driver_version}"
    # Each failure has a module, the reason, and the missing module, which is empty if the reason is another one.
    for module, reason, missing in report["failures"]:
        subject = needs.home(missing or module)
        is_yielded_above = subject in worker_versions and worker_versions[subject] is None  # the package is missing
        if not is_yielded_above:
            yield subject, f"{needs.home(module)} cannot be imported: {reason}"


def _remedies(lacking: set[str], needs: Needed) -> list[str]:
    """Return advice on the packages and modules that workers lack.

    Args:
        lacking: The names of packages, and of modules that no package has; empty for the version of Python.
        needs: The packages and modules that the query needs.
    """
    remedies: list[str] = []
    pins: list[str] = []
    shippable: list[str] = []
    for name in sorted(lacking):
        if name in needs.versions:
            version = needs.versions[name]
            pins.append(f"{name}=={version}" if version else name)
            if name not in THEIRS and is_shippable(name):  # Spark's own packages cannot be sent with a session
                shippable.append(repr(name))
        elif name:  # empty for the version of Python
            remedies.append(
                f"{name} is of no installed package: make it one, or see that all it names can be pickled, to travel "
                "by value"
            )
    if pins:
        remedies.append(f"install there what the driver has: pip install {' '.join(pins)}")
    if shippable:
        remedies.append(f"send it with the session: ship(spark, {', '.join(shippable)})")
    remedies.append(_PYTHON)
    return remedies
