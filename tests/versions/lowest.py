"""The oldest versions of other packages that our distributions say they run with."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.requirements import Requirement
from packaging.version import Version

from release.distributions import Distribution, distributions


def lower_bound(requirement: Requirement) -> Version | None:
    """Return the oldest version that a requirement takes, None if it does not say.

    Example:
        >>> lower_bound(Requirement("protobuf>=6.33.5,<8"))
        <Version('6.33.5')>
    """
    bounds = [Version(each.version) for each in requirement.specifier if each.operator in (">=", "==", "~=")]
    return max(bounds, default=None)


def required_of_others(ours: Iterable[Distribution]) -> list[tuple[str, Requirement]]:
    """Return what our distributions require of others', with an extra or without, each with the name of ours."""
    ours = list(ours)
    names = {each.name for each in ours}
    required: list[tuple[str, Requirement]] = []
    for distribution in ours:
        for requirements in distribution.extras.values():
            required += [(distribution.name, each) for each in requirements if each.name not in names]
    return required


def lowest_versions() -> dict[str, Version]:
    """Return the oldest version of each package of others that all of our distributions take."""
    lowest: dict[str, Version] = {}
    for _, requirement in required_of_others(distributions().values()):
        bound = lower_bound(requirement)
        if bound is not None:
            lowest[requirement.name] = max(bound, lowest.get(requirement.name, bound))
    return lowest


def constraints() -> str:
    """Return the lines by which pip installs those versions and no newer ones; what they require in turn is free."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(lowest_versions().items()))
