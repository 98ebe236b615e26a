"""What is installed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from muntin import Catalog, Function, Module, MuntinError, Plugin
from muntin.schemas import spell
from muntin_cli.shapes import shape_of


@dataclass(frozen=True, slots=True)
class Offer:
    """One module or function.

    Attributes:
        name: Its name.
        version: Its version.
        shape: What it is, for example `"incremental aggregate"`.
        reads: The type of a payload; empty for a function.
        returns: The type of a result, a row or a value.
        plugin: The plugin that offers it.
        distribution: The package that it came from, with its version.
        source: The class or the function, as Python names it.
    """

    name: str
    version: str
    shape: str
    reads: str
    returns: str
    plugin: str
    distribution: str
    source: str


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """A plugin that could not be loaded."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything that is installed."""

    offers: tuple[Offer, ...]
    failures: tuple[LoadFailure, ...]


def list_modules(catalog: Catalog) -> Listing:
    """Load every plugin and return what they offer, and why others could not be loaded."""
    plugins, errors = catalog.plugins()
    offers = [offer_of(offered, plugin) for plugin in plugins for offered in offered_by(plugin)]
    return Listing(tuple(sorted(offers, key=lambda offer: offer.name)), tuple(map(_failure, errors)))


def offered_by(plugin: Plugin) -> list[type[Module] | Function[..., Any]]:
    """Return the modules and functions of a plugin."""
    return [*plugin.modules.values(), *plugin.functions.values()]


def offer_of(offered: type[Module] | Function[..., Any], plugin: Plugin) -> Offer:
    """Return a module or function in words."""
    code = offered.implementation if isinstance(offered, Function) else offered
    return Offer(
        offered.name,
        offered.version,
        shape_of(offered),
        "" if isinstance(offered, Function) else spell(offered.input_field()),
        spell(offered.result if isinstance(offered, Function) else offered.result_field()),
        plugin.name,
        plugin.distribution,
        f"{code.__module__}.{code.__qualname__}",
    )


def _failure(error: MuntinError) -> LoadFailure:
    return LoadFailure(type(error).__name__, str(error))
