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
"""The likeness of a name and a suggestion, by their last parts, from which a message does not list all names."""

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
        unreadable: The errors of packages whose metadata cannot be read, so that their plugins are not known.

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
            DuplicateNameError: Two installed packages claim the plugin's name, and neither of them is
                `muntin-<plugin>`, to which it would belong.
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
        plugin_name = name.partition(".")[0]
        if not self._is_installed(name):
            # The names to suggest are those of plugins, and not of what they offer.
            self._raise_unknown("plugin", plugin_name, lambda plugin: {plugin.name: plugin})
        if plugin_name not in self._loaded:
            rightful_entry = self._claims(plugin_name)[0]
            self._loaded[plugin_name] = _load(rightful_entry)
        return self._loaded[plugin_name]

    def plugins(self) -> tuple[list[Plugin], list[MuntinError]]:
        """Import all plugins that are allowed, so that one bad plugin hides no other.

        A plugin is imported in this process, as a query imports it. So a plugin whose import ends the process
        (`os._exit`, a crash of compiled code) or never ends, does that to the caller. `muntin modules` and
        `muntin doctor` give each plugin a process and a time limit, and name the plugin that does it; leave that one
        out of `allowed`, which `installed` reads from `MUNTIN_PLUGINS`.

        Returns:
            The plugins that were imported, and the errors of those that were not, and of packages that cannot be read.
        """
        loaded: list[Plugin] = []
        errors: list[MuntinError] = [*self.unreadable]
        for name in sorted({entry.name for entry in self._candidates()}):
            try:
                rightful_entry, *other_entries = self._claims(name)
                errors += [_claimed_twice(name, rightful_entry, other, is_kept=True) for other in other_entries]
                loaded.append(self.plugin(name))
            except MuntinError as error:
                errors.append(error)
        return loaded, errors

    def _offer(self, kind: str, name: str, offers: Callable[[Plugin], Mapping[str, T]]) -> T:
        """Return a module, function, trigger or kind of windows by its full name or an alias; import its plugin alone.

        Args:
            kind: The kind of offer, for messages.
            name: The full name, which begins with the name of the plugin.
            offers: The function from a plugin to its offers of the kind.
        """
        if not self._is_installed(name):
            self._raise_unknown(kind, name, offers)
        plugin = self.plugin(name)
        plugin_offers = offers(plugin)
        full_name = name if name in plugin_offers else plugin.aliases.get(name, "")
        if full_name not in plugin_offers:
            self._raise_unknown(kind, name, offers)
        return plugin_offers[full_name]

    def _candidates(self) -> list[EntryPoint]:
        """Return the entry points of plugins that may load."""
        return [entry for entry in self.entries if self.allowed is None or entry.name in self.allowed]

    def _is_installed(self, name: str) -> bool:
        """Return True if there is a plugin with the first part of a name."""
        plugin = name.partition(".")[0]
        return any(entry.name == plugin for entry in self._candidates())

    def _claims(self, plugin: str) -> list[EntryPoint]:
        """Return the entry points that claim a plugin's name; of several, the one with a right to it comes first.

        Raises:
            DuplicateNameError: Several entry points claim the name, and none has a better right than the others.
        """
        # The same entry point may be on the path twice.
        distinct_entries = {
            (entry.value, _distribution(entry)): entry for entry in self._candidates() if entry.name == plugin
        }
        # The package `muntin-<plugin>` comes first. There may be none, or two of them, in different versions.
        claims = sorted(distinct_entries.values(), key=_is_by_right, reverse=True)
        if len(claims) > 1 and _is_by_right(claims[0]) == _is_by_right(claims[1]):
            raise _claimed_twice(plugin, *claims[:2], is_kept=False)
        return claims

    def _raise_unknown(self, kind: str, name: str, offers: Callable[[Plugin], Mapping[str, object]]) -> NoReturn:
        """Refuse an unknown name, without importing more plugins.

        Args:
            kind: The kind of offer that the name is for.
            name: The unknown name.
            offers: The function from a plugin to its offers of the kind, by full name.
        """
        # The offers of plugins that are loaded are known by name; of the others, only the names of the plugins.
        distributions: dict[str, str] = {}  # the package of each offer, by the offer's full name
        full_names: dict[str, str] = {}  # the full name of each offer, by the full name itself and by each alias
        for plugin in sorted(self._loaded.values(), key=lambda plugin: plugin.name):
            for offer in offers(plugin):
                distributions[offer] = plugin.distribution
                full_names[offer] = offer
            if kind == "module":
                full_names.update(plugin.aliases)
        unloaded = {entry.name: _distribution(entry) for entry in self._candidates() if entry.name not in self._loaded}

        # Suggest an offer of a loaded plugin, or else a plugin. A plugin's name alone resembles all of its modules: the
        # error lists them instead.
        suggestion: str | None = None
        is_close_enough = False
        if name not in self._loaded:
            close_name = _closest(name, full_names)
            close_plugins = difflib.get_close_matches(name.partition(".")[0], unloaded, n=1)
            if close_name is not None:
                full_name = full_names[close_name]
                suggestion = f"{full_name!r} ({distributions[full_name]})"
                # If the last parts are alike, most likely that offer is meant, and the error does not list all others.
                likeness = difflib.SequenceMatcher(None, _last_part(name), _last_part(close_name)).ratio()
                is_close_enough = likeness >= _SURE
            elif close_plugins:
                suggestion = f"a {kind} of the plugin {close_plugins[0]!r} ({unloaded[close_plugins[0]]})"

        unknown_offers = [f"{plugin}.*" for plugin in unloaded]
        installed_names = sorted([*distributions, *unknown_offers])
        unreadable = [str(error).partition("\n")[0] for error in self.unreadable]
        raise UnknownModuleError(
            kind, name, suggestion, installed_names, unreadable, lists_installed=not is_close_enough
        )


