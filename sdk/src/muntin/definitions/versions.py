"""The order of versions, where they have one."""

from __future__ import annotations

from functools import lru_cache

from packaging.version import Version


@lru_cache(maxsize=1024)
def order_of(version: str) -> Version | None:
    """Return a version as one that can be compared, in the order of Python packages (PEP 440); None if it has no order.

    The part after a `+` does not count. A hash, a date with a time or a name is not a number, and has no order.

    Example:
        >>> sorted(["1.10", "1.9.1", "1.10rc1", "1.10.dev2"], key=order_of)
        ['1.9.1', '1.10.dev2', '1.10rc1', '1.10']
        >>> order_of("1.0") == order_of("1.0.0"), order_of("code 7f3a")
        (True, None)
    """
    try:
        return Version(Version(version).public)
    except ValueError:  # `InvalidVersion` is one; `int` raises another for thousands of digits
        return None


def continues(version: str, stored: str, since: str | None, *, upgrades: bool) -> bool:
    """Return True if a version of a module can continue from a checkpoint of a stored version.

    Args:
        version: The version of the module.
        stored: The version that wrote the checkpoint.
        since: The oldest version that the module continues from; None if it does not say one.
        upgrades: True if the module upgrades states of older versions.

    Example:
        >>> [continues("1.2", other, "1.1", upgrades=False) for other in ("1.0", "1.1", "1.2", "1.3")]
        [False, True, True, False]
    """
    if version == stored:
        return True
    present_order = order_of(version)
    stored_order = order_of(stored)
    if present_order is None or stored_order is None:
        # Without an order nothing lies between `since` and the present version: only `since` itself is continued.
        return upgrades if since is None else stored == since
    if stored_order == present_order:
        return True  # other spellings of the same version, such as 1.0 and 1.0.0
    if stored_order > present_order:
        return False  # a newer version may have stored a state that this one cannot read
    oldest_order = None if since is None else order_of(since)
    return upgrades if oldest_order is None else stored_order >= oldest_order


def is_same_version(first: str, second: str) -> bool:
    """Return True if two spellings are of one version.

    Example:
        >>> is_same_version("1.0", "1.0.0"), is_same_version("code 7f", "code 8a")
        (True, False)
    """
    if first == second:
        return True
    first_order = order_of(first)
    return first_order is not None and first_order == order_of(second)


def is_newer(first: str, second: str) -> bool:
    """Return True if the first version is newer than the second; False if one of them has no order.

    Example:
        >>> is_newer("1.10", "1.9"), is_newer("code 7f", "1.9")
        (True, False)
    """
    first_order = order_of(first)
    second_order = order_of(second)
    return first_order is not None and second_order is not None and first_order > second_order
