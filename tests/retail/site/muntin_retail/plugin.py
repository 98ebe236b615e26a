"""What this plugin offers."""

from __future__ import annotations

from muntin import WindowKind, hookimpl

from .between_starts import BetweenStarts
from .shifts import Shifts
from .visits import Visits


@hookimpl
def muntin_windows() -> list[type[WindowKind]]:
    """Offer all kinds."""
    return [BetweenStarts, Shifts, Visits]
