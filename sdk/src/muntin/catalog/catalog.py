"""Finding the modules, functions, triggers and kinds of windows that installed plugins offer."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import pluggy

from muntin.catalog import hooks
from muntin.catalog.plugin_entries import plugin_entries, spell_distribution
from muntin.errors import DuplicateNameError, MuntinError, PluginError, PluginLoadError, UnknownModuleError
from muntin.errors.safe_text import safe_message, safe_repr
from muntin.modules.function import Function
from muntin.modules.module import Module
from muntin.triggers.description import check_trigger
from muntin.triggers.trigger import Trigger
from muntin.windows import WindowSpecification
from muntin.windows.specification import check_kind

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ALLOW_VARIABLE: Final = "MUNTIN_PLUGINS"
"""Environment variable with the names of the plugins that may load, separated by commas. Unset: all."""

_SURE: Final = 0.8
"""The likeness of the last parts of two names from which a suggestion needs no list of all names beside it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plugin:
    """The offers of one entry point.

    Attributes:
        name: The entry point's name and the first part of all names below.
        distribution: The package it came from, with its version.
        modules: Module classes by full name.
        functions: Functions by full name.
        triggers: Trigger classes by full name.
        windows: Kinds of windows by full name, those that follow rows among them.
        aliases: Other names of modules: for each the full name.
    """

    name: str
    distribution: str
    modules: Mapping[str, type[Module]]
    functions: Mapping[str, Function[..., Any]]
    triggers: Mapping[str, type[Trigger]] = field(default_factory=dict)
    windows: Mapping[str, type[WindowSpecification]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Catalog:
    """The plugins of an installation. A plugin is imported on the first use of one of its names.

    Attributes:
        entries: The entry points, as `importlib.metadata` gives them.
        allowed: The only plugins that may load; None allows all.
        unreadable: The errors of packages that are passed over: their plugins are not known.

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
    unreadable: tuple[PluginError, ...] = ()
    _loaded: dict[str, Plugin] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.entries = tuple(self.entries)  # they are walked more than once

    def module(self, name: str) -> type[Module]:
        """Return a module class by its full name, or by an alias, importing its plugin alone.

        Raises:
            UnknownModuleError: No plugin offers the name; the closest name that needs no import is suggested.
            DuplicateNameError: Two installed distributions claim the plugin, and neither is `muntin-<plugin>`, which
                would keep it.
            PluginLoadError: The plugin cannot be imported.
        """
        return self._offer("module", name, lambda plugin: plugin.modules)

    def function(self, name: str) -> Function[..., Any]:
        """Return a function by its full name; raises as `module` does."""
        return self._offer("function", name, lambda plugin: plugin.functions)

    def trigger(self, name: str) -> type[Trigger]:
        """Return a trigger class by its full name; raises as `module` does."""
        return self._offer("trigger", name, lambda plugin: plugin.triggers)

    def window_kind(self, name: str) -> type[WindowSpecification]:
        """Return a kind of windows by its full name; raises as `module` does."""
        return self._offer("window kind", name, lambda plugin: plugin.windows)

    def plugin(self, name: str) -> Plugin:
        """Return a plugin by its name or the full name of an offer, importing it once; raises as `module` does."""
        plugin = name.partition(".")[0]
        if not self._is_installed(name):
            self._raise_unknown("plugin", plugin, lambda plugin: {plugin.name: plugin})
        if plugin not in self._loaded:
            self._loaded[plugin] = _load(self._claims(plugin)[0])
        return self._loaded[plugin]

    def plugins(self) -> tuple[list[Plugin], list[MuntinError]]:
        """Import everything allowed; return what loaded and what did not, so that one bad plugin hides no other.

        A plugin is imported in this process, as a query imports it. So a plugin that ends the process where it is
        imported (`os._exit`, a crash of compiled code), or never comes to an end there, does that to the caller.
        `muntin modules` and `muntin doctor` give each plugin a process and a time limit, and name the one that does it;
        `allowed`, which `installed` reads from `MUNTIN_PLUGINS`, then leaves it out.
        """
        loaded: list[Plugin] = []
        failed: list[MuntinError] = [*self.unreadable]
        for name in sorted({entry.name for entry in self._candidates()}):
            try:
                entry, *usurpers = self._claims(name)
                failed += [_claimed_twice(name, entry, usurper, is_kept=True) for usurper in usurpers]
                loaded.append(self.plugin(name))
            except MuntinError as error:
                failed.append(error)
        return loaded, failed

    def _offer(self, kind: str, name: str, offers: Callable[[Plugin], Mapping[str, T]]) -> T:
        """Return an offer by its full name or an alias, importing its plugin alone.

        Args:
            kind: The kind of offer, for messages.
            name: The name.
            offers: The function from a plugin to its offers of the kind.
        """
        if not self._is_installed(name):
            self._raise_unknown(kind, name, offers)
        plugin = self.plugin(name)
        offered = offers(plugin)
        full_name = name if name in offered else plugin.aliases.get(name, "")
        if full_name not in offered:
            self._raise_unknown(kind, name, offers)
        return offered[full_name]

    def _candidates(self) -> list[EntryPoint]:
        return [entry for entry in self.entries if self.allowed is None or entry.name in self.allowed]

    def _is_installed(self, name: str) -> bool:
        return any(entry.name == name.partition(".")[0] for entry in self._candidates())

    def _claims(self, plugin: str) -> list[EntryPoint]:
        """Return the entry point that has a plugin's name, and after it those that claim the name and lose."""
        # An entry point that the path has twice is one claim.
        entries = {(entry.value, _distribution(entry)): entry for entry in self._candidates() if entry.name == plugin}
        # The package `muntin-<plugin>` comes first. Without it, or with two, nobody has a better claim than the other.
        claims = sorted(entries.values(), key=_is_by_right, reverse=True)
        if len(claims) > 1 and _is_by_right(claims[0]) == _is_by_right(claims[1]):
            raise _claimed_twice(plugin, *claims[:2], is_kept=False)
        return claims

    def _raise_unknown(self, kind: str, name: str, offers: Callable[[Plugin], Mapping[str, object]]) -> NoReturn:
        """Refuse an unknown name, without importing more plugins."""
        # Names of plugins that are loaded are known one by one; of the others, the names of the plugins alone.
        distributions: dict[str, str] = {}  # of each offer by its full name
        full_names: dict[str, str] = {}  # of each offer by its full name or an alias
        for plugin in sorted(self._loaded.values(), key=lambda plugin: plugin.name):
            for offer in offers(plugin):
                distributions[offer] = plugin.distribution
                full_names[offer] = offer
            if kind == "module":
                full_names.update(plugin.aliases)
        unloaded = {entry.name: _distribution(entry) for entry in self._candidates() if entry.name not in self._loaded}

        # Suggest an offer of a loaded plugin, or else a plugin.
        suggestion: str | None = None
        is_close_enough = False
        if name not in self._loaded:  # not a plugin's name alone, which all of its modules resemble
            close = _closest(name, full_names)
            plugins = difflib.get_close_matches(name.partition(".")[0], unloaded, n=1)
            if close is not None:
                full_name = full_names[close]
                suggestion = f"{full_name!r} ({distributions[full_name]})"
                likeness = difflib.SequenceMatcher(None, _last(name), _last(close)).ratio()
                is_close_enough = likeness >= _SURE
            elif plugins:
                suggestion = f"a {kind} of the plugin {plugins[0]!r} ({unloaded[plugins[0]]})"

        installed_names = [*distributions, *(f"{plugin}.*" for plugin in unloaded)]
        unreadable = [str(error).partition("\n")[0] for error in self.unreadable]
        raise UnknownModuleError(
            kind, name, suggestion, sorted(installed_names), unreadable, lists_installed=not is_close_enough
        )


@cache
def installed() -> Catalog:
    """Return the catalog of this Python environment, restricted by `MUNTIN_PLUGINS` if that is set.

    That variable lists the plugins that may load, separated by commas. The catalog is built once per process; a plugin
    that is installed later is visible in the next process.
    """
    allowed = os.environ.get(ALLOW_VARIABLE)
    names = None if allowed is None else frozenset(name.strip() for name in allowed.split(",") if name.strip())
    plugins = plugin_entries()
    return Catalog(plugins.entries, names, plugins.unreadable)


def _closest(name: str, full_names: Iterable[str]) -> str | None:
    """Return the closest full name; a name without a plugin is compared with the last parts alone."""
    compared = {full if "." in name else _last(full): full for full in sorted(full_names)}
    close = difflib.get_close_matches(name, compared, n=1)
    return compared[close[0]] if close else None


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _distribution(entry: EntryPoint) -> str:
    return spell_distribution(entry.dist)


def _is_by_right(entry: EntryPoint) -> bool:
    """True for the entry point of the package `muntin-<plugin>`: the name is that package's on every machine."""
    package = _distribution(entry).rpartition(" ")[0]
    return package.lower().replace("_", "-").replace(".", "-") == f"muntin-{entry.name.replace('_', '-')}"


def _claimed_twice(name: str, first: EntryPoint, second: EntryPoint, *, is_kept: bool) -> DuplicateNameError:
    """Return the error of two entry points with the name of one plugin."""
    first_claim = f"{first.value} of {_distribution(first)}"
    second_claim = f"{second.value} of {_distribution(second)}"
    return DuplicateNameError(name, first_claim, second_claim, is_kept=is_kept)


def _load(entry: EntryPoint) -> Plugin:
    """Import a plugin, and check all that it offers.

    Raises:
        PluginLoadError: The plugin cannot be imported, or an offer breaks the rules of its kind; chained is the error.
        DuplicateNameError: Two offers share a name or an alias.
    """
    distribution = _distribution(entry)
    try:
        # Each kind of offer comes by a hook of its own, and is checked for its type before anything looks into it.
        manager = _register(entry)
        modules = _offered(manager.hook.muntin_modules, _is_class_of(Module), "a list of module classes")
        functions = _offered(
            manager.hook.muntin_functions, lambda item: isinstance(item, Function), "a list of what @function makes"
        )
        triggers = _offered(manager.hook.muntin_triggers, _is_class_of(Trigger), "a list of trigger classes")
        windows = _offered(manager.hook.muntin_windows, _is_class_of(WindowSpecification), "a list of kinds of windows")
        for cls in modules:
            cls.check_definition()
        for trigger in triggers:
            check_trigger(trigger)
        for kind in windows:
            check_kind(kind)
        # All names of a plugin begin with its own, so a query finds the plugin by the name of an offer.
        for item in (*modules, *functions, *triggers, *windows):
            if item.name.partition(".")[0] != entry.name:
                raise _MisofferedError(
                    f"it offers {item.name!r}, whose first part must be the entry point's name {entry.name!r}"
                )
    except KeyboardInterrupt:
        raise
    except _MisofferedError as error:
        raise PluginLoadError(entry.name, distribution, str(error)) from None
    except BaseException as error:  # a plugin that ends the process must not take other plugins along
        raise PluginLoadError(entry.name, distribution, safe_message(error)) from error
    return Plugin(
        entry.name,
        distribution,
        modules=_by_name(modules),
        functions=_by_name(functions),
        triggers=_by_name(triggers),
        windows=_by_name(windows),
        aliases=_aliases(entry.name, modules),
    )


class _MisofferedError(Exception):
    """A plugin does not follow the hook specification."""


def _register(entry: EntryPoint) -> pluggy.PluginManager:
    """Import a plugin's Python module and register its hooks; return the manager to call them by.

    Raises:
        _MisofferedError: The entry point names no Python module, or the hooks are not those of the specification.
    """
    manager = pluggy.PluginManager(hooks.PROJECT)
    manager.add_hookspecs(hooks)
    if entry.pattern.match(entry.value) is None:
        raise _MisofferedError(
            f"its entry point is {entry.value!r}; expected: the name of a Python module, such as my_package.plugin"
        )
    try:
        plugin = entry.load()
    except ModuleNotFoundError as error:
        # A module that the plugin's own code misses is a fault of the plugin: its error says more.
        if error.name is None or not f"{entry.module}.".startswith(f"{error.name}."):
            raise
        raise _MisofferedError(
            f"its entry point is {entry.value!r}, and there is no Python module {error.name!r}; "
            "correct it in pyproject.toml and install the package again"
        ) from error
    try:
        manager.register(plugin, name=entry.name)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        hook_names = sorted(name for name in vars(hooks) if name.startswith("muntin_"))
        raise _MisofferedError(
            f"{str(error).splitlines()[-1]}; expected: {', '.join(hook_names)}, without arguments"
        ) from error
    if not manager.get_hookcallers(plugin):
        raise _MisofferedError(
            f"{entry.value} implements no hook; expected: a function such as muntin_modules, marked with @hookimpl"
        )
    return manager


def _offered(hook: pluggy.HookCaller, fits: Callable[[object], bool], expected: str) -> list[Any]:
    """Return the results of all implementations of a hook, in one list."""
    results = hook()
    if len(results) < len(hook.get_hookimpls()):  # pluggy leaves out what is None
        raise _MisofferedError(f"{hook.name} returned None; expected: {expected}")
    offers: list[Any] = []
    for result in results:
        if isinstance(result, str | bytes) or not isinstance(result, Iterable):
            raise _MisofferedError(f"a hook returned {safe_repr(result)}; expected: {expected}")
        offers += result
    for offer in offers:
        if not fits(offer):
            raise _MisofferedError(f"it offers {safe_repr(offer)}; expected: {expected}")
    return offers


def _is_class_of(base: type) -> Callable[[Any], bool]:
    return lambda item: isinstance(item, type) and issubclass(item, base)


def _by_name(offers: Iterable[Any]) -> dict[str, Any]:
    """Return offers by their names; refuse two of one name."""
    by_name: dict[str, Any] = {}
    for offer in offers:
        if offer.name in by_name:
            raise DuplicateNameError(offer.name, safe_repr(by_name[offer.name]), safe_repr(offer))
        by_name[offer.name] = offer
    return by_name


def _aliases(plugin: str, modules: Iterable[type[Module]]) -> dict[str, str]:
    """Return the full name of each alias; no alias is the name of a module or another alias."""
    owners = {cls.name: cls for cls in modules}
    aliases: dict[str, str] = {}
    for cls in modules:
        for alias in cls.own_aliases():
            name = f"{plugin}.{alias}"
            if name in owners:
                raise DuplicateNameError(name, safe_repr(owners[name]), safe_repr(cls))
            owners[name] = cls
            aliases[name] = cls.name
    return aliases
