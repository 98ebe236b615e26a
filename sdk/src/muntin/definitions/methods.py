"""Check the name of a module, and that its methods take the arguments with which the engine calls them."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
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
"""Methods that a module may define, but no base class does, with their arguments; see `IncrementalAggregate`."""

_WITHOUT_WINDOW: Final = frozenset({"combine", "deduct", "columnar_form"})
"""Methods that do not get the window, not even in a time-sensitive module."""


_ANYTHING: Final = inspect.Signature(
    [
        inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL),
        inspect.Parameter("parameters", inspect.Parameter.VAR_KEYWORD),
    ]
)


def signature_of(code: Callable[..., object]) -> inspect.Signature:
    """Return the signature of a callable; for code in other languages, which has none, one that takes any arguments.

    Annotations that are text are evaluated. If one of them cannot be evaluated, such as a name that only type checkers
    know, all of them stay text.
    """
    # Evaluating an annotation may raise any exception. Of a callable without a signature, the second call raises, too.
    with suppress(Exception):
        return inspect.signature(code, eval_str=True)
    try:
        return inspect.signature(code)
    except (TypeError, ValueError):
        return _ANYTHING


def hints_of(code: Callable[..., object]) -> dict[str, Any]:
    """Return the annotations of a function; empty if they cannot be read."""
    try:
        return get_type_hints(code, include_extras=True)
    except Exception:  # evaluating an annotation may raise any exception
        return {}


def undefined_methods(cls: type, name: str, missing: Iterable[str]) -> ModuleDefinitionError:
    """Return the error of a class that lacks methods, with those of its methods that have similar names.

    Args:
        cls: The class.
        name: The name of the module or the trigger.
        missing: The names of the methods that the class has to define.
    """
    missing_methods = sorted(missing)
    # Names are compared without underscores: `addevents` stands for `add_events` and for `addEvents`.
    defined_methods = _methods_by_bare_name(cls)
    lines = [f"{name} does not define {', '.join(missing_methods)}"]
    for method in missing_methods:
        close_names = difflib.get_close_matches(method.replace("_", ""), defined_methods, n=1)
        if close_names:
            lines.append(f"  it defines {defined_methods[close_names[0]]}, which nothing calls; did you mean {method}?")
    if len(lines) == 1:
        base = next(parent for parent in cls.__mro__ if parent.__module__.startswith("muntin."))
        method = missing_methods[0]
        lines.append(f"  expected: def {method}(self, ...), as in the example that help({base.__qualname__}) shows")
    return ModuleDefinitionError("\n".join(lines))


def _methods_by_bare_name(cls: type) -> dict[str, str]:
    """Return the methods that the writer of a class defines, by their names in lower case without underscores."""
    methods: dict[str, str] = {}
    for parent in cls.__mro__:
        if parent.__module__.startswith("muntin."):
            continue
        for attribute, value in vars(parent).items():
            if callable(value) and not attribute.startswith("__"):
                methods[attribute.replace("_", "").lower()] = attribute
    return methods


def check_methods(cls: Any) -> None:
    """Refuse a module with a method that cannot be called as the engine calls it, for example with a window.

    Only the number of arguments counts: the engine gives them by place, so their names are the writer's choice.

    Raises:
        ModuleDefinitionError: A method takes more or fewer arguments.
    """
    # Muntin's own base class, such as `Aggregate`: no class of a writer sets `_roles`.
    base = next(parent for parent in cls.__mro__ if "_roles" in vars(parent))
    base_methods = _methods_of_base(base)

    # The methods that the engine calls, with their arguments: the optional ones and those of the base class.
    arguments_by_method = dict(_OPTIONAL)
    for name, function in base_methods.items():
        if not name.startswith("_"):
            arguments_by_method[name] = _parameters(function)

    for name, arguments_without_window in arguments_by_method.items():
        # Looked up statically, as a property would run code of the writer.
        method = inspect.getattr_static(cls, name, None)
        if not isinstance(method, FunctionType) or method is base_methods.get(name):
            continue  # the writer of the class does not define it
        arguments = arguments_without_window
        if cls.is_time_sensitive and name not in _WITHOUT_WINDOW:
            arguments = _with_window(arguments_without_window)
        try:
            signature_of(method).bind(None, *arguments)  # None takes the place of `self`
        except TypeError:
            raise ModuleDefinitionError(
                f"{cls.name}: {name}({', '.join(_parameters(method))}) is called with ({', '.join(arguments)})\n"
                f"  {_remedy(cls, base, name, arguments, method)}"
            ) from None


def _methods_of_base(base: type) -> dict[str, FunctionType]:
    """Return the methods of a base class of modules by name, with those of its parents in the same file."""
    methods: dict[str, FunctionType] = {}
    for parent in reversed(base.__mro__):
        if parent.__module__ != base.__module__:
            continue
        for name, value in vars(parent).items():
            if isinstance(value, FunctionType):
                methods[name] = value
    return methods


def _with_window(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the arguments of a method of a time-sensitive module: events in place of payloads, and the window."""
    events_for_payloads = ["events" if argument == "payloads" else argument for argument in arguments]
    return (*events_for_payloads, "window")


