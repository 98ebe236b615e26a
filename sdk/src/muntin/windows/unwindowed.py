"""No windows: each event counts by itself, and results have lifetimes of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from muntin.axis import Axis
from muntin.windows.specification import WindowSpecification


@dataclass(frozen=True, slots=True)
class Unwindowed(WindowSpecification):
    """The specification of a query that has no windows, such as one that applies a stream operator or joins streams.

    It takes the place of windows in plans and checkpoints, and nobody writes it: the calls of an event stream that need
    no windows do. Results have a column `lifetime` and none with the name `window`.
    """

    name: ClassVar[str] = "unwindowed"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "a stream without windows"
    waits_for_events: ClassVar[bool] = False

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the calls that make a query without windows."""
        del reach, axis
        return "events(...).apply(module(...)), without .window(...)"

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return words, as no call makes it."""
        del axis
        return "no windows"
