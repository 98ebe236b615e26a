"""Find code that belongs to no installed package, such as that of a script, and has to be pickled by value."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

_OURS: Final = frozenset({"muntin", "muntin_engine", "muntin_cli"})
_SITE: Final = frozenset({"site-packages", "dist-packages"})


def local_modules() -> list[ModuleType]:
    """Return the modules that were imported from files of no installed package, such as those beside a script.

    A module that Python has under another name than its own is left out: no pickle could refer to it.
    """
    modules: list[ModuleType] = []
    for name, module in list(sys.modules.items()):  # a copy, as other threads may import meanwhile
        has_own_name = getattr(module, "__name__", None) == name
        if name != "__main__" and has_own_name and is_local(name):
            modules.append(module)
    return modules


def is_local(name: str) -> bool:
    """Say whether an imported module belongs to no installed package, like the code of a script or a notebook."""
    if name == "__main__":
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    top = name.partition(".")[0]
    if file is None or top in _OURS or top in sys.stdlib_module_names or _is_installed_file(file):
        return False

    # The metadata of installed packages are read only here, as this takes imports that other programs do without.
    from muntin_engine.packages.distributions import names_outside_site

    return top not in names_outside_site(tuple(sys.path))


def package_of(code: object) -> str:
    """Return the top-level package of a class or a function; empty if it is of Python itself or of Muntin."""
    top = str(getattr(code, "__module__", None) or "").partition(".")[0]
    return "" if top in _OURS or top in sys.stdlib_module_names else top


@cache
def _is_installed_file(file: str) -> bool:
    """Say whether a file of code is installed: in a folder of packages or of Python, in an archive, or compiled."""
    path = Path(file)
    if _SITE.intersection(path.parts):
        return True
    if any(path.is_relative_to(folder) for folder in _folders_of_python()):
        return True
    return path.suffix != ".py" or not path.is_file()


@cache
def _folders_of_python() -> tuple[Path, ...]:
    """Return the folders of the standard library."""
    return tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
