"""Import the packages of an extra, which a user may lack."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from muntin_engine.errors import SetupError


def needed(module: str, what: str, extra: str) -> ModuleType:
    """Return a module of another package.

    Args:
        module: The name of the module.
        what: The part of Muntin that needs it, as users call that.
        extra: The extra of `muntin-engine` that brings it.

    Raises:
        SetupError: The package is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise SetupError(
            f"{what} needs {package}, which is not installed\n  install it: pip install 'muntin-engine[{extra}]'"
        ) from error
