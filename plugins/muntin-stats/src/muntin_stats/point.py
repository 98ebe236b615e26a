"""A point of the plane."""

from __future__ import annotations

from typing import NamedTuple


class Point(NamedTuple):
    """A point of the plane; one with a null coordinate is no point."""

    x: float | None
    y: float | None
