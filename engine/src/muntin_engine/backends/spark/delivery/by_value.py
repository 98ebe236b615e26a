"""Pickle code itself, with the cloudpickle that Spark pickles with."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from types import ModuleType

from pyspark import cloudpickle

from muntin_engine.packages import pickled_code


def by_value(modules: Iterable[ModuleType]) -> AbstractContextManager[None]:
    """Pickle the classes and functions of some modules whole, in a block."""
    return pickled_code.by_value(cloudpickle, modules)
