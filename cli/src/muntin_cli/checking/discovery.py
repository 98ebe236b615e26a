"""Check that a package's plugins are found, load, and offer something."""

from __future__ import annotations

from muntin.catalog import Catalog, Plugin
from muntin_cli.checking.package import Package
from muntin_cli.checking.report import Item, Section, finding, ok
from muntin_cli.offered import count_offers, offered_by
from muntin_cli.survey import sound


def check_discovery(package: Package, catalog: Catalog) -> tuple[Section, list[Plugin]]:
    """Load a package's plugins, each first in a process of its own.

    Returns:
        The section of the report, and the plugins that loaded.
    """
    if not package.entries:
        return Section("discovery", (ok("no plugin: programs import what it offers, such as sinks and policies"),)), []
    entry_values = {entry.name: entry.value for entry in package.entries}
    sound_catalog, listing = sound(Catalog(catalog.entries, frozenset(entry_values)))
    distribution = f"{package.name} {package.version}"
    # The listing has the errors already: each plugin was loaded by itself for it.
    plugins, _ = sound_catalog.plugins()
    loaded = [plugin for plugin in plugins if plugin.distribution == distribution]
    items = [_check_offers(plugin, entry_values[plugin.name]) for plugin in loaded]
    items += [finding(failure.message) for failure in listing.failures]
    return Section("discovery", tuple(items)), loaded


def _check_offers(plugin: Plugin, entry_value: str) -> Item:
    """Say how many things a plugin offers; a finding if it offers nothing.

    Args:
        plugin: The plugin.
        entry_value: The value of its entry point, such as `muntin_weather.plugin`.
    """
    if not offered_by(plugin):
        return finding(f"{plugin.name} = {entry_value} offers nothing\n  return something from muntin_modules()")
    return ok(f"{plugin.name} = {entry_value}: {count_offers(plugin)}")
