"""Check that a module has the methods that the engine calls, and that they accept its arguments."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from types import FunctionType
from typing import Any, Final

from muntin.errors import ModuleDefinitionError
from muntin.modules.signatures import signature_of

_OPTIONAL: Final = {
    "remove_events": ("state", "payloads"),
    "combine": ("state", "other"),
    "deduct": ("state", "other"),
    "upgrade_state": ("state", "version"),
    "columnar_form": ("reads",),
}
"""The arguments of the methods that a base class leaves out; see `capabilities`."""

_WITHOUT_WINDOW: Final = frozenset({"combine", "deduct", "columnar_form"})
"""The methods that a time-sensitive module is not given the window in."""


def undefined_methods(cls: type, name: str, missing: Iterable[str]) -> ModuleDefinitionError:
    """Return the error for a class that does not define methods; what it defines under a similar name is told."""
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


def check_methods(cls: Any) -> None:
    """Refuse a method that cannot be called as the base class says, such as one that takes a window and gets none.

    Only the number of arguments is looked at: the engine gives them by place, so their names are the writer's.
    """
    base = next(some for some in cls.__mro__ if "_roles" in vars(some))
    functions = {name: part for name, part in vars(base).items() if isinstance(part, FunctionType)}
    required = {name: _names(function) for name, function in functions.items() if not name.startswith("_")}
    for name, untimed in {**_OPTIONAL, **required}.items():
        given = _timed(untimed) if cls.is_time_sensitive and name not in _WITHOUT_WINDOW else untimed
        method = inspect.getattr_static(cls, name, None)
        if not isinstance(method, FunctionType) or method is vars(base).get(name):
            continue
        try:
            signature_of(method).bind(None, *given)
        except TypeError:
            raise ModuleDefinitionError(
                f"{cls.name}: {name}({', '.join(_names(method))}) is called with ({', '.join(given)})\n"
                f"  {_remedy(cls, base, name, given, method)}"
            ) from None


def _names(method: FunctionType) -> tuple[str, ...]:
    """Return the names of the parameters after `self`."""
    return tuple(signature_of(method).parameters)[1:]


def _timed(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a time-sensitive module gets instead: events for payloads, and the window as well."""
    return (*("events" if name == "payloads" else name for name in given), "window")


def _remedy(cls: Any, base: Any, name: str, given: tuple[str, ...], method: FunctionType) -> str:
    written = f"define it as {name}({', '.join(('self', *given))})"
    may_be_timed = (
        base.__name__.removeprefix("Incremental") in ("Aggregate", "Operator") and name not in _WITHOUT_WINDOW
    )
    if may_be_timed and not cls.is_time_sensitive and len(_names(method)) > len(given):
        return f"{written}, or say is_time_sensitive = True, to be given events with lifetimes and the window"
    if cls.is_time_sensitive and len(_names(method)) < len(given):
        return f"{written}, as is_time_sensitive is True"
    return written
