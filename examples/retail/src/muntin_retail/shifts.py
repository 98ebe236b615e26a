"""Day and night shifts: windows that do not depend on events, and form no regular grid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from muntin import Window
from muntin.errors import WindowError
from muntin.windows import Stretches, WindowKind


@dataclass(frozen=True, slots=True)
class Shifts(WindowKind):
    """Windows of two lengths in turn, the first of which starts at tick 0."""

    name: ClassVar[str] = "retail.shifts"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "shifts"
    lengths: ClassVar[tuple[str, ...]] = ("day", "night")
    waits_for_events: ClassVar[bool] = False

    day: int
    night: int

    def __post_init__(self) -> None:
        if self.day <= 0 or self.night <= 0:
            raise WindowError(f"a shift needs a length above zero, got {self.day} and {self.night}")

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the shifts over a stretch."""
        period = self.day + self.night
        morning = start // period * period
        while morning < end:
            evening = morning + self.day
            for shift in (Window(morning, evening), Window(evening, morning + period)):
                if shift.start < end and shift.end > start:
                    yield shift
            morning += period
