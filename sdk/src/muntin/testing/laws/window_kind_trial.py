"""One attempt to break a law of a kind of windows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count, islice, takewhile
from typing import Any, Final

from hypothesis import strategies as st

from muntin.axis import INFINITY
from muntin.drawings import Bar
from muntin.testing.laws.law import Law
from muntin.testing.laws.trial import Trial
from muntin.windows import Periods, Stretches, WindowKind
from muntin.windows.extent import Window
from muntin.windows.regular import RegularWindows

MOST_WINDOWS: Final = 20_000
"""A cut with more windows than this is taken for one that never ends."""

Lifetime = tuple[int, int]


class WindowKindTrial(Trial):
    """Draws events of one key, and what becomes of them after a watermark.

    Attributes:
        kind: The windows.
        scale: The number of ticks in a step.
    """

    def __init__(self, law: Law, kind: WindowKind, scale: int, data: object) -> None:
        """Prepare an attempt."""
        super().__init__(law, f"{kind.name} {kind.version}", 0.0, data)
        self._given = kind
        self.kind = self.another()
        self.scale = scale
        self._numbers = count(1_000)  # of events that come later; those that are forgotten keep theirs
        self.first = -60 * scale
        self.last = 160 * scale

    def another(self) -> WindowKind:
        """Return a fresh copy of the windows, without anything cached."""
        given: Any = self._given
        kind: WindowKind = replace(given)
        return kind

    def tick(self) -> int:
        """Draw a tick near the events."""
        return self.draw(st.integers(-15, 60)) * self.scale + self._near()

    def lifetime(self) -> Lifetime:
        """Draw the lifetime of an event."""
        start = self.draw(st.integers(-10, 40)) * self.scale + self._near()
        length = self.draw(st.sampled_from([1, 1, 2, 5, 9, 20, None]))
        event = (start, INFINITY if length is None else start + max(1, length * self.scale + self._near()))
        self.stream.append(Bar("event", *event))
        return event

    def history(self) -> list[Lifetime]:
        """Draw the events that are known."""
        return [self.lifetime() for _ in range(self.draw(st.integers(0, 7)))]

    def continued(self) -> tuple[list[Lifetime], int, list[Lifetime]]:
        """Draw events, a watermark, and what the events are some time after it."""
        history, watermark = self.history(), self.tick()
        return history, watermark, list(self.later(dict(enumerate(history)), watermark).values())

    def later(self, events: Mapping[int, Lifetime], watermark: int) -> dict[int, Lifetime]:
        """Draw what a legal stream may make of events after a watermark: changes at the watermark or later."""
        self.stream.append(f"watermark {watermark}")
        changed = dict(events)
        for id, (start, end) in events.items():
            what = self.draw(st.sampled_from(["stays", "stays", "ends", "goes"]))
            if what == "goes" and start >= watermark:
                del changed[id]
                self.stream.append(Bar("goes", start, end))
            elif what == "ends" and end >= watermark:
                least = max(watermark, start + 1)
                new_end = self.draw(
                    st.sampled_from([least, least + self.draw(st.integers(0, 20)) * self.scale, INFINITY])
                )
                changed[id] = (start, new_end)
                self.stream.append(Bar("ends", start, new_end))
        for _ in range(self.draw(st.integers(0, 3))):
            start = watermark + self.draw(st.integers(0, 20)) * self.scale + abs(self._near())
            length = self.draw(st.sampled_from([1, 2, 9, None]))
            changed[next(self._numbers)] = event = (start, INFINITY if length is None else start + length * self.scale)
            self.stream.append(Bar("comes", *event))
        return changed

    def limit(self, watermark: int) -> int:
        """Return up to where windows have ended at a watermark."""
        return watermark - 1 if self.kind.ends_move else watermark

    def stretch(self, event: Lifetime) -> Lifetime:
        """Return the stretch on which an event counts."""
        since, until = self.ask("membership", *event)
        return since, until

    def members(self, events: Iterable[Lifetime]) -> list[Lifetime]:
        """Return the stretches of the events that count somewhere."""
        return [stretch for stretch in map(self.stretch, events) if stretch[0] < stretch[1]]

    def stretches(self, events: Iterable[Lifetime]) -> Stretches:
        """Return the stretches of some events, none of which was forgotten."""
        return Stretches(self.members(events))

    def cut(
        self, known: Stretches, start: int | None = None, end: int | None = None, kind: WindowKind | None = None
    ) -> list[Window]:
        """Return the windows on a part of the axis, by default on all of it that may have events."""
        asked = self.kind if kind is None else kind
        last = INFINITY if asked.waits_for_events else self.last
        try:
            cut = asked.cut(known, self.first if start is None else start, last if end is None else end)
            windows = list(islice(cut, MOST_WINDOWS))
        except Exception as error:
            raise self.broken(f"cut raised {type(error).__name__}: {error}") from error
        self.expect(len(windows) < MOST_WINDOWS, lambda: f"cut yields {MOST_WINDOWS} windows and more: {windows[:3]}")
        return windows

    def windows_of(self, known: Stretches, event: Lifetime) -> list[Window]:
        """Return the windows of an event, as far as the axis may have events."""
        last = INFINITY if self.kind.waits_for_events else self.last
        try:
            return list(islice(takewhile(lambda w: w.start < last, self.kind.windows_of(known, *event)), MOST_WINDOWS))
        except Exception as error:
            raise self.broken(f"windows_of raised {type(error).__name__}: {error}") from error

    def with_members(self, events: Collection[Lifetime], known: Stretches | None = None) -> list[Window]:
        """Return the windows that have a member."""
        members = self.members(events)
        windows = self.cut(self.stretches(events) if known is None else known)
        return [w for w in windows if any(start < w.end and end > w.start for start, end in members)]

    def windows_on(self, grid: RegularWindows) -> list[Window]:
        """Return the windows of a grid on the part of the axis that may have events; where periods are, some empty."""
        periods, ends = grid.periods, (self.first, self.last)
        first, last = ends if periods is None else (self.number_at(periods, tick) for tick in ends)
        first = (first - grid.size - grid.offset) // grid.hop * grid.hop + grid.offset
        windows = [Window(start, start + grid.size) for start in range(first, last + 1, grid.hop)]
        if periods is not None:
            windows = [Window(*(self.begins(periods, number) for number in (w.start, w.end))) for w in windows]
        return [window for window in windows if window.start < self.last]

    def number_at(self, periods: Periods, tick: int) -> int:
        """Return the number of the period of a tick, which has to lie in it."""
        number: int = self._asked(periods, "number_at", tick)
        begins, ends = self.begins(periods, number), self.begins(periods, number + 1)
        self.expect(begins <= tick < ends, lambda: f"number_at({tick}) is {number}, the period [{begins}, {ends})")
        return number

    def begins(self, periods: Periods, number: int) -> int:
        """Return the start of a period."""
        found: int = self._asked(periods, "begins", number)
        return found

    def expect_equal(self, left: str, some: Sequence[Window], right: str, others: Sequence[Window]) -> None:
        """Raise unless two lists of windows are equal."""
        self.expect(list(some) == list(others), lambda: f"{left}: {_told(some)}\n{right}: {_told(others)}")

    def ask(self, method: str, *arguments: object) -> Any:
        """Call a method of the kind; an exception breaks the law."""
        __tracebackhide__ = True
        return self._asked(self.kind, method, *arguments)

    def _asked(self, asked: object, method: str, *arguments: object) -> Any:
        __tracebackhide__ = True
        try:
            return getattr(asked, method)(*arguments)
        except Exception as error:
            raise self.broken(f"{method} raised {type(error).__name__}: {error}") from error

    def _near(self) -> int:
        return self.draw(st.sampled_from([0, 0, -1, 1])) if self.scale > 1 else 0


def _told(windows: Sequence[Window]) -> str:
    return ", ".join(f"[{window.start}, {window.end})" for window in windows) or "no windows"
