"""The order of versions, where they have one."""

from __future__ import annotations

from functools import lru_cache

from packaging.version import Version


@lru_cache(maxsize=1024)
def order_of(version: str) -> Version | None:
    """Return a version to compare with others, as Python packages are ordered (PEP 440); None if it has no order.

    The part after a `+` does not count. A hash, a date with a time or a name is no number and has no order.

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
    present = order_of(version)
    past = order_of(stored)
    if present is None or past is None:
        # Versions without an order: only the one that is named can be continued from.
        return upgrades if since is None else stored == since
    # A newer version may store a state that this one cannot read; spellings of one version, such as 1.0 and 1.0.0, can.
    if past >= present:
        return past == present
    oldest = None if since is None else order_of(since)
    return upgrades if oldest is None else past >= oldest


def is_same_version(first: str, second: str) -> bool:
    """Return True if two spellings are of one version.

    Example:
        >>> is_same_version("1.0", "1.0.0"), is_same_version("code 7f", "code 8a")
        (True, False)
    """
    return first == second or (order_of(first) is not None and order_of(first) == order_of(second))


def is_newer(first: str, second: str) -> bool:
    """Return True if the first version is newer than the second; False where they have no order.

    Example:
        >>> is_newer("1.10", "1.9"), is_newer("code 7f", "1.9")
        (True, False)
    """
    first_order = order_of(first)
    second_order = order_of(second)
    return first_order is not None and second_order is not None and first_order > second_order
