"""Names in the JVM that PySpark looks up, remembered.

For each name that Python says below `jvm`, py4j asks the JVM anew whether it is a package, a class or a method. Where
it is no class, the JVM has searched each of Spark's 280 jars to find that out, once for each package that is imported.
That was a twentieth of the processor time of the tests' JVM.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView

_LASTING: Final = (JavaPackage, JavaClass, JavaMember)
"""What a name means for as long as the JVM lives: packages, classes and static methods, not the values of fields."""


@contextmanager
def remembered_names() -> Iterator[None]:
    """Have py4j look up each name once; only for a process with one JVM."""
    with pytest.MonkeyPatch.context() as patch:
        for owner in (JVMView, JavaPackage, JavaClass):
            patch.setattr(owner, "__getattr__", _once(owner.__getattr__))
        yield


def _once(look_up: Any) -> Any:
    """Return a `__getattr__` that remembers what another one finds, if it lasts."""

    def look_up_once(self: Any, name: str) -> Any:
        meaning = look_up(self, name)
        if isinstance(meaning, _LASTING):
            vars(self)[name] = meaning  # Python looks there first, and then asks no `__getattr__`
        return meaning

    return look_up_once
