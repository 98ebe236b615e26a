"""Import packages that a user may lack: those of an extra, and PySpark."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from muntin_engine.errors import SetupError

_PACKAGES_OF_SPARK: Final = frozenset({"pyspark", "py4j"})


def required_module(module: str, *, feature: str, extra: str) -> ModuleType:
    """Import a module of a package that a user may lack.

    Args:
        module: The name of the module.
        feature: The part of Muntin that needs the module, as users call it, for the error.
        extra: The extra of `muntin-engine` with which pip installs the package.

    Raises:
        SetupError: The package is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if _missing_package(error) != package:  # the package is there, and another one is missing that it imports
            raise
        raise _not_installed(package, feature, extra) from error


def check_installed(package: str, *, feature: str, extra: str) -> None:
    """Raise if a package is missing that is imported only later.

    Args:
        package: The name of the package.
        feature: The part of Muntin that needs the package, as users call it, for the error.
        extra: The extra of `muntin-engine` with which pip installs the package.

    Raises:
        SetupError: The package is not installed.
    """
    if find_spec(package) is None:
        raise _not_installed(package, feature, extra)


def engine_module(module: str, *, feature: str) -> ModuleType:
    """Import a module of the engine that may need PySpark.

    Args:
        module: The name of the module.
        feature: The part of Muntin that the module implements, as users call it, for the error.

    Raises:
        SetupError: PySpark is not installed, and the module needs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if _missing_package(error) not in _PACKAGES_OF_SPARK:
            raise
        raise SetupError(
            f"{feature} needs PySpark, which is not installed\n  install it: pip install 'muntin[spark]'"
        ) from error


def _not_installed(package: str, feature: str, extra: str) -> SetupError:
    """Return the error about a package that is missing; for the arguments see `check_installed`."""
    return SetupError(
        f"{feature} needs {package}, which is not installed\n  install it: pip install 'muntin-engine[{extra}]'"
    )


def _missing_package(error: ModuleNotFoundError) -> str:
    """Return the name of the package that a failed import did not find."""
    return (error.name or "").partition(".")[0]
