"""Progress policies as users write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from muntin.progress import ProgressPolicy, SourceProgress


@dataclass(frozen=True, slots=True)
class Guarded(ProgressPolicy):
    """A delay that rows from the far future do not move beyond the clock."""

    delay: int

    def watermark(self, seen: SourceProgress) -> int:
        if seen.clock is None:
            return seen.newest - self.delay
        return min(seen.newest, seen.clock) - self.delay

    def describe(self, spell: Callable[[int], str]) -> str:
        return f"{spell(self.delay)} behind the newest start, or behind the clock"


@dataclass(frozen=True)
class Elapsing(ProgressPolicy):
    """A delay that goes on with the clock while no rows come, as the clocks of Bytewax do."""

    wait: int

    def watermark(self, seen: SourceProgress) -> int:
        silence = 0
        if seen.clock is not None and seen.last_heard is not None:
            silence = seen.clock - seen.last_heard
        return seen.newest - self.wait + silence

    def describe(self, spell: Callable[[int], str]) -> str:
        return f"{spell(self.wait)} behind the newest start, and on with the clock"


@dataclass(frozen=True)
class Outvoted(ProgressPolicy):
    """A delay behind the middle one of the newest starts: some rows with a wrong clock do not move it."""

    delay: int
    of: int = 5

    @property
    def starts_kept(self) -> int:
        return self.of

    def watermark(self, seen: SourceProgress) -> int | None:
        if len(seen.latest) < self.of:
            return None
        return seen.latest[self.of // 2] - self.delay

    def describe(self, spell: Callable[[int], str]) -> str:
        return f"{spell(self.delay)} behind the middle one of the {self.of} newest starts"
