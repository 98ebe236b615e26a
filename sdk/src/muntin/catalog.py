"""Finding the modules, functions and triggers that installed plugins offer."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import pluggy

from muntin import hooks
from muntin.errors import DuplicateNameError, MuntinError, PluginLoadError, UnknownModuleError
from muntin.modules.function import Function
from muntin.modules.module import Module
from muntin.triggers.description import check_trigger
from muntin.triggers.trigger import Trigger

ALLOW_VARIABLE: Final = "MUNTIN_PLUGINS"
"""Environment variable with the names of the plugins that may load, separated by commas. Unset: all."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """What one entry point offers.

    Attributes:
        name: The entry point's name and the first part of all names below.
        distribution: The package it came from, with its version.
        modules: Module classes by full name.
        functions: Functions by full name.
        triggers: Trigger classes by full name.
    """

    name: str
    distribution: str
    modules: Mapping[str, type[Module]]
    functions: Mapping[str, Function[..., Any]]
    triggers: Mapping[str, type[Trigger]] = field(default_factory=dict)


@dataclass(slots=True)
class Catalog:
    """The plugins of an installation. A plugin is imported when one of its names is first asked for.

    Attributes:
        entries: The entry points, as `importlib.metadata` gives them.
        allowed: The only plugins that may load; None allows all.

    Example:
        >>> Catalog(entries=()).module("stats.average")
        Traceback (most recent call last):
            ...
        muntin.errors.UnknownModuleError: no module is named 'stats.average'
          installed modules: none
          a module's package must be installed where the driver and the workers run
    """

    entries: Iterable[EntryPoint]
    allowed: Collection[str] | None = None
    _loaded: dict[str, Plugin] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.entries = tuple(self.entries)  # they are walked more than once

    def module(self, name: str) -> type[Module]:
        """Return a module class by its full name, importing its plugin alone.

        Raises:
            UnknownModuleError: No plugin offers the name; the closest one is suggested.
            DuplicateNameError: Two installed distributions claim the plugin.
            PluginLoadError: The plugin cannot be imported.
        """
        found = self._plugin_of(name).modules.get(name) if self._is_installed(name) else None
        return found or self._unknown("module", name, lambda plugin: plugin.modules)

    def function(self, name: str) -> Function[..., Any]:
        """Return a function by its full name; raises as `module` does."""
        found = self._plugin_of(name).functions.get(name) if self._is_installed(name) else None
        return found or self._unknown("function", name, lambda plugin: plugin.functions)

    def trigger(self, name: str) -> type[Trigger]:
        """Return a trigger class by its full name; raises as `module` does."""
        found = self._plugin_of(name).triggers.get(name) if self._is_installed(name) else None
        return found or self._unknown("trigger", name, lambda plugin: plugin.triggers)

    def plugins(self) -> tuple[list[Plugin], list[MuntinError]]:
        """Import everything allowed; return what loaded and what did not, so that one bad plugin hides no other."""
        loaded: list[Plugin] = []
        failed: list[MuntinError] = []
        for name in sorted({entry.name for entry in self._candidates()}):
            try:
                loaded.append(self._load(name))
            except MuntinError as error:
                failed.append(error)
        return loaded, failed

    def _candidates(self) -> list[EntryPoint]:
        return [entry for entry in self.entries if self.allowed is None or entry.name in self.allowed]

    def _is_installed(self, name: str) -> bool:
        return any(entry.name == name.partition(".")[0] for entry in self._candidates())

    def _plugin_of(self, name: str) -> Plugin:
        return self._load(name.partition(".")[0])

    def _load(self, plugin: str) -> Plugin:
        if plugin not in self._loaded:
            self._loaded[plugin] = _load(self._entry(plugin))
        return self._loaded[plugin]

    def _entry(self, plugin: str) -> EntryPoint:
        entries = {(e.value, _distribution(e)): e for e in self._candidates() if e.name == plugin}
        if len(entries) > 1:
            first, second, *_ = (f"{value} of {distribution}" for value, distribution in entries)
            raise DuplicateNameError(plugin, first, second)
        return next(iter(entries.values()))

    def _unknown(self, kind: str, name: str, offers: Callable[[Plugin], Mapping[str, Any]]) -> Any:
        plugins, _ = self.plugins()
        sources = {offered: plugin.distribution for plugin in plugins for offered in offers(plugin)}
        close = difflib.get_close_matches(name, sources, n=1)
        suggestion = f"{close[0]!r} ({sources[close[0]]})" if close else None
        raise UnknownModuleError(kind, name, suggestion, sorted(sources))


@cache
def installed() -> Catalog:
    """Return the catalog of this Python environment, restricted by `MUNTIN_PLUGINS` if that is set."""
    allowed = os.environ.get(ALLOW_VARIABLE)
    names = None if allowed is None else frozenset(name.strip() for name in allowed.split(",") if name.strip())
    return Catalog(tuple(entry_points(group=hooks.PROJECT)), names)


def _distribution(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown distribution"


def _load(entry: EntryPoint) -> Plugin:
    distribution = _distribution(entry)
    try:
        manager = _register(entry)
        modules = [cls for offered in manager.hook.muntin_modules() for cls in offered]
        functions = [function for offered in manager.hook.muntin_functions() for function in offered]
        triggers = [cls for offered in manager.hook.muntin_triggers() for cls in offered]
        for cls in modules:
            cls.check_definition()
        for trigger in triggers:
            check_trigger(trigger)
    except (Exception, SystemExit) as error:  # a plugin that ends the process must not take other plugins along
        raise PluginLoadError(entry.name, distribution, f"{type(error).__name__}: {error}") from error
    named = [_by_name(entry, distribution, offered) for offered in (modules, functions, triggers)]
    return Plugin(entry.name, distribution, *named)


def _register(entry: EntryPoint) -> pluggy.PluginManager:
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    manager.register(entry.load(), name=entry.name)
    manager.check_pending()
    return manager


def _by_name(entry: EntryPoint, distribution: str, offered: Iterable[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in offered:
        if item.name.partition(".")[0] != entry.name:
            reason = f"it offers {item.name!r}, whose first part must be the entry point's name {entry.name!r}"
            raise PluginLoadError(entry.name, distribution, reason)
        if item.name in found:
            raise DuplicateNameError(item.name, repr(found[item.name]), repr(item))
        found[item.name] = item
    return found
