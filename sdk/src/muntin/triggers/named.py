"""Naming the trigger of a plugin."""

from __future__ import annotations

import inspect

from muntin.errors import ParameterError
from muntin.triggers.trigger import Trigger


def named(name: str, **parameters: object) -> Trigger:
    """Return a trigger that an installed plugin offers.

    Args:
        name: `"<plugin>.<trigger>"`.
        parameters: The trigger's parameters, by name.

    Raises:
        UnknownModuleError: No installed plugin offers the name; the closest is suggested.
        PluginLoadError: Its plugin cannot be imported.
        ParameterError: The trigger does not take these parameters.
    """
    # The catalog stands above triggers, and is imported only when a plugin is asked for.
    from muntin.catalog import installed

    cls = installed().trigger(name)
    signature = inspect.signature(cls)
    try:
        signature.bind(**parameters)  # for its error, which names the parameter and not `__init__`
        return cls(**parameters)
    except (TypeError, ValueError) as error:
        raise ParameterError(name, parameters, str(error), str(signature)) from error
