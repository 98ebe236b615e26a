"""Naming a module in a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from muntin import Module, installed
from muntin_engine.api.arguments import check_inputs, check_module
from muntin_engine.api.request import ModuleCall
from muntin_engine.shipping.code_version import with_version

if TYPE_CHECKING:
    from muntin_engine.api.request import ColumnLike


def module(name: str | type[Module], *inputs: ColumnLike, **parameters: Any) -> ModuleCall:
    """Name a module for a query.

    Args:
        name: `"<plugin>.<module>"` of an installed plugin, or a module class. A class of the program's own may leave
            its version out: it is then a hash of its code, and with it what the query's checkpoint depends on.
        inputs: Columns or expressions the module reads, in the order of its input type's fields. None for a module
            that only counts its members.
        parameters: The module's initial parameters, by name.

    Raises:
        UnknownModuleError: No installed plugin offers the name; the closest is suggested.
        PluginLoadError: Its plugin cannot be imported.
        ModuleDefinitionError: The class is not a complete module.
        QueryError: An input is no column.

    Example:
        >>> module("stats.quantile", "delay", q=0.9).parameters
        {'q': 0.9}
    """
    check_module(name)
    cls = installed().module(name) if isinstance(name, str) else with_version(name)
    cls.check_definition()
    check_inputs(cls, inputs)
    return ModuleCall(cls, inputs, parameters)
