"""The list of installed modules, functions, triggers and kinds of windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from muntin import Function, Module
from muntin.catalog import Catalog, Plugin
from muntin.errors import MuntinError
from muntin.schemas import spell
from muntin_cli.offered import Offered, code_of, count_offers, offered_by
from muntin_cli.shapes import shape_of


@dataclass(frozen=True, slots=True)
class Offer:
    """One module, function, trigger or kind of windows.

    Attributes:
        name: Name.
        version: Version.
        shape: Shape, for example `"incremental aggregate"`.
        reads: Type of a payload; empty for functions, triggers and kinds of windows.
        returns: Type of a result, a row or a value; empty for triggers and kinds of windows.
        plugin: Plugin that offers it.
        distribution: Package that it came from, with its version.
        source: Class or function, as Python names it.
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
    """A plugin that could not be loaded.

    Attributes:
        kind: Class of the error.
        message: Message of the error.
    """

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything that is installed.

    Attributes:
        plugins: Package and number of offers of each kind, by the name of the plugin; of plugins that load.
        offers: All offers of these plugins, by name.
        failures: Errors of the other plugins.
    """

    plugins: Mapping[str, str]
    offers: tuple[Offer, ...]
    failures: tuple[LoadFailure, ...]


def list_modules(catalog: Catalog) -> Listing:
    """Import every plugin here and return the offers, and the errors of plugins that could not be loaded.

    A plugin that ends or breaks the process hides all others; `survey` loads each in a process of its own.
    """
    plugins, errors = catalog.plugins()
    offers: list[Offer] = []
    for plugin in plugins:
        for offered in offered_by(plugin).values():
            offers.append(offer_of(offered, plugin))
    return Listing(
        {plugin.name: f"{plugin.distribution}: {count_offers(plugin)}" for plugin in plugins},
        tuple(sorted(offers, key=lambda offer: offer.name)),
        tuple(map(failure_of, errors)),
    )


def offer_of(offered: Offered, plugin: Plugin) -> Offer:
    """Return the description of one offer of a plugin, for a list."""
    reads, returns = _types(offered)
    code = code_of(offered)
    return Offer(
        name=offered.name,
        version=offered.version,
        shape=shape_of(offered),
        reads=reads,
        returns=returns,
        plugin=plugin.name,
        distribution=plugin.distribution,
        source=f"{code.__module__}.{code.__qualname__}",
    )


def _types(offered: Offered) -> tuple[str, str]:
    """Return the types of an input and of a result as text; empty for a type that such an offer does not have."""
    if isinstance(offered, Function):
        return "", spell(offered.result)
    if issubclass(offered, Module):
        return spell(offered.input_field()), spell(offered.result_field())
    return "", ""


def failure_of(error: MuntinError) -> LoadFailure:
    """Return an error of a plugin as plain data."""
    return LoadFailure(type(error).__name__, str(error))
