"""The order of versions, where they have one."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

Order: TypeAlias = tuple[Any, ...]
"""What is compared of a version."""

_VERSION: Final = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|rc|c)[-_.]?(?P<pre_number>\d*))?"
    r"(?:[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*)|-(?P<bare_post>\d+))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?"
    r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?",
    re.IGNORECASE,
)
_PHASES: Final = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_FINAL: Final = 3
_DEVELOPED_ONLY: Final = -1


def order_of(version: str) -> Order | None:
    """Return the sort key of a version, as Python packages are ordered; None if it has no order.

    What follows a `+` does not count. A hash, a date with a time or a name is no number and has no order.

    Example:
        >>> sorted(["1.10", "1.9.1", "1.10rc1", "1.10.dev2"], key=order_of)
        ['1.9.1', '1.10.dev2', '1.10rc1', '1.10']
        >>> order_of("1.0") == order_of("1.0.0"), order_of("code 7f3a")
        (True, None)
    """
    found = _VERSION.fullmatch(version.strip())
    if found is None:
        return None
    release = [int(part) for part in found["release"].split(".")]
    while release and not release[-1]:
        release.pop()
    return (release, _phase(found), _post(found), _dev(found))


def _phase(found: re.Match[str]) -> tuple[int, int]:
    if found["pre"]:
        return _PHASES[found["pre"].lower()], int(found["pre_number"] or 0)
    is_developed_only = found["dev"] and not (found["post"] or found["bare_post"])
    return (_DEVELOPED_ONLY if is_developed_only else _FINAL), 0


def _post(found: re.Match[str]) -> int:
    if found["bare_post"]:
        return int(found["bare_post"])
    return int(found["post_number"] or 0) if found["post"] else -1


def _dev(found: re.Match[str]) -> tuple[bool, int]:
    """Return the part of the sort key that puts a development version before the finished one."""
    return (not found["dev"], int(found["dev_number"] or 0))


def continues(own: str, other: str, since: str | None, *, upgrades: bool) -> bool:
    """Return True if a module can continue from a checkpoint of another version of it.

    Args:
        own: Its version.
        other: The version in the checkpoint.
        since: The oldest version that it continues from, if it says so.
        upgrades: True if it has `upgrade_state`.

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
