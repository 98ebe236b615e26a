"""The oldest versions of other packages that our distributions allow."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.version import Version

from release.distributions import distributions


def lower_bound(requirement: Requirement) -> Version | None:
    """Return the oldest version that a requirement allows; None if it has no lower bound.

    Example:
        >>> lower_bound(Requirement("protobuf>=6.33.5,<8"))
        <Version('6.33.5')>
    """
    bounds: list[Version] = []
    for specifier in requirement.specifier:
        if specifier.operator in (">=", "==", "~="):
            bounds.append(Version(specifier.version))
    return max(bounds, default=None)


def required_packages() -> Iterator[Requirement]:
    """Yield our distributions' requirements of other packages, with an extra or without."""
    ours = distributions()
    for distribution in ours.values():
        for requirements in distribution.extras.values():
            for requirement in requirements:
                if requirement.name not in ours:
                    yield requirement


def lowest_versions() -> dict[str, Version]:
    """Return the oldest version of each other package that all of our distributions allow."""
    lowest: dict[str, Version] = {}
    for requirement in required_packages():
        bound = lower_bound(requirement)
        if bound is not None:
            lowest[requirement.name] = max(bound, lowest.get(requirement.name, bound))
    return lowest


def constraints() -> str:
    """Return the lines by which pip installs the oldest versions; the requirements of these packages are free."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(lowest_versions().items()))
