"""The report of a worker for the preflight check.

This module is pickled by value, as the worker may have no engine installed.
"""

from __future__ import annotations

import json
import platform
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any


def reporting(
    references: Sequence[tuple[str, str]], packages: Mapping[str, Sequence[str]]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function for `mapInArrow` that yields the report of its worker, in a row of JSON.

    Args:
        references: Modules, and names in them, that the worker tries to import.
        packages: Distributions, each with the names of its top-level modules.
    """

    def report_of_worker(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for _ in batches:  # Spark expects that all are read
            pass
        yield pa.RecordBatch.from_pydict({"report": [json.dumps(report(references, packages))]})

    return report_of_worker


def report(references: Sequence[tuple[str, str]], packages: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Describe this Python: host, version, packages, and the references that fail to import.

    A package that can be imported and has no metadata has an empty version; one that is missing has none.
    """
    failures: set[tuple[str, str, str]] = set()
    for module, name in references:
        error, missing_module = import_failure(module, name)
        if error:
            failures.add((module, error, missing_module))
    return {
        "host": socket.gethostname(),
        "executable": sys.executable,
        "python": platform.python_version(),
        "failures": sorted(failures),
        "packages": {package: version_of(package, names) for package, names in packages.items()},
    }


def import_failure(module: str, name: str) -> tuple[str, str]:
    """Return the error of importing a name, and the module that is missing; both empty if there is none."""
    try:
        value: Any = import_module(module)
        for part in filter(None, name.split(".")):  # an empty name is the module itself
            value = getattr(value, part)
    except (Exception, SystemExit) as error:  # the code of a module that is imported may raise anything, or exit
        missing_module = ""
        if isinstance(error, ModuleNotFoundError):
            missing_module = error.name or ""
        return f"{type(error).__name__}: {error}", missing_module
    return "", ""


def version_of(package: str, names: Sequence[str]) -> str | None:
    """Return the version of a distribution: empty if its modules are there without metadata, None if it is missing.

    Args:
        package: The name of the distribution.
        names: The names of its top-level modules.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        can_be_imported = bool(names) and all(find_spec(name) for name in names)
        return "" if can_be_imported else None
