"""Pickle code by value, and not by a reference by which it is imported.

There are two cloudpickles: PySpark has one of its own, and processes without PySpark use the package.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from threading import RLock
from types import FunctionType, ModuleType
from typing import Any, Final

from muntin_engine.packages.local_code import local_modules

_LOCK: Final = RLock()
_ANNOTATIONS: Final = "__annotations__"

_STATE: Final = 2
"""The place of the object's state in the tuple that a reducer returns: a dict, or a tuple of several."""


@contextmanager
def by_value(cloudpickle: Any, modules: Iterable[ModuleType]) -> Iterator[None]:
    """Let cloudpickle pickle the code of some modules by value in the block, and not by reference.

    Code of the main program is pickled by value in any case. One thread at a time can be in such a block.

    Args:
        cloudpickle: The cloudpickle, as a module.
        modules: The modules whose classes and functions are pickled.
    """
    with _LOCK:
        registered_names = cloudpickle.list_registry_pickle_by_value()  # the program may have registered modules itself
        new_modules = [module for module in modules if module.__name__ not in registered_names]
        for module in new_modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in new_modules:
                cloudpickle.unregister_pickle_by_value(module)


def pickled_with_local_code(cloudpickle: Any, value: object) -> bytes:
    """Return a value as bytes, with code of no installed package pickled by value if that is possible.

    Otherwise all code is pickled by reference, as workers may have the module of a script.

    Args:
        cloudpickle: The cloudpickle, as a module.
        value: The value.

    Raises:
        Exception: The value cannot be pickled in either way; this is the error of the first one.
    """
    modules = local_modules()
    try:
        return _pickled(cloudpickle, value, modules=modules)
    except Exception:
        with suppress(Exception):
            return _pickled(cloudpickle, value, modules=[])
        raise


def _pickled(cloudpickle: Any, value: object, modules: Iterable[ModuleType]) -> bytes:
    """Return a value as bytes, with the code of some modules pickled by value."""
    buffer = io.BytesIO()
    with by_value(cloudpickle, modules):
        _typed_pickler(cloudpickle)(buffer).dump(value)
    return buffer.getvalue()


@cache
def _typed_pickler(cloudpickle: Any) -> type[Any]:
    """Return a pickler that replaces annotations that are text by the types that they name.

    Code that is pickled by value arrives without its module, and so without the names by which the text could be looked
    up.

    Args:
        cloudpickle: The cloudpickle, as a module.
    """

    class TypedPickler(cloudpickle.CloudPickler):  # type: ignore[misc]  # it has no types
        """Pickles classes and functions with types as annotations."""

        def reducer_override(self, value: object) -> object:
            """Reduce a value for `pickle`; the annotations of a class or a function become types."""
            return _with_types(value, super().reducer_override(value))

    return TypedPickler


def _with_types(value: object, reduced: object) -> object:
    """Replace the annotations in the reduced form of a class or a function by types.

    Args:
        value: The value that is pickled, which may be of any class.
        reduced: The tuple that the reducer of the value returned; anything else is returned as it is.
    """
    types = _types_of(value) if isinstance(value, type | FunctionType) else None
    if types is None or not isinstance(reduced, tuple) or len(reduced) <= _STATE:
        return reduced
    state: list[object] = []  # cloudpickle's state of a class or a function is a tuple of dicts of attributes
    for part in reduced[_STATE]:
        has_annotations = isinstance(part, dict) and _ANNOTATIONS in part
        state.append({**part, _ANNOTATIONS: types} if has_annotations else part)
    return (*reduced[:_STATE], tuple(state), *reduced[_STATE + 1 :])


def _types_of(value: type | FunctionType) -> dict[str, object] | None:
    """Return the annotations of a class or a function as types.

    It returns None, so that annotations stay as they are, if none of them is text, or if one names a type that cannot
    be looked up.
    """
    # `vars` of a class has its own annotations, and not those that it inherits.
    annotations = vars(value).get(_ANNOTATIONS) if isinstance(value, type) else value.__annotations__
    if not isinstance(annotations, dict):
        return None
    if not any(isinstance(annotation, str) for annotation in annotations.values()):
        return None
    try:
        return inspect.get_annotations(value, eval_str=True)
    except Exception:  # a type that is only imported for type checkers, for example
        return None
