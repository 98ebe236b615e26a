"""The packages that a query needs where its workers run: those of the references by name in its pickle.

These are found without opening it: to open a pickle of classes that travel whole, in the process that made it, would
replace their methods by copies.
"""

from __future__ import annotations

import pickletools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NamedTuple, TypeAlias

from packaging.utils import canonicalize_name

from muntin_engine.packages.distributions import distribution_of, imports_of, requirements_of

_STRINGS: Final = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
_GETS: Final = frozenset({"BINGET", "LONG_BINGET", "GET"})
_PUTS: Final = frozenset({"BINPUT", "LONG_BINPUT", "PUT"})
_IMPORTER: Final = "subimport"
"""The function by which cloudpickle refers to a module as a whole."""


class Reference(NamedTuple):
    """Something that is imported.

    Attributes:
        module: The module's full name.
        name: What is taken from it, with dots; empty for the module as a whole.
    """

    module: str
    name: str = ""


_Value: TypeAlias = str | Reference | None


def references_of(data: bytes) -> frozenset[Reference]:
    """Return the imports of a pickle, without the standard library.

    Example:
        >>> import pickle
        >>> references_of(pickle.dumps([Reference, len, print]))
        frozenset({Reference(module='muntin_engine.packages.needed_packages', name='Reference')})
    """
    return frozenset(
        reference
        for reference in _all_references(data)
        if reference.module.partition(".")[0] not in sys.stdlib_module_names
    )


def _all_references(data: bytes) -> Iterator[Reference]:
    """Follow the last values pushed and the memo, which is all that names a global."""
    memo: dict[int, _Value] = {}
    before: _Value = None
    last: _Value = None
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "MEMOIZE":
            memo[len(memo)] = last
        elif opcode.name in _PUTS:
            memo[int(str(argument))] = last
        elif opcode.name != "FRAME":
            before, last = last, _pushed(opcode.name, argument, memo, (before, last))
            if isinstance(last, Reference):
                yield last
            elif isinstance(last, str) and isinstance(before, Reference) and before.name == _IMPORTER:
                yield Reference(last)


def _pushed(opcode: str, argument: Any, memo: dict[int, _Value], top: tuple[_Value, _Value]) -> _Value:
    if opcode in _STRINGS:
        return str(argument)
    if opcode in _GETS:
        return memo.get(int(argument))
    if opcode == "GLOBAL":
        module, _, name = argument.partition(" ")
        return Reference(module, name)
    if opcode == "STACK_GLOBAL":
        return Reference(str(top[0]), str(top[1]))
    return None


_OURS: Final = {"muntin-sdk": "muntin", "muntin-engine": "muntin_engine"}
"""Our own packages, with what they import."""
THEIRS: Final = {"pyspark": "pyspark", "pyarrow": "pyarrow", "pandas": "pandas", "protobuf": "google.protobuf"}
"""Packages that Spark itself needs, with what they import; they cannot be shipped, as nothing runs without them."""


@dataclass(frozen=True)
class Needed:
    """The packages of a query, as the driver has them.

    Attributes:
        versions: By distribution, its version here.
        imports: By distribution, what is imported from it.
        same: Those that must be of the same version on the workers, as objects of them travel.
        homes: By top-level name of what is imported, its distribution; none for code of no distribution.
    """

    versions: dict[str, str] = field(default_factory=dict)
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    same: frozenset[str] = frozenset(_OURS)
    homes: dict[str, str] = field(default_factory=dict)

    def home(self, module: str) -> str:
        """Return the distribution of a module; the module's own name if it is of none."""
        return self.homes.get(module.partition(".")[0], module)


def needed_by(references: Iterable[Reference]) -> Needed:
    """Return the packages that some references come from, with what those require and what every query needs."""
    versions = {name: _version(name) for name in (*_OURS, *THEIRS)}
    imports: dict[str, tuple[str, ...]] = {name: (top,) for name, top in (_OURS | THEIRS).items()}
    homes: dict[str, str] = {}
    same = set(_OURS)
    for top in sorted({reference.module.partition(".")[0] for reference in references}):
        dist = distribution_of(top)
        if dist is None:
            continue
        homes[top] = canonicalize_name(dist.name)
        if homes[top] in versions:
            continue
        same.add(homes[top])
        for one in (dist, *requirements_of(dist)):
            versions.setdefault(canonicalize_name(one.name), one.version)
            imports.setdefault(canonicalize_name(one.name), imports_of(one))
    return Needed(versions, imports, frozenset(same), homes)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # imported from somewhere on the path
        return ""
