"""Check the name of a module, and that it has the methods that the engine calls with its arguments."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Final, get_type_hints

from muntin.errors import ModuleDefinitionError

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
_OPTIONAL: Final = {
    "remove_events": ("state", "payloads"),
    "combine": ("state", "other"),
    "deduct": ("state", "other"),
    "upgrade_state": ("state", "version"),
    "columnar_form": ("reads",),
}
"""The arguments of the methods that a base class leaves out; see `IncrementalAggregate`."""

_WITHOUT_WINDOW: Final = frozenset({"combine", "deduct", "columnar_form"})
"""The methods that a time-sensitive module is not given the window in."""


_ANYTHING: Final = inspect.Signature(
    [
        inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("parameters", inspect.Parameter.VAR_KEYWORD),
    ]
)


def signature_of(code: Callable[..., object]) -> inspect.Signature:
    """Return a signature as far as it can be known; code in other languages need not have one."""
    try:
        return inspect.signature(code, eval_str=True)
    except NameError:  # an annotation for type checkers alone
        return inspect.signature(code)
    except (TypeError, ValueError):
        return _ANYTHING


def hints_of(code: Callable[..., object]) -> dict[str, Any]:
    """Return the annotations of a function as far as they can be read."""
    try:
        return get_type_hints(code, include_extras=True)
    except (NameError, TypeError, AttributeError):
        return {}


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
        close = difflib.get_close_matches(method.replace("_", ""), own, n=1)
        if close:
            lines.append(f"  it defines {own[close[0]]}, which nothing calls; did you mean {method}?")
    if len(lines) == 1:
        base = next(parent for parent in cls.__mro__ if parent.__module__.startswith("muntin."))
        lines.append(f"  expected: def {lacks[0]}(self, ...), as in the example that help({base.__qualname__}) shows")
    return ModuleDefinitionError("\n".join(lines))


def check_methods(cls: Any) -> None:
    """Refuse a method that cannot be called as the base class says, such as one that takes a window and gets none.

    Only the number of arguments is looked at: the engine gives them by place, so their names are the writer's.
    """
    base = next(some for some in cls.__mro__ if "_roles" in vars(some))
    own = [vars(some) for some in reversed(base.__mro__) if some.__module__ == base.__module__]
    functions = {name: part for part_of in own for name, part in part_of.items() if isinstance(part, FunctionType)}
    required = {name: _names(function) for name, function in functions.items() if not name.startswith("_")}
    for name, untimed in {**_OPTIONAL, **required}.items():
        given = untimed
        if cls.is_time_sensitive and name not in _WITHOUT_WINDOW:
            given = (*("events" if taken == "payloads" else taken for taken in untimed), "window")
        method = inspect.getattr_static(cls, name, None)
        if not isinstance(method, FunctionType) or method is functions.get(name):
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


def check_name(name: object, owner: str = "it") -> str:
    """Return a module's or function's name if it has the form `"<plugin>.<module>"`."""
    if name is None:
        raise ModuleDefinitionError(f"{owner} has no name\n  set the class attribute: name = '<plugin>.<module>'")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ModuleDefinitionError(
            f"{owner} is named {name!r}\n  expected: text of the form '<plugin>.<module>' in lower case"
        )
    return name


def check_aliases(name: str, aliases: object) -> None:
    """Refuse aliases of a module that are not a tuple of names without the plugin's."""
    if not isinstance(aliases, tuple) or not all(isinstance(a, str) and _NAME.fullmatch(f"a.{a}") for a in aliases):
        raise ModuleDefinitionError(
            f"{name} has the aliases {aliases!r}\n"
            "  expected: a tuple of names in lower case without that of the plugin, such as ('mean', 'avg')"
        )
