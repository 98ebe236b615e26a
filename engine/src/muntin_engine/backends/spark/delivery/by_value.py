"""Pickling code itself, instead of where to import it from."""

from __future__ import annotations

import inspect
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from types import FunctionType, ModuleType
from typing import Any, Final

from pyspark import cloudpickle

_PICKLER: Final[Any] = cloudpickle
_LOCK: Final = RLock()
_TYPES: Final = "__annotations__"


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


def pickled(value: object, modules: Iterable[ModuleType]) -> bytes:
    """Return a value as bytes, with the code of some modules whole."""
    buffer = io.BytesIO()
    with by_value(modules):
        _TypedPickler(buffer).dump(value)
    return buffer.getvalue()


class _TypedPickler(_PICKLER.CloudPickler):  # type: ignore[misc]  # it has no types
    """Pickles annotations that are text as the types that they name, as nobody could look these up later.

    Code that travels whole leaves behind what it does not use, and the module in which names mean something.
    """

    def reducer_override(self, value: object) -> object:
        """Reduce a class or a function for `pickle`, with the types in it by reference."""
        reduced = super().reducer_override(value)
        types = _types_of(value) if isinstance(value, type | FunctionType) else None
        if types is None or not isinstance(reduced, tuple) or len(reduced) < 3:
            return reduced
        parts = ({**part, _TYPES: types} if isinstance(part, dict) and _TYPES in part else part for part in reduced[2])
        return (*reduced[:2], tuple(parts), *reduced[3:])


def _types_of(value: type | FunctionType) -> dict[str, object] | None:
    """Return the annotations of a class or a function; None if they are no text, or name what is not there."""
    said = vars(value).get(_TYPES) if isinstance(value, type) else value.__annotations__
    if not isinstance(said, dict) or not any(isinstance(one, str) for one in said.values()):
        return None
    try:
        return inspect.get_annotations(value, eval_str=True)
    except Exception:  # names of an import for type checkers alone
        return None
