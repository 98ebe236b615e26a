"""Slide-by-row windows as a kind of a user's own: a range of time, and a window at every n-th row."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from muntin import EARLIEST, INFINITY, Stretches, Window, WindowKind


@dataclass(frozen=True, slots=True)
class SlideByRow(WindowKind):
    """A window at every n-th distinct start, over the events that started less than a length before it.

    The window is cut at the one tick of the start, and an event counts for the length; its extent reaches back by it.
    The rank of the last start that was forgotten, modulo n, is carried.
    """

    name: ClassVar[str] = "thesis.slide_by_row"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "slide-by-row windows"
    lengths: ClassVar[tuple[str, ...]] = ("length",)

    length: int
    every: int = 1

    def membership(self, start: int, end: int) -> tuple[int, int]:
        return start, start + self.length

    def cut(self, known: Stretches, start: int, end: int) -> Iterator[Window]:
        since, rank = known.carried or (EARLIEST, 0)
        first = bisect_left(known.starts, since)
        for place in range(bisect_left(known.starts, max(start, since)), len(known.starts)):
            tick = known.starts[place]
            if tick >= end:
                return
            if (rank + place - first + 1) % self.every == 0:
                yield Window(tick, tick + 1)

    def extent_start(self, start: int) -> int:
        return start - self.length + 1

    def shows(self, start: int, end: int) -> tuple[int, int]:
        return start, INFINITY if self.every > 1 else end

    def carried(self, known: Stretches, frontier: int) -> tuple[int, int]:
        since, rank = known.carried or (EARLIEST, 0)
        bound = max(since, frontier - self.length + 1)
        passed = bisect_left(known.starts, bound) - bisect_left(known.starts, since)
        return bound, (rank + passed) % self.every
