"""Visits: windows over events without a long gap between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from muntin import INFINITY, Window
from muntin.errors import WindowError
from muntin.windows import Stretches, WindowKind


@dataclass(frozen=True, slots=True)
class Visits(WindowKind):
    """A window over events, each of which begins less than a gap after the last tick of an earlier one.

    Three events, and the windows that `Visits(3)` makes of them, with the number of members:

    ```text
             1         11
    event a  [----)
    event b     [----)
    event c             [-)
    window   [---------)        2
    window              [---)   1
    ```

    Attributes:
        gap: Time without events between two visits.

    Example:
        >>> list(Visits(5).cut(Stretches([(1, 6), (4, 9), (12, 17)]), 0, 20))
        [Window(start=1, end=9), Window(start=12, end=17)]
    """

    name: ClassVar[str] = "myplugin.visits"
    version: ClassVar[str] = "0.1.0"
    title: ClassVar[str] = "visits"
    lengths: ClassVar[tuple[str, ...]] = ("gap",)

    gap: int

    def __post_init__(self) -> None:
        if self.gap <= 0:
            raise WindowError(f"a gap is longer than nothing, got {self.gap}")

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, prolonged to a gap after its last tick."""
        if end == INFINITY:
            return start, INFINITY
        last_tick = end - 1
        return start, last_tick + self.gap

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the connected parts of the axis that stretches cover."""
        visit: Window | None = None  # the visit so far, which the next stretches may prolong
        for since, until in stretches.all:
            if visit is None or since >= visit.end:
                if visit is not None and visit.start < end and visit.end > start:
                    yield visit
                visit = Window(since, until)
            else:
                visit = Window(visit.start, max(visit.end, until))
        if visit is not None and visit.start < end and visit.end > start:
            yield visit

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch, and the tick before it: a visit that gets longer replaces one that ended there."""
        return start - 1, end
