"""What this plugin offers."""

from __future__ import annotations

from muntin import hookimpl
from muntin.windows import WindowSpecification

from .baskets import Baskets
from .between_starts import BetweenStarts
from .shifts import Shifts
from .visits import Visits


@hookimpl
def muntin_windows() -> list[type[WindowSpecification]]:
    """Offer all kinds."""
    return [Baskets, BetweenStarts, Shifts, Visits]
