"""Import what an extra of the package brings."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from muntin_engine.errors import SetupError


def needed(module: str, what: str, extra: str) -> ModuleType:
    """Return a module of another package.

    Args:
        module: Its name.
        what: What needs it, as users call it.
        extra: The extra of `muntin-engine` that brings it.

    Raises:
        SetupError: It is not installed.
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
