"""The lives of a key, which is forgotten when it is silent for some time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from muntin.axis import INFINITY
from muntin.events import Event
from muntin.windows.extent import Window


@dataclass(frozen=True, slots=True)
class Life:
    """The events of a key between two times of silence, evaluated as if they were all events of the key.

    Attributes:
        events: The events.
        end: The tick at which the life is over: windows are cut there, and a later event begins another life.
            `INFINITY` if an event has not ended, or keys are never forgotten.
    """

    events: Sequence[Event[object]]
    end: int = INFINITY

    def cut(self, windows: Iterable[Window]) -> list[Window]:
        """Cut windows at the end of the life; windows that start there or later are left out.

        Windows that become equal by the cut are returned once.

        Example:
            >>> Life([], 12).cut([Window(0, 10), Window(0, 20), Window(0, 30), Window(10, 20), Window(20, 30)])
            [Window(start=0, end=10), Window(start=0, end=12), Window(start=10, end=12)]
        """
        cut: set[Window] = set()
        for window in windows:
            if window.start < self.end:
                cut.add(Window(window.start, min(window.end, self.end)))
        return sorted(cut, key=lambda window: (window.start, window.end))


def lives_of(events: Iterable[Event[object]], age: int | None) -> list[Life]:
    """Return the lives of a key, in order.

    An event begins a new life if it starts more than an age after the last tick of all events that start before it.

    Args:
        events: The events of the key.
        age: The number of ticks for which a key may be silent before it is forgotten; None if it never is.

    Example:
        >>> [life.end for life in lives_of([Event(0, 1, "a"), Event(5, 6, "b"), Event(12, 13, "c")], 5)]
        [11, 18]
    """
    if age is None:
        return [Life(list(events))]
    lives: list[Life] = []
    for event in sorted(events, key=lambda event: event.start):
        end = INFINITY if event.end == INFINITY else event.end + age
        if lives and event.start < lives[-1].end:
            life = lives.pop()
            lives.append(Life([*life.events, event], max(life.end, end)))
        else:
            lives.append(Life([event], end))
    return lives
