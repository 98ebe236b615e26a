"""The offers of the entry point `myplugin`; a kind that is not listed here does not exist for queries."""

from __future__ import annotations

from muntin import hookimpl
from muntin.windows import WindowKind

from muntin_myplugin import visits


@hookimpl
def muntin_windows() -> list[type[WindowKind]]:
    """Return the kinds of windows."""
    return [visits.Visits]
