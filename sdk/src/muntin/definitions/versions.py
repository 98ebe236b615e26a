"""The order of versions, where they have one."""

from __future__ import annotations

from functools import lru_cache

from packaging.version import Version


@lru_cache(maxsize=1024)
def order_of(version: str) -> Version | None:
    """Return a version to compare with others, as Python packages are ordered (PEP 440); None if it has no order.

    What follows a `+` does not count. A hash, a date with a time or a name is no number and has no order.

    Example:
        >>> sorted(["1.10", "1.9.1", "1.10rc1", "1.10.dev2"], key=order_of)
        ['1.9.1', '1.10.dev2', '1.10rc1', '1.10']
        >>> order_of("1.0") == order_of("1.0.0"), order_of("code 7f3a")
        (True, None)
    """
    try:
        return Version(Version(version).public)
    except ValueError:  # `InvalidVersion` is one, and so is what `int` raises for thousands of digits
        return None


def continues(own: str, other: str, since: str | None, *, upgrades: bool) -> bool:
    """Return True if a module can continue from a checkpoint of another version of it.

    Example:
        >>> [continues("1.2", other, "1.1", upgrades=False) for other in ("1.0", "1.1", "1.2", "1.3")]
        [False, True, True, False]
    """
    if own == other:
        return True
    mine, theirs = order_of(own), order_of(other)
    if mine is None or theirs is None:
        return upgrades if since is None else other == since
    if theirs >= mine:
        return theirs == mine
    oldest = None if since is None else order_of(since)
    return upgrades if oldest is None else theirs >= oldest


def is_same_version(one: str, other: str) -> bool:
    """Return True if two spellings are of one version.

    Example:
        >>> is_same_version("1.0", "1.0.0"), is_same_version("code 7f", "code 8a")
        (True, False)
    """
    return one == other or (order_of(one) is not None and order_of(one) == order_of(other))


def is_newer(one: str, other: str) -> bool:
    """Return True if a version is newer than another one; False where they have no order.

    Example:
        >>> is_newer("1.10", "1.9"), is_newer("code 7f", "1.9")
        (True, False)
    """
    first, second = order_of(one), order_of(other)
    return first is not None and second is not None and first > second
