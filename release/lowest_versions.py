"""The oldest versions of other packages that our distributions say they run with."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.version import Version

from release.distributions import distributions


def lower_bound(requirement: Requirement) -> Version | None:
    """Return the oldest version that a requirement takes, None if it does not say.

    Example:
        >>> lower_bound(Requirement("protobuf>=6.33.5,<8"))
        <Version('6.33.5')>
    """
    bounds = [Version(each.version) for each in requirement.specifier if each.operator in (">=", "==", "~=")]
    return max(bounds, default=None)


def required_packages() -> Iterator[Requirement]:
    """Yield what our distributions require of others', with an extra or without."""
    ours = distributions()
    for distribution in ours.values():
        for requirements in distribution.extras.values():
            yield from (each for each in requirements if each.name not in ours)


def lowest_versions() -> dict[str, Version]:
    """Return the oldest version of each package of others that all of our distributions take."""
    lowest: dict[str, Version] = {}
    for requirement in required_packages():
        bound = lower_bound(requirement)
        if bound is not None:
            lowest[requirement.name] = max(bound, lowest.get(requirement.name, bound))
    return lowest


def constraints() -> str:
    """Return the lines by which pip installs those versions and no newer ones; what they require in turn is free."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(lowest_versions().items()))
