"""The form of a module's name."""

from __future__ import annotations

import re
from typing import Final

from muntin.errors import ModuleDefinitionError

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


def check_name(name: object, owner: str = "it") -> str:
    """Return a module's or function's name if it has the form `"<plugin>.<module>"`."""
    if name is None:
        raise ModuleDefinitionError(f"{owner} has no name\n  set the class attribute: name = '<plugin>.<module>'")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ModuleDefinitionError(
            f"{owner} is named {name!r}\n  expected: text of the form '<plugin>.<module>' in lower case"
        )
    return name


def check_aliases(name: str, aliases: object) -> None:
    """Refuse aliases of a module that are not a tuple of names without the plugin's."""
    if not isinstance(aliases, tuple) or not all(isinstance(a, str) and _NAME.fullmatch(f"a.{a}") for a in aliases):
        raise ModuleDefinitionError(
            f"{name} has the aliases {aliases!r}\n"
            "  expected: a tuple of names in lower case without that of the plugin, such as ('mean', 'avg')"
        )