@cache
def installed() -> Catalog:
    """Return the catalog of this Python environment, restricted by `MUNTIN_PLUGINS` if that is set.

    That variable lists the plugins that may load, separated by commas. The catalog is built once per process; a plugin
    that is installed later is visible in the next process.
    """
    allowed_text = os.environ.get(ALLOW_VARIABLE)
    allowed: frozenset[str] | None = None
    if allowed_text is not None:
        names = [name.strip() for name in allowed_text.split(",")]
        allowed = frozenset(name for name in names if name)
    plugins = plugin_entries()
    return Catalog(plugins.entries, allowed=allowed, unreadable=plugins.unreadable)


def _closest(name: str, full_names: Iterable[str]) -> str | None:
    """Return the full name that is closest to a name; None if none is close.

    A name without a plugin is compared with the last parts of the full names.
    """
    full_names_by_text: dict[str, str] = {}
    for full_name in sorted(full_names):
        compared_text = full_name if "." in name else _last_part(full_name)
        full_names_by_text[compared_text] = full_name
    close_texts = difflib.get_close_matches(name, full_names_by_text, n=1)
    return full_names_by_text[close_texts[0]] if close_texts else None


def _last_part(name: str) -> str:
    """Return the last part of a name: that of a module without its plugin."""
    return name.rpartition(".")[2]


def _distribution(entry: EntryPoint) -> str:
    """Return the name and version of the package of an entry point."""
    return spell_distribution(entry.dist)


def _is_by_right(entry: EntryPoint) -> bool:
    """Return True for an entry point of the package `muntin-<plugin>`, to which the plugin's name belongs."""
    package = _distribution(entry).rpartition(" ")[0]
    return package.lower().replace("_", "-").replace(".", "-") == f"muntin-{entry.name.replace('_', '-')}"


def _claimed_twice(name: str, first: EntryPoint, second: EntryPoint, *, is_kept: bool) -> DuplicateNameError:
    """Return the error of two entry points that claim the name of a plugin; `is_kept` if the first one works."""
    first_claim = f"{first.value} of {_distribution(first)}"
    second_claim = f"{second.value} of {_distribution(second)}"
    return DuplicateNameError(name, first_claim, second_claim, is_kept=is_kept)


def _load(entry: EntryPoint) -> Plugin:
    """Import a plugin, and check all that it offers.

    Raises:
        PluginLoadError: The plugin cannot be imported, or an offer breaks the rules of its kind. If the plugin's own
            code raised an error, that error is the cause.
        DuplicateNameError: Two offers share a name or an alias.
    """
    distribution = _distribution(entry)
    try:
        # Each kind of offer comes by a hook of its own. All offers are of the right type before any is looked into.
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

        # Each name begins with that of the plugin, so a query finds the plugin by the name of an offer.
        for item in (*modules, *functions, *triggers, *windows):
            if item.name.partition(".")[0] != entry.name:
                raise _MisofferedError(
                    f"it offers {item.name!r}, whose first part must be the entry point's name {entry.name!r}"
                )
    except KeyboardInterrupt:
        raise
    except _MisofferedError as error:
        raise PluginLoadError(entry.name, distribution, str(error)) from None
    except BaseException as error:  # also `SystemExit`: a plugin must not end the process by which others are loaded
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
    """Import a plugin's Python module and register its hooks.

    Returns:
        The plugin manager, by which the hooks are called.

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
        # Only if the entry point's own module, or a package above it, is missing, the entry point is wrong. Any other
        # missing module is one that the plugin's code imports, and the error of that import says more.
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
        fault = str(error).splitlines()[-1]  # the lines before it name the plugin, as our own message does
        raise _MisofferedError(f"{fault}; expected: {', '.join(hook_names)}, without arguments") from error
    if not manager.get_hookcallers(plugin):
        raise _MisofferedError(
            f"{entry.value} implements no hook; expected: a function such as muntin_modules, marked with @hookimpl"
        )
    return manager


def _offered(hook: pluggy.HookCaller, fits: Callable[[object], bool], expected: str) -> list[Any]:
    """Return the results of all implementations of a hook, in one list.

    Args:
        hook: The hook of one kind of offer.
        fits: The function that returns True for an offer of the right type.
        expected: The results of a right implementation, in words.

    Raises:
        _MisofferedError: A result is not a list of such offers.
    """
    results = hook()
    if len(results) < len(hook.get_hookimpls()):  # pluggy leaves out results that are None
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
    """Return the function that tells if an object is a subclass of a class, and not an instance or another thing."""
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
    """Return the full name of the module that each alias stands for, by the full name of the alias.

    Raises:
        DuplicateNameError: An alias is the name or an alias of another module.
    """
    owners = {cls.name: cls for cls in modules}
    module_names: dict[str, str] = {}
    for cls in modules:
        for alias in cls.own_aliases():
            full_alias = f"{plugin}.{alias}"
            if full_alias in owners:
                raise DuplicateNameError(full_alias, safe_repr(owners[full_alias]), safe_repr(cls))
            owners[full_alias] = cls
            module_names[full_alias] = cls.name
    return module_names
