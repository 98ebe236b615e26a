"""Code that all of a worker's code uses, and that a module could replace: builtins, loaded modules, Spark's protocol.

A worker without its builtins dies without any message, and one without `struct` waits for Spark for ever.
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
"""The modules that a worker needs to send anything to Spark, even an error."""

_GONE: Final = object()
"""The value of a name that was removed."""


class ProtocolModule(NamedTuple):
    """A module of `_PROTOCOL` with a copy of its namespace.

    Attributes:
        name: The name of the module.
        namespace: The namespace of the module itself, which code may change.
        original: The copy, which shows the namespace as it was.
    """

    name: str
    namespace: dict[str, Any]
    original: Mapping[str, Any]


class SharedCode(NamedTuple):
    """Copies of the namespaces that all of a worker's code uses.

    Attributes:
        builtins: The builtins by name.
        modules: The loaded modules by name.
        protocol: The loaded modules of `_PROTOCOL`.
    """

    builtins: Mapping[str, Any]
    modules: Mapping[str, ModuleType]
    protocol: Sequence[ProtocolModule]

    @classmethod
    def now(cls) -> SharedCode:
        """Copy the namespaces. Cost: some ten microseconds."""
        protocol: list[ProtocolModule] = []
        for name in _PROTOCOL:
            if name in _MODULES:
                namespace = vars(_MODULES[name])
                protocol.append(ProtocolModule(name, namespace, {**namespace}))
        return cls({**_BUILTINS}, {**_MODULES}, protocol)

    def restore(self) -> list[str]:
        """Restore the code that was replaced or removed since the copies were made.

        It stands in the builtins, in `sys.modules`, and in the modules by which a worker talks with Spark.

        Returns:
            The names of the code that was restored.
        """
        # A module may have replaced any builtin: until they are restored, only syntax and methods may be used here.
        replaced_names: list[str] = []
        if self.builtins != _BUILTINS:
            changed_builtins = {**_BUILTINS}  # a copy, to find out which builtins were replaced once they are restored
            _BUILTINS.update(self.builtins)
            for name in _NAMES:
                if changed_builtins.get(name, _GONE) is not self.builtins.get(name, _GONE):
                    replaced_names.append(f"builtins.{name}")
        # Code may load modules, but not remove any. Their number is compared, as comparing each would take longer.
        if len(_MODULES) < len(self.modules):
            replaced_names += [f"sys.modules[{name!r}]" for name in self.modules if name not in _MODULES]
            _MODULES.update(self.modules)
        for module in self.protocol:
            if module.namespace == module.original:
                continue
            for name, value in module.original.items():
                if module.namespace.get(name, _GONE) is not value:
                    module.namespace[name] = value
                    replaced_names.append(f"{module.name}.{name}")
        return replaced_names