def _parameters(method: FunctionType) -> tuple[str, ...]:
    """Return the names of the parameters after `self`."""
    return tuple(signature_of(method).parameters)[1:]


def _remedy(cls: Any, base: Any, name: str, arguments: tuple[str, ...], method: FunctionType) -> str:
    """Return the advice on a method that takes other arguments than it is called with.

    Args:
        cls: The module class.
        base: The base class of modules that it subclasses.
        name: The name of the method.
        arguments: The arguments with which it is called.
        method: The method.
    """
    definition = f"define it as {name}({', '.join(('self', *arguments))})"
    takes_more = len(_parameters(method)) > len(arguments)
    takes_fewer = len(_parameters(method)) < len(arguments)

    # A window too many mostly means that `is_time_sensitive` was forgotten, and one too few that it was not meant.
    base_may_be_timed = base.__name__.removeprefix("Incremental") in ("Aggregate", "Operator")
    if takes_more and not cls.is_time_sensitive and base_may_be_timed and name not in _WITHOUT_WINDOW:
        return f"{definition}, or say is_time_sensitive = True, to be given events with lifetimes and the window"
    if takes_fewer and cls.is_time_sensitive:
        return f"{definition}, as is_time_sensitive is True"
    return definition


def check_name(name: object, owner: str = "it") -> str:
    """Return the name of a module, function or trigger; refuse one that is not of the form `"<plugin>.<module>"`.

    Args:
        name: The name.
        owner: The thing that has the name, for messages.

    Raises:
        ModuleDefinitionError: There is no name, or it is not of that form.
    """
    if name is None:
        raise ModuleDefinitionError(f"{owner} has no name\n  set the class attribute: name = '<plugin>.<module>'")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ModuleDefinitionError(
            f"{owner} is named {name!r}\n  expected: text of the form '<plugin>.<module>' in lower case"
        )
    return name


def check_aliases(name: str, aliases: object) -> None:
    """Refuse aliases of a module that are not a tuple of names, each without the name of the plugin.

    Args:
        name: The name of the module, for the message.
        aliases: The aliases.

    Raises:
        ModuleDefinitionError: The aliases are something else.
    """
    if not isinstance(aliases, tuple) or not all(map(_is_alias, aliases)):
        raise ModuleDefinitionError(
            f"{name} has the aliases {aliases!r}\n"
            "  expected: a tuple of names in lower case without that of the plugin, such as ('mean', 'avg')"
        )


def _is_alias(alias: object) -> bool:
    """Return True for a name without that of a plugin, such as `mean`."""
    return isinstance(alias, str) and _NAME.fullmatch(f"a.{alias}") is not None
