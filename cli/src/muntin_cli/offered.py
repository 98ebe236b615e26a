"""The offers of a plugin: modules, functions, triggers and kinds of windows."""

from __future__ import annotations

import inspect
from typing import Any, TypeAlias

from muntin import Function, Module
from muntin.catalog import Catalog, Plugin
from muntin.errors import UnknownModuleError
from muntin.triggers import Trigger
from muntin.windows import WindowSpecification
from muntin_cli.output import counted

Offered: TypeAlias = type[Module] | Function[..., Any] | type[Trigger] | type[WindowSpecification]
"""A module, function, trigger or kind of windows."""


def offered_by(plugin: Plugin) -> dict[str, Offered]:
    """Return everything that a plugin offers, by name."""
    return {**plugin.modules, **plugin.functions, **plugin.triggers, **plugin.windows}


def count_offers(plugin: Plugin) -> str:
    """Return the number of a plugin's offers of each kind, in words."""
    offers_by_kind = {
        "module": plugin.modules,
        "function": plugin.functions,
        "trigger": plugin.triggers,
        "window kind": plugin.windows,
    }
    counts = [counted(len(offers), kind) for kind, offers in offers_by_kind.items() if offers]
    return ", ".join(counts) or "nothing"


def find_offered(catalog: Catalog, name: str) -> Offered:
    """Return the module, function, trigger or kind of windows that has a name.

    Raises:
        UnknownModuleError: No plugin offers the name; the closest module is suggested.
        PluginLoadError: The plugin of the name cannot be loaded.
    """
    for find in (catalog.function, catalog.trigger, catalog.window_kind):
        try:
            return find(name)
        except UnknownModuleError:
            continue
    # Modules come last: the error of an unknown name then suggests the closest module.
    return catalog.module(name)


def documentation_of(offered: Offered) -> str:
    """Return the docstring of the class or function itself, without those of base classes; empty if it has none."""
    return inspect.cleandoc(code_of(offered).__doc__ or "")


def code_of(offered: Offered) -> Any:
    """Return the class, or the Python function behind a function."""
    return offered.implementation if isinstance(offered, Function) else offered
