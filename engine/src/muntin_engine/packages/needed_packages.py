"""The packages that a query needs where its workers run: those that its pickle refers to by name.

The references are read without unpickling. Unpickling classes that are pickled by value, in the process that pickled
them, would replace the methods of these classes by copies.
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
"""The opcodes that push a text."""

_GETS: Final = frozenset({"BINGET", "LONG_BINGET", "GET"})
"""The opcodes that push a value of the memo."""

_PUTS: Final = frozenset({"BINPUT", "LONG_BINPUT", "PUT"})
"""The opcodes that put the last value into the memo, under a number."""

_IMPORTER: Final = "subimport"
"""The function by which cloudpickle refers to a module as a whole."""


class Reference(NamedTuple):
    """A module, or an object in it, that a pickle refers to by name.

    Attributes:
        module: The module's full name.
        name: The name of the object, with dots; empty for the module as a whole.
    """

    module: str
    name: str = ""


_Value: TypeAlias = str | Reference | None
"""A value on the stack of an unpickler: a text, a reference, or None for any other value."""


def references_of(data: bytes) -> frozenset[Reference]:
    """Return the modules and objects that a pickle refers to by name, without those of the standard library.

    Example:
        >>> import pickle
        >>> references_of(pickle.dumps([Reference, len, print]))
        frozenset({Reference(module='muntin_engine.packages.needed_packages', name='Reference')})
    """
    references: set[Reference] = set()
    for reference in _all_references(data):
        if top_level_name(reference.module) not in sys.stdlib_module_names:
            references.add(reference)
    return frozenset(references)


def top_level_name(module: str) -> str:
    """Return the first part of a module's name, which is the name of its package."""
    return module.partition(".")[0]


def _all_references(data: bytes) -> Iterator[Reference]:
    """Yield all references of a pickle, some of them several times.

    An opcode finds a global by the last two values on the stack of an unpickler. So only these two values and the memo
    are simulated. Values that opcodes take off the stack are not removed here: the names of a global are always pushed
    just before the opcode that finds it.
    """
    memo: dict[int, _Value] = {}
    below: _Value = None
    top: _Value = None
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "FRAME":  # puts nothing on the stack
            continue
        if opcode.name == "MEMOIZE":  # puts the last value under the next number
            memo[len(memo)] = top
            continue
        if opcode.name in _PUTS:
            memo[int(str(argument))] = top
            continue
        pushed_value = _pushed(opcode.name, argument, memo, below, top)
        below = top
        top = pushed_value
        if isinstance(top, Reference):
            yield top
        elif isinstance(top, str) and isinstance(below, Reference) and below.name == _IMPORTER:
            yield Reference(top)  # the argument of the importer is the name of a whole module


def _pushed(opcode: str, argument: Any, memo: dict[int, _Value], below: _Value, top: _Value) -> _Value:
    """Return the text or the reference that an opcode pushes; None for any other value.

    Args:
        opcode: The name of the opcode.
        argument: The argument of the opcode.
        memo: The memo of the unpickler.
        below: The value below the last one on the stack.
        top: The last value on the stack.
    """
    if opcode in _STRINGS:
        return str(argument)
    if opcode in _GETS:
        return memo.get(int(argument))
    if opcode == "GLOBAL":
        module, _, name = argument.partition(" ")
        return Reference(module, name)
    if opcode == "STACK_GLOBAL":
        return Reference(str(below), str(top))
    return None


_OURS: Final = {"muntin-sdk": "muntin", "muntin-engine": "muntin_engine"}
"""The distributions of Muntin, with the packages that are imported from them."""

THEIRS: Final = {"pyspark": "pyspark", "pyarrow": "pyarrow", "pandas": "pandas", "protobuf": "google.protobuf"}
"""Distributions that Spark itself needs, with the packages that are imported from them.

They cannot be shipped, as nothing runs without them.
"""


@dataclass(frozen=True)
class Needed:
    """The packages that a query needs, as the driver has them.

    Attributes:
        versions: The version of each distribution on the driver.
        imports: The top-level names that are imported from each distribution.
        same: The distributions that must have the same version on the workers, as their objects are pickled.
        homes: The distribution of each top-level name that is imported; a name of no distribution is missing.
    """

    versions: dict[str, str] = field(default_factory=dict)
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    same: frozenset[str] = frozenset(_OURS)
    homes: dict[str, str] = field(default_factory=dict)

    def home(self, module: str) -> str:
        """Return the distribution of a module; the module's own name if it belongs to no distribution."""
        return self.homes.get(top_level_name(module), module)


def needed_by(references: Iterable[Reference]) -> Needed:
    """Return the packages that a query needs: those that references name, what they require, and what all queries need.

    Args:
        references: The references of the query's pickle.
    """
    # Begin with what all queries need. A reference may name one of these as well, and then adds nothing.
    needed_by_all = _OURS | THEIRS
    versions = {name: _version(name) for name in needed_by_all}
    imports: dict[str, tuple[str, ...]] = {name: (top,) for name, top in needed_by_all.items()}
    homes: dict[str, str] = {}
    same = set(_OURS)  # the distributions that must have the same version on the workers
    for import_name in sorted({top_level_name(reference.module) for reference in references}):
        distribution = distribution_of(import_name)
        if distribution is None:
            continue
        distribution_name = canonicalize_name(distribution.name)
        homes[import_name] = distribution_name
        if distribution_name in needed_by_all:
            continue
        # The versions of what it requires may differ on the workers, unless a reference names these as well.
        same.add(distribution_name)
        for dist in (distribution, *requirements_of(distribution)):
            name = canonicalize_name(dist.name)
            versions.setdefault(name, dist.version)
            imports.setdefault(name, imports_of(dist))
    return Needed(versions=versions, imports=imports, same=frozenset(same), homes=homes)


def _version(name: str) -> str:
    """Return the version of a distribution; empty if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:  # it may be imported from a folder on the path, without being installed
        return ""
