"""Check that a module has the methods that the engine calls, and that they accept its arguments."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from types import FunctionType
from typing import Any, Final

from muntin.errors import ModuleDefinitionError
from muntin.modules.signatures import signature_of


def undefined_methods(cls: type, name: str, missing: Iterable[str]) -> ModuleDefinitionError:
    """Return the error for a class that does not define methods; what it defines under a similar name is told.

    Args:
        cls: The class.
        name: Its name, for the error.
        missing: The methods that it lacks.
    """
    lacks = sorted(missing)
    own = {
        found.replace("_", "").lower(): found
        for parent in cls.__mro__
        if not parent.__module__.startswith("muntin.")
        for found, value in vars(parent).items()
        if callable(value) and not found.startswith("__")
    }
    lines = [f"{name} does not define {', '.join(lacks)}"]
    for method in lacks:
        for close in difflib.get_close_matches(method.replace("_", ""), own, n=1):
            lines.append(f"  it defines {own[close]}, which nothing calls; did you mean {method}?")
    return ModuleDefinitionError("\n".join(lines))


_OPTIONAL: Final = {
    "remove_events": ("state", "payloads"),
    "combine": ("state", "other"),
    "deduct": ("state", "other"),
    "upgrade_state": ("state", "version"),
    "columnar_form": ("reads",),
}
"""The arguments of the methods that a base class leaves out; see `capabilities`."""

_WITH_WINDOW: Final = {"remove_events": ("state", "events", "window"), "upgrade_state": ("state", "version", "window")}
"""The same for a time-sensitive base class, where it is something else."""


def check_methods(cls: Any) -> None:
    """Refuse a method that cannot be called as the base class says, such as one that takes a window and gets none.

    Only the number of arguments is looked at: the engine gives them by place, so their names are the writer's.

    Args:
        cls: A complete class below one of the base classes of modules.

    Raises:
        ModuleDefinitionError: It has such a method.
    """
    base = next(some for some in cls.__mro__ if "_roles" in vars(some))
    functions = {name: part for name, part in vars(base).items() if isinstance(part, FunctionType)}
    required = {name: _names(function) for name, function in functions.items() if not name.startswith("_")}
    optional = _OPTIONAL | _WITH_WINDOW if base.is_time_sensitive else _OPTIONAL
    for name, given in {**optional, **required}.items():
        method = inspect.getattr_static(cls, name, None)
        if not isinstance(method, FunctionType) or method is vars(base).get(name):
            continue
        try:
            signature_of(method).bind(None, *given)
        except TypeError:
            raise ModuleDefinitionError(
                f"{cls.name}: {name}({', '.join(_names(method))}) is called with ({', '.join(given)})\n"
                f"  {_remedy(base, name, given, method)}"
            ) from None


def _names(method: FunctionType) -> tuple[str, ...]:
    """Return the names of the parameters after `self`."""
    return tuple(signature_of(method).parameters)[1:]


def _remedy(base: Any, name: str, given: tuple[str, ...], method: FunctionType) -> str:
    written = f"define it as {name}({', '.join(('self', *given))})"
    takes_more = len(_names(method)) > len(given)
    if takes_more and not base.is_time_sensitive and not base.__name__.startswith("Columnar"):
        return f"{written}, or subclass TimeSensitive{base.__name__}, which knows the events' lifetimes and the window"
    return written
