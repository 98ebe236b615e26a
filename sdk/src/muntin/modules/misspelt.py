"""Methods that a class lacks because they are misspelt."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from muntin.errors import ModuleDefinitionError


def undefined_methods(cls: type, name: str, missing: Iterable[str]) -> ModuleDefinitionError:
    """Return the error for a class that does not define methods; what it defines under a similar name is told.

    Args:
        cls: The class.
        name: Its name, for the error.
        missing: The methods that it lacks.
    """
    lacks = sorted(missing)
    own = {
        found.replace("_", "").lower(): found
        for parent in cls.__mro__
        if not parent.__module__.startswith("muntin.")
        for found, value in vars(parent).items()
        if callable(value) and not found.startswith("__")
    }
    lines = [f"{name} does not define {', '.join(lacks)}"]
    for method in lacks:
        for close in difflib.get_close_matches(method.replace("_", ""), own, n=1):
            lines.append(f"  it defines {own[close]}, which nothing calls; did you mean {method}?")
    return ModuleDefinitionError("\n".join(lines))
