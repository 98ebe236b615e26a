"""The report of a worker for the preflight check. It is pickled by value: the worker may have no engine installed."""

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
        references: Modules, and names in them, that are to be imported.
        packages: Distributions, each with the names of its top-level modules.
    """

    def reported(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"report": [json.dumps(report(references, packages))]})

    return reported


def report(references: Sequence[tuple[str, str]], packages: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Describe this Python: host, version, packages, and the references that fail to import.

    A package that can be imported and has no metadata has an empty version; one that is missing has none.
    """
    failures = [(module, *import_failure(module, name)) for module, name in references]
    return {
        "host": socket.gethostname(),
        "executable": sys.executable,
        "python": platform.python_version(),
        "failures": sorted({failure for failure in failures if failure[1]}),
        "packages": {package: version_of(package, names) for package, names in packages.items()},
    }


def import_failure(module: str, name: str) -> tuple[str, str]:
    """Return the error of importing a name, and the module that is missing; both empty if there is none."""
    try:
        found: Any = import_module(module)
        for part in filter(None, name.split(".")):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        missing = (error.name or "") if isinstance(error, ModuleNotFoundError) else ""
        return f"{type(error).__name__}: {error}", missing
    return "", ""


def version_of(package: str, names: Sequence[str]) -> str | None:
    """Return the version of a distribution."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "" if names and all(find_spec(name) for name in names) else None
