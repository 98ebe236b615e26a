"""What Muntin finds through the entry point `patterns`."""

from __future__ import annotations

from muntin import Module, hookimpl
from muntin_patterns.followed_by import FollowedBy


@hookimpl
def muntin_modules() -> list[type[Module]]:
    """Return the modules of this package."""
    return [FollowedBy]
