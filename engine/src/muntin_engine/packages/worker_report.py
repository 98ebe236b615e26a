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
    """Return a function for `mapInArrow` that yields the report of the worker that runs it, as a row of JSON.

    Args:
        references: The objects that the worker tries to import: each a module and a name in it, which may be empty.
        packages: The distributions, each with the names of its top-level modules.
    """

    def report_of_worker(batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the report of this worker, whatever rows it gets."""
        import pyarrow as pa

        for _ in batches:  # Spark expects that all rows are read
            pass
        yield pa.RecordBatch.from_pydict({"report": [json.dumps(report(references, packages))]})

    return report_of_worker


def report(references: Sequence[tuple[str, str]], packages: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Describe this Python as data: host, version, packages with their versions, and failures to import.

    Args:
        references: The objects that are tried to import: each a module and a name in it, which may be empty.
        packages: The distributions, each with the names of its top-level modules; for their versions see `version_of`.
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
    """Try to import an object.

    Args:
        module: The name of the module.
        name: The name of the object in the module, with dots; empty for the module itself.

    Returns:
        The error in words, empty if there was none; and the name of the module that is missing, empty if the error has
        another reason.
    """
    try:
        value: Any = import_module(module)
        for part in filter(None, name.split(".")):  # there is no part in an empty name
            value = getattr(value, part)
    except (Exception, SystemExit) as error:  # importing a module runs its code, which may raise anything, or exit
        missing_module = ""
        if isinstance(error, ModuleNotFoundError):
            missing_module = error.name or ""
        return f"{type(error).__name__}: {error}", missing_module
    return "", ""


def version_of(package: str, names: Sequence[str]) -> str | None:
    """Return the version of a distribution; None if it is missing.

    It is empty if the modules of the distribution can be imported, but there are no metadata.

    Args:
        package: The name of the distribution.
        names: The names of its top-level modules.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        can_be_imported = bool(names) and all(find_spec(name) for name in names)
        return "" if can_be_imported else None
