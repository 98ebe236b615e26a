"""The module of the backend of an object, found by the package of its type.

It stands below all rooms, and imports a backend by its name when the first of its objects comes: nobody waits for a
backend that is not used, and neither sinks nor the contract of backends import one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Final

SPARK: Final = "muntin_engine.backends.spark.spark_backend"
"""The module of the backend that runs on Spark."""

_MODULES: Final[Mapping[str, str]] = {"pyspark": SPARK}
"""The module of the backend, by the package whose types it takes; each has a constant `BACKEND`."""


def backend_module(kind: type) -> ModuleType | None:
    """Return the module of the backend that takes a type, or one that it derives from; None if none does."""
    for ancestor in kind.__mro__:
        name = _MODULES.get(ancestor.__module__.partition(".")[0])
        if name is not None:
            return imported_backend(name)
    return None


@cache
def imported_backend(name: str) -> ModuleType:
    """Import the module of a backend."""
    return import_module(name)
