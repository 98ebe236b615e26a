"""Check that a package's plugins are found, load, and offer something."""

from __future__ import annotations

from muntin import Catalog, Plugin
from muntin_cli.checking.package import Package
from muntin_cli.checking.report import Item, Section, finding, ok
from muntin_cli.offered import count_offers, offered_by


def check_discovery(package: Package, catalog: Catalog) -> tuple[Section, list[Plugin]]:
    """Load a package's plugins as a query would; return what was found, and those that loaded."""
    items: list[Item] = []
    loaded: list[Plugin] = []
    for entry in package.entries:
        only = Catalog(catalog.entries, {entry.name})
        plugins, errors = only.plugins()
        items += [_loaded(plugin, entry.value) for plugin in plugins] + [finding(str(error)) for error in errors]
        loaded += plugins
    return Section("discovery", tuple(items)), loaded


def _loaded(plugin: Plugin, value: str) -> Item:
    if not offered_by(plugin):
        return finding(f"{plugin.name} = {value} offers nothing\n  return something from muntin_modules()")
    return ok(f"{plugin.name} = {value}: {count_offers(plugin)}")
