"""A module with some of its parameters set."""

from __future__ import annotations

import inspect
from typing import Any

from muntin.errors import ParameterError
from muntin.modules.module import Module
from muntin.modules.parameters import check_types, spell
from muntin.windows.extent import Window
from muntin_adapters.combinators.wrapping import constructor_signature, module_class
from muntin_adapters.recipes import PickledAsRecipe, constructor, make_module, records_recipe


def preset(module: str | type[Module], /, **parameters: object) -> type[Any]:
    """Return a module with some of its parameters set, for where a query gives none, such as in `all_of`.

    Args:
        module: Name or class of a module.
        parameters: Parameters to set. All others are still the query's.

    Raises:
        UnknownModuleError: No installed plugin offers the name.
        ParameterError: The module has no such parameter.

    Example:
        >>> from muntin import Aggregate
        >>> class Above(Aggregate[float, int]):
        ...     name, version = "demo.above", "1.0.0"
        ...     def __init__(self, limit: float):
        ...         self.limit = limit
        ...     def compute_result(self, payloads):
        ...         return sum(payload > self.limit for payload in payloads)
        >>> above_ten = preset(Above, limit=10.0)
        >>> above_ten().compute_result([3.0, 12.0]), above_ten.version
        (1, '1.0.0 with limit=10.0')
    """
    return _preset(module_class(module), **parameters)


@records_recipe
def _preset(cls: type[Module], /, **parameters: object) -> type[Any]:
    """Make a subclass whose constructor has these parameters set; its version names them, as they decide its states.

    Raises:
        ParameterError: The constructor does not take the parameters.
    """
    signature = constructor_signature(cls)
    try:
        signature.bind_partial(**parameters)
        check_types(signature, parameters)
    except TypeError as error:
        raise ParameterError(cls.name, parameters, str(error), str(signature)) from error

    suffix = f" with {', '.join(f'{name}={spell(value)}' for name, value in parameters.items())}"

    def initialise(self: object, *arguments: object, **query_parameters: object) -> None:
        """Call the class's own constructor, with the preset parameters as well."""
        cls.__init__(self, *arguments, **query_parameters, **parameters)

    def upgrade_state(self: Any, state: Any, version: str, *window: Window) -> Any:
        """Call the class's own method with the version as the class spells it: without the preset parameters."""
        method: Any = cls.upgrade_state  # type: ignore[attr-defined]  # defined where it is used
        return method(self, state, version.removesuffix(suffix), *window)

    query_parameters = [part for name, part in signature.parameters.items() if name not in parameters]
    upgrades = {"upgrade_state": upgrade_state} if hasattr(cls, "upgrade_state") else {}
    return make_module(
        (cls,) if issubclass(cls, PickledAsRecipe) else (PickledAsRecipe, cls),
        {
            "name": cls.name,
            "version": f"{cls.version}{suffix}",
            "_preset": f"{cls._preset}{suffix}",  # `continues_from` takes it off versions before it compares them
            "__doc__": cls.__doc__,
            "__init__": constructor(initialise, _by_name(query_parameters)),
            **upgrades,
        },
    )


def _by_name(parameters: list[inspect.Parameter]) -> inspect.Signature:
    """Return a signature in which each parameter of `parameters` is given by its name.

    A preset parameter may have stood before them, so their places are no longer those of the constructor. `*` and `**`
    stay as they are.
    """
    by_name: list[inspect.Parameter] = []
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            by_name.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
        else:
            by_name.append(parameter)
    return inspect.Signature(by_name)
