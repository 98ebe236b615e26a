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
"""The builtins that Python starts with; code that installs more, such as `gettext`, replaces its own."""

_PROTOCOL: Final = ("struct", "pickle", "json", "time", "pyspark.serializers", "pyspark.worker")
"""Modules without which a worker cannot tell Spark anything, errors included."""
_GONE: Final = object()


class SharedCode(NamedTuple):
    """The code that all of a worker's code uses, as it was at one time.

    Attributes:
        builtins: The builtins by name.
        modules: The loaded modules by name.
        protocol: Modules of `_PROTOCOL`: the name of each, its namespace, and a copy of that.
    """

    builtins: Mapping[str, Any]
    modules: Mapping[str, ModuleType]
    protocol: Sequence[tuple[str, dict[str, Any], Mapping[str, Any]]]

    @classmethod
    def now(cls) -> SharedCode:
        """Copy the namespaces. Cost: some ten microseconds."""
        protocol: list[tuple[str, dict[str, Any], Mapping[str, Any]]] = []
        for name in _PROTOCOL:
            if name in _MODULES:
                namespace = vars(_MODULES[name])
                protocol.append((name, namespace, {**namespace}))
        return cls({**_BUILTINS}, {**_MODULES}, protocol)

    def restore(self) -> list[str]:
        """Restore the code that was replaced or removed since, and return its names."""
        # A module may have replaced any builtin: until they are restored, only syntax and methods may be used here.
        replaced: list[str] = []
        if self.builtins != _BUILTINS:
            changed = {**_BUILTINS}
            _BUILTINS.update(self.builtins)
            for name in _NAMES:
                if changed.get(name, _GONE) is not self.builtins.get(name, _GONE):
                    replaced.append(f"builtins.{name}")
        if len(_MODULES) < len(self.modules):
            replaced += [f"sys.modules[{name!r}]" for name in self.modules if name not in _MODULES]
            _MODULES.update(self.modules)
        for module, namespace, original in self.protocol:
            if namespace == original:
                continue
            for name, value in original.items():
                if namespace.get(name, _GONE) is not value:
                    namespace[name] = value
                    replaced.append(f"{module}.{name}")
        return replaced
