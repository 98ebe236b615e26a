"""Pickling code itself, instead of where to import it from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from types import ModuleType
from typing import Any, Final

from pyspark import cloudpickle

_PICKLER: Final[Any] = cloudpickle
_LOCK: Final = RLock()


@contextmanager
def by_value(modules: Iterable[ModuleType]) -> Iterator[None]:
    """Have classes and functions of some modules pickled whole, for as long as the context is.

    That of the main program is, with or without this. One thread pickles so at a time.
    """
    with _LOCK:
        before = _PICKLER.list_registry_pickle_by_value()
        ours = [module for module in modules if module.__name__ not in before]
        for module in ours:
            _PICKLER.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in ours:
                _PICKLER.unregister_pickle_by_value(module)
