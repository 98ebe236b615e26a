"""Check that a package's modules, triggers and windows can be pickled on the driver and unpickled on a worker."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from muntin import Module
from muntin.triggers import Trigger
from muntin.windows import WindowSpecification
from muntin_cli.checking.report import Item, Section, finding, ok
from muntin_cli.checking.subjects import CheckedSubject, Subjects
from muntin_cli.errors import EnvironmentLacksError
from muntin_cli.output import counted
from muntin_cli.processes import ask_python, worker_python

MOST_BYTES: Final = 900_000
"""Greatest size of the code of a whole query, see `muntin_engine.backends.spark.delivery.packed_task`."""

_PROBE: Final = Path(__file__).parents[1] / "probes" / "open_modules.py"
_KEEP_OUT: Final = "  keep open files, connections and large tables out of its attributes; load them at first use"


def check_pickling(subjects: Subjects) -> tuple[Section, dict[str, bytes]]:
    """Pickle modules, triggers and windows as the engine does.

    Returns:
        The section of the report, and the bytes by the subject's label.
    """
    findings: list[Item] = []
    pickled: dict[str, bytes] = {}
    for subject in subjects.made:
        if isinstance(subject.offered, Module | Trigger | WindowSpecification):
            result = _pickled(subject)
            if isinstance(result, bytes):
                pickled[subject.label] = result
            else:
                findings.append(result)
    items = [*_summary(pickled), *findings]
    if not items:
        items = [ok("there is no module to pickle")]
    return Section("pickling", tuple(items)), pickled


def check_worker(pickled: Mapping[str, bytes]) -> Section:
    """Unpickle subjects in the Python of a worker, in an empty folder, where only installed packages are seen."""
    if not pickled:
        return Section("worker", (ok("there is no module to open"),))
    python = worker_python()
    # The question is JSON, which has no bytes.
    question = {label: b64encode(data).decode() for label, data in pickled.items()}
    try:
        answer = ask_python(_PROBE, question, python)
    except EnvironmentLacksError as error:
        return Section("worker", (finding(str(error)),))
    failures = {label: reason for label, reason in answer["failures"].items() if reason}
    return Section("worker", tuple(_worker_items(answer["python"], python, len(pickled), failures)))


def _pickled(subject: CheckedSubject) -> bytes | Item:
    """Return a subject as bytes, or a finding if that is not possible."""
    dumps = _pickler()
    try:
        data = dumps(subject.offered)
    except Exception as error:
        return finding(f"{subject.label} cannot be pickled: {type(error).__name__}: {error}\n{_KEEP_OUT}")
    if len(data) > MOST_BYTES:
        return finding(f"{subject.label} has {len(data):,} bytes, a query may have {MOST_BYTES:,} in all\n{_KEEP_OUT}")
    return data


def _pickler() -> Callable[[Any], bytes]:
    """Return the function with which a query pickles modules: PySpark's, or, if it is not installed, the engine's."""
    try:
        dumps: Callable[[Any], bytes] = import_module("pyspark.cloudpickle").dumps
    except ImportError:
        from muntin_engine.packages.pickled_code import pickled_with_local_code

        return partial(pickled_with_local_code, import_module("cloudpickle"))
    return dumps


def _summary(pickled: Mapping[str, bytes]) -> Iterator[Item]:
    """Yield the number of pickled subjects and the size of the largest; nothing if there are none."""
    if pickled:
        largest = max(pickled, key=lambda label: len(pickled[label]))
        yield ok(f"{counted(len(pickled), 'module')}, the largest is {largest}: {len(pickled[largest])} bytes")


def _worker_items(version: str, python: str, count: int, failures: Mapping[str, str]) -> Iterator[Item]:
    """Yield the number of subjects that a worker opened, and a finding for each other one."""
    if len(failures) < count:
        yield ok(f"Python {version} opened {counted(count - len(failures), 'module')} in an empty folder")
    for label, reason in failures.items():
        yield finding(
            f"{label} cannot be opened by {python}: {reason}\n"
            "  install its package in the Python environment of the workers (PYSPARK_PYTHON)"
        )
