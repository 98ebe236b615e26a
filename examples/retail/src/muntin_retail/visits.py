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
    """A window over events of which each begins less than a gap after the last tick of an earlier one."""

    name: ClassVar[str] = "retail.visits"
    version: ClassVar[str] = "1.2"
    continues_since: ClassVar[str] = "1.1"
    title: ClassVar[str] = "visits"
    lengths: ClassVar[tuple[str, ...]] = ("gap",)

    gap: int

    def __post_init__(self) -> None:
        if self.gap <= 0:
            raise WindowError(f"the gap between visits is above zero, got {self.gap}")

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, prolonged to a gap after its last tick."""
        if end == INFINITY:
            return start, INFINITY
        last_tick = end - 1
        return start, last_tick + self.gap

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the connected parts of the axis that stretches cover, as far as they meet `[start, end)`."""
        visit: Window | None = None
        for since, until in stretches.all:
            if visit is not None and since < visit.end:
                visit = Window(visit.start, max(visit.end, until))
                continue
            # The stretch begins a visit, so the visit before it is complete.
            if visit is not None and visit.start < end and visit.end > start:
                yield visit
            if since >= end:
                return
            visit = Window(since, until)
        if visit is not None and visit.start < end and visit.end > start:
            yield visit

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch, and the tick before it: a visit that gets longer replaces one that ended there."""
        return start - 1, end
