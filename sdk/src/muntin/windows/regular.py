"""A regular grid of windows, as far as an engine needs it to keep slices."""

from __future__ import annotations

from typing import Protocol

from muntin.windows.periods import Periods


class RegularWindows(Protocol):
    """Windows of one size at every multiple of a hop from an offset on, counted in ticks or in periods."""

    @property
    def periods(self) -> Periods | None:
        """The periods that the other three count; None if these are ticks."""
        ...

    @property
    def size(self) -> int:
        """Length of each window."""
        ...

    @property
    def hop(self) -> int:
        """Distance between the starts of neighbours."""
        ...

    @property
    def offset(self) -> int:
        """The start of one of the windows."""
        ...
