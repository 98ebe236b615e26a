"""Session windows: from the first event after a silence to the next silence."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from muntin.axis import EARLIEST, INFINITY, Axis, Duration, spell_as_written, ticks
from muntin.errors import WindowError
from muntin.windows.extent import Window
from muntin.windows.kind import WindowKind
from muntin.windows.stretches import Stretches


@dataclass(frozen=True, slots=True)
class SessionWindows(WindowKind):
    """A window over events that follow each other within a gap; it ends a gap after their last tick.

    An event belongs to the session before it if it starts at most `gap` ticks after the last tick of an earlier event
    of that session. Of point events these are the windows of Spark's `session_window(ts, gap)`: an event at `t` covers
    `[t, t + gap)`, and stretches that overlap or touch are one session. An event that lasts covers its lifetime and
    the gap after its last tick; a session with an event that has not ended has no end yet.

    The field is the argument of `session`, in ticks.
    """

    name: ClassVar[str] = "session"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "session windows"
    lengths: ClassVar[tuple[str, ...]] = ("gap",)
    ends_move: ClassVar[bool] = True
    can_be_time_bound: ClassVar[bool] = True

    gap: int

    def __post_init__(self) -> None:
        if self.gap <= 0:
            raise WindowError(f"a session window needs a gap above zero, got {spell_as_written(self.gap)}")

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, prolonged to a gap after its last tick."""
        if end == INFINITY:
            return start, INFINITY
        return start, end - 1 + self.gap

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the sessions that share a tick with `[start, end)`: the connected parts that the stretches cover."""
        sessions = stretches.covered
        # The last session that starts at `start` or before may last beyond `start`.
        first_index = max(0, bisect_right(sessions, (start, INFINITY)) - 1)
        for index in range(first_index, len(sessions)):
            session_start, session_end = sessions[index]
            if session_start >= end:
                return
            if session_end > start:
                yield Window(session_start, session_end)

    def affected_stretch(self, start: int, end: int) -> tuple[int, int]:
        """Return the stretch and a tick on each side: it joins the sessions that it touches."""
        return start - 1, min(end + 1, INFINITY)

    def successor(self, window: Window, since: int) -> tuple[int, int] | None:
        """Return all ticks up to `since`: sessions do not overlap, so the one that holds `since` takes its place."""
        return EARLIEST, since

    def fuses_within(self) -> int:
        """Return the gap."""
        return self.gap

    @property
    def reach(self) -> int:
        """The gap: an event that starts within it after another one has ended is in the same session."""
        return self.gap

    @property
    def holds_past(self) -> int:
        """The gap."""
        return self.gap

    def with_reach(self, reach: int) -> SessionWindows:
        """Return sessions whose gap is at least the reach."""
        return SessionWindows(max(self.gap, reach))

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the call for sessions with a gap as long as the reach."""
        return cls(max(1, axis.round_up(reach))).spell(axis)

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return `session` and its gap, which `session()` leaves out."""
        return self.name, {} if self.gap == 1 else {"gap": self.gap}

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `session`."""
        return "session()" if self.gap == 1 else f"session({self.spell_field('gap', axis)})"


def session(gap: Duration | None = None) -> SessionWindows:
    """Return windows that end when nothing happens for a gap.

    A point event at `t` covers `[t, t + gap)`, and an event `[start, end)` covers `[start, end - 1 + gap)`; events
    whose stretches overlap or touch are one session. So two events exactly a gap apart are in one session, as in Spark,
    Flink and Kafka Streams. A session may still change while the watermark is at its end, because an event there
    belongs to it: an insertion may extend a session or join two, and a retraction may shorten or split one. A session
    with an event that has not ended has no end; samples, each of which lasts until the next, are one session.

    Three events, and the windows that `session(3)` makes of them, with the number of members:

    ```text
             1         11
    event a  [----)
    event b     [----)
    event c             [-)
    window   [---------)        2
    window              [---)   1
    ```

    Args:
        gap: The silence after which the session of a key ends, for example `"30 minutes"`. Without a gap, events that
            overlap or touch are one session. To give each event a gap of its own, make the gap a part of its lifetime:
            `events(..., start="at", end=F.expr("at + gap"))`.

    Raises:
        WindowError: The gap is not positive.

    Example:
        >>> session("30 minutes"), session()
        (SessionWindows(gap=1800000000), SessionWindows(gap=1))
        >>> from muntin.windows import Stretches
        >>> windows = session(5)
        >>> for second in (15, 16):
        ...     stretches = Stretches([windows.membership(10, 11), windows.membership(second, second + 1)])
        ...     print([(window.start, window.end) for window in windows.cut(stretches, 0, 100)])
        [(10, 20)]
        [(10, 15), (16, 21)]
    """
    return SessionWindows(1 if gap is None else ticks(gap))
