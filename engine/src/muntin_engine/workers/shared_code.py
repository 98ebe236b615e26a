"""Code that all of a worker's code uses, which a module could take from it: builtins, loaded modules, Spark's protocol.

A worker without its builtins dies without words, and one whose `struct` is gone waits for Spark for ever.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple

_BUILTINS: Final[dict[str, Any]] = builtins.__dict__
_MODULES: Final = sys.modules
_NAMES: Final = tuple(_BUILTINS)
"""Those that Python starts with; what installs more, such as `gettext`, replaces its own."""
_PROTOCOL: Final = ("struct", "pickle", "json", "time", "pyspark.serializers", "pyspark.worker")
"""Modules without which a worker cannot tell Spark anything, errors included."""
_GONE: Final = object()


class SharedCode(NamedTuple):
    """That code as it was at one time."""

    builtins: Mapping[str, Any]
    modules: Mapping[str, ModuleType]
    protocol: Sequence[tuple[str, dict[str, Any], Mapping[str, Any]]]

    @classmethod
    def now(cls) -> SharedCode:
        """Take note of it. Cost: some ten microseconds."""
        protocol = [(name, vars(_MODULES[name])) for name in _PROTOCOL if name in _MODULES]
        return cls({**_BUILTINS}, {**_MODULES}, [(name, has, {**has}) for name, has in protocol])

    def restore(self) -> list[str]:
        """Restore what was replaced or removed since, and return the names of it."""
        found: list[str] = []
        if self.builtins != _BUILTINS:  # until they are restored, nothing here may use one
            changed = {**_BUILTINS}
            _BUILTINS.update(self.builtins)
            before = self.builtins.get
            found += [f"builtins.{name}" for name in _NAMES if changed.get(name, _GONE) is not before(name, _GONE)]
        if len(_MODULES) < len(self.modules):
            found += [f"sys.modules[{name!r}]" for name in self.modules if name not in _MODULES]
            _MODULES.update(self.modules)
        for module, has, had in self.protocol:
            if has == had:
                continue
            taken = [name for name, value in had.items() if has.get(name, _GONE) is not value]
            has.update({name: had[name] for name in taken})
            found += [f"{module}.{name}" for name in taken]
        return found
