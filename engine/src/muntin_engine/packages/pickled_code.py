"""Pickle code itself, instead of a reference by which it is imported.

There are two cloudpickles: PySpark has one of its own, and processes without PySpark take the package.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from types import FunctionType, ModuleType
from typing import Any, Final

from muntin_engine.packages.local_code import local_modules

_LOCK: Final = RLock()
_ANNOTATIONS: Final = "__annotations__"

_STATE: Final = 2
"""The place, in what pickle's reducers return, of the state of the object: a dict, or several in a tuple."""


@contextmanager
def by_value(cloudpickle: Any, modules: Iterable[ModuleType]) -> Iterator[None]:
    """Pickle the classes and functions of some modules whole, in a block.

    Code of the main program is pickled whole in any case. One thread at a time can be in such a block.

    Args:
        cloudpickle: The module that pickles.
        modules: The modules whose code is pickled.
    """
    with _LOCK:
        registered_names = cloudpickle.list_registry_pickle_by_value()  # those of the program itself stay registered
        new_modules = [module for module in modules if module.__name__ not in registered_names]
        for module in new_modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in new_modules:
                cloudpickle.unregister_pickle_by_value(module)


def pickled_with_local_code(cloudpickle: Any, value: object) -> bytes:
    """Return a value as bytes. Code of no installed package is pickled whole if it can be, and else by reference.

    Args:
        cloudpickle: The module that pickles.
        value: The value.

    Raises:
        Exception: The value cannot be pickled; it is what was raised when its code was pickled whole.
    """
    # Code of a script may refer to what cannot be pickled; the workers may yet have its module, by reference.
    failures: list[Exception] = []
    for modules in (local_modules(), []):
        try:
            return _pickled(cloudpickle, value, modules)
        except Exception as error:
            failures.append(error)
    raise failures[0]


def _pickled(cloudpickle: Any, value: object, modules: Iterable[ModuleType]) -> bytes:
    """Return a value as bytes, with the code of some modules whole."""
    buffer = io.BytesIO()
    with by_value(cloudpickle, modules):
        _typed_pickler(cloudpickle)(buffer).dump(value)
    return buffer.getvalue()


@cache
def _typed_pickler(cloudpickle: Any) -> type[Any]:
    """Return the class that pickles annotations that are text as the types that they name.

    Code that travels whole leaves its module behind, and with it the names by which text could be looked up later.
    """

    class TypedPickler(cloudpickle.CloudPickler):  # type: ignore[misc]  # it has no types
        def reducer_override(self, value: object) -> object:
            """Reduce a class or a function for `pickle`, with annotations that are types."""
            return _with_types(value, super().reducer_override(value))

    return TypedPickler


def _with_types(value: object, reduced: object) -> object:
    """Return what the reducer of a class or a function returned, with annotations that are types."""
    types = _types_of(value) if isinstance(value, type | FunctionType) else None
    if types is None or not isinstance(reduced, tuple) or len(reduced) <= _STATE:
        return reduced
    state: list[object] = []
    for part in reduced[_STATE]:
        has_annotations = isinstance(part, dict) and _ANNOTATIONS in part
        state.append({**part, _ANNOTATIONS: types} if has_annotations else part)
    return (*reduced[:_STATE], tuple(state), *reduced[_STATE + 1 :])


def _types_of(value: type | FunctionType) -> dict[str, object] | None:
    """Return the types that the annotations of a class or a function name.

    None if no annotation is text, or if one names a type that does not exist here.
    """
    annotations = vars(value).get(_ANNOTATIONS) if isinstance(value, type) else value.__annotations__
    if not isinstance(annotations, dict):
        return None
    if not any(isinstance(annotation, str) for annotation in annotations.values()):
        return None
    try:
        return inspect.get_annotations(value, eval_str=True)
    except Exception:  # a name that is imported for type checkers alone
        return None
