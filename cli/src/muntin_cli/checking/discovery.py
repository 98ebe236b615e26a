"""Check that a package's plugins are found, load, and offer something."""

from __future__ import annotations

from muntin.catalog import Catalog, Plugin
from muntin_cli.checking.package import Package
from muntin_cli.checking.report import Item, Section, finding, ok
from muntin_cli.offered import count_offers, offered_by
from muntin_cli.survey import sound


def check_discovery(package: Package, catalog: Catalog) -> tuple[Section, list[Plugin]]:
    """Load a package's plugins, first in processes of their own; return what was found, and those that loaded."""
    values = {entry.name: entry.value for entry in package.entries}
    harmless, listing = sound(Catalog(catalog.entries, frozenset(values)))
    own = f"{package.name} {package.version}"
    loaded = [plugin for plugin in harmless.plugins()[0] if plugin.distribution == own]
    items = [_loaded(plugin, values[plugin.name]) for plugin in loaded]
    items += [finding(failure.message) for failure in listing.failures]
    return Section("discovery", tuple(items)), loaded


def _loaded(plugin: Plugin, value: str) -> Item:
    if not offered_by(plugin):
        return finding(f"{plugin.name} = {value} offers nothing\n  return something from muntin_modules()")
    return ok(f"{plugin.name} = {value}: {count_offers(plugin)}")
