"""The packages that a query needs where its workers run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from packaging.utils import canonicalize_name

from muntin_engine.shipping.distributions import distribution_of, imports_of, requirements_of
from muntin_engine.shipping.references import Reference

_OURS: Final = ("muntin", "muntin-engine")
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
    tops = {name: name.replace("-", "_") for name in _OURS} | THEIRS
    imports: dict[str, tuple[str, ...]] = {name: (top,) for name, top in tops.items()}
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
