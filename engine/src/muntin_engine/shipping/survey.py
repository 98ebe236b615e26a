"""What a worker says of itself. This travels as code: the worker may have no engine to import it from."""

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


def surveying(
    references: Sequence[tuple[str, str]], packages: Mapping[str, Sequence[str]]
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function for `mapInArrow` that answers, in a row of JSON, what its worker has.

    Args:
        references: Modules, and names in them, that are to be imported.
        packages: Distributions, each with what is imported from it.
    """

    def answer(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"answer": [json.dumps(seen(references, packages))]})

    return answer


def seen(references: Sequence[tuple[str, str]], packages: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return what this Python has.

    A package that can be imported and has no metadata has an empty version; one that is missing has none.
    """
    failures = [(module, *failure_of(module, name)) for module, name in references]
    return {
        "host": socket.gethostname(),
        "executable": sys.executable,
        "python": platform.python_version(),
        "failures": sorted({failure for failure in failures if failure[1]}),
        "packages": {package: version_of(package, names) for package, names in packages.items()},
    }


def failure_of(module: str, name: str) -> tuple[str, str]:
    """Return what goes wrong when something is imported, and the module that is missing; empty if nothing does."""
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
