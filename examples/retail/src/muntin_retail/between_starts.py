"""Windows from each start of an event to the next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from muntin import INFINITY, Window
from muntin.windows import Stretches, WindowKind


@dataclass(frozen=True, slots=True)
class BetweenStarts(WindowKind):
    """A window from each start to the next; the events that start where it does are its members."""

    name: ClassVar[str] = "retail.between_starts"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "windows between starts"
    ends_move: ClassVar[bool] = True

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the first tick."""
        return start, start + 1

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the windows between neighbouring starts."""
        for first, following in pairwise(stretches.starts):
            if first < end and following > start:
                yield Window(first, following)

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch, and the tick before it: the window that ends there changes too."""
        return start - 1, end

    def unborn(self, stretches: Stretches) -> int:
        """Return the last start, which has no next one yet."""
        return stretches.starts[-1] if stretches.starts else INFINITY
