"""A point of the plane."""

from __future__ import annotations

from typing import Generic, NamedTuple

from muntin_stats.number import M, N


class Point(NamedTuple, Generic[N, M]):
    """A point of the plane; one with a null coordinate is no point."""

    x: N | None
    y: M | None
