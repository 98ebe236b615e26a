"""Triggers that fire once: after members, by a clock, at a place of the window, on a signal or a condition."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from muntin.axis import EARLIEST, INFINITY, BareClockLength, Duration, clock_ticks, spell_as_written, spell_ticks, ticks
from muntin.errors import PolicyError
from muntin.errors.safe_text import safe_repr
from muntin.triggers.composed import Repeat
from muntin.triggers.trigger import FINISHED, Decision, Trigger, TriggerView
from muntin.windows.extent import Window

_UNKNOWN = EARLIEST
"""The state after a member came while no clock had been read; the first reading then counts as its time."""


@dataclass(frozen=True, slots=True)
class AfterCount(Trigger):
    """Fires once, when a number of members have come; made by `after_count`."""

    name: ClassVar[str] = "after_count"

    count: int

    def __post_init__(self) -> None:
        if type(self.count) is not int or self.count < 1:
            raise PolicyError(f"a trigger fires after one member or more, got {self.count!r}")

    def create_state(self, window: Window) -> int:
        """Start the count of new members at zero."""
        return 0

    def step(self, state: int, window: Window, view: TriggerView) -> tuple[int, Decision]:
        """Count the new members, and fire at the count."""
        count = state + view.arrivals
        return count, Decision.FIRE_LAST if count >= self.count else Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Add the counts; one that was reached in a part of the window is reached."""
        return FINISHED if FINISHED in states else sum(states)


def after_count(count: int) -> Trigger:
    """Return a trigger that fires once, when a window has got a number of new members.

    Members that left again count too. Members of one micro-batch come together: `after_count(2)` in one that
    brings five fires once.

    Raises:
        PolicyError: The count is below one.

    Example:
        >>> after_count(3)
        AfterCount(count=3)
    """
    return AfterCount(count)


def every_count(count: int) -> Trigger:
    """Return a trigger that fires each time a window has got a number of members more.

    Counting starts anew with each firing.

    Raises:
        PolicyError: The count is below one.

    Example:
        >>> print(every_count(100))
        repeat(after_count(100))
    """
    return Repeat(AfterCount(count))


@dataclass(frozen=True, slots=True)
class Timer(Trigger):
    """Fires once, some time of the clock after a member came; made by `after` and `every`.

    Its state is the reading at which it fires, or None while no member came.

    Attributes:
        period: The period in microseconds.
        is_aligned: True if it fires at the next multiple of the period, false if a whole period later.
    """

    name: ClassVar[str] = "timer"

    period: int
    is_aligned: bool = False

    def __post_init__(self) -> None:
        if self.period < 1:
            is_bare = isinstance(self.period, BareClockLength)
            period = self.period if is_bare else repr(spell_ticks(self.period))
            raise PolicyError(f"a timer needs a period above zero, got {period}")

    def __str__(self) -> str:
        return f"after({spell_ticks(self.period)!r}{', aligned' if self.is_aligned else ''})"

    @property
    def reads_clock(self) -> bool:
        """True: time is that of the clock."""
        return True

    def step(self, state: int | None, window: Window, view: TriggerView) -> tuple[int | None, Decision]:
        """Set the timer at the first member, and fire when its time has come."""
        # Three states: no member yet, a member but no clock to set the timer by, and the reading at which it fires.
        if state is None and not view.arrivals:
            return None, Decision.WAIT
        if state is not None and state != _UNKNOWN:
            return state, Decision.FIRE_LAST if view.clock >= state else Decision.WAIT
        if view.clock == EARLIEST:
            return _UNKNOWN, Decision.WAIT
        # The timer is set at the first step in which both a member and a reading are there.
        if self.is_aligned:
            return (view.clock // self.period + 1) * self.period, Decision.WAIT
        return view.clock + self.period, Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Keep the earliest reading; it is finished if it was for all parts of the window."""
        waiting = [state for state in states if state is not FINISHED]
        if not waiting:
            return FINISHED
        # A reading beats the unknown one, as it may come sooner than the next reading.
        with_members = [state for state in waiting if state is not None]
        readings = [state for state in with_members if state != _UNKNOWN]
        return min(readings or with_members, default=None)

    def next_clock(self, state: int | None, window: Window) -> int:
        """Return the reading at which it fires."""
        if state is None:
            return INFINITY
        # Any reading at all sets the timer.
        return EARLIEST + 1 if state == _UNKNOWN else state


def after(delay: Duration) -> Trigger:
    """Return a trigger that fires once, a delay after the window got its first member since the trigger started.

    Time is that of the clock which the input brings, never of the machine: see `TriggerView.clock`.

    Raises:
        DurationError: The delay cannot be read.
        PolicyError: The delay is not above zero.

    Example:
        >>> after("30 seconds")
        Timer(period=30000000, is_aligned=False)
    """
    return Timer(clock_ticks(delay))


def every(period: Duration) -> Trigger:
    """Return a trigger that fires at each full period of the clock, for each window that got members since.

    With `"1 minute"` all windows fire together, on the minute. The result with members that came at a reading of
    12:00:10 is emitted by the first micro-batch whose reading is 12:01 or later.

    Raises:
        DurationError: The period cannot be read.
        PolicyError: The period is not above zero.

    Example:
        >>> print(every("1 minute"))
        repeat(after('1 minute', aligned))
    """
    return Repeat(Timer(clock_ticks(period), is_aligned=True))


class Once(Trigger):
    """Fires once, when a condition is met; it keeps no state."""

    __slots__ = ()

    @abstractmethod
    def is_met(self, window: Window, view: TriggerView) -> bool:
        """Return True if it fires."""

    def step(self, state: None, window: Window, view: TriggerView) -> tuple[None, Decision]:
        """Fire if the condition is met."""
        return None, Decision.FIRE_LAST if self.is_met(window, view) else Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Be finished if the condition was met for a part of the window."""
        return FINISHED if FINISHED in states else None


@dataclass(frozen=True, slots=True)
class Past(Once):
    """Fires once, when the max event time has reached a place of the window; made by `past_end` and `past_part`.

    Attributes:
        part: The place as a share of the window's extent: 0 is its start, 1 its end.
        delay: The number of ticks after that.
    """

    name: ClassVar[str] = "past"

    part: float = 1.0
    delay: int = 0

    def __post_init__(self) -> None:
        part: object = self.part  # nothing keeps a caller from giving what the annotation does not allow
        if not isinstance(part, int | float) or not 0 <= part <= 1:
            raise PolicyError(
                f"a part of a window lies between 0 and 1, got {self.part!r}\n  half of a window is past_part(0.5)"
            )

    def __str__(self) -> str:
        delay = spell_as_written(self.delay) if self.delay else ""
        return f"past_end({delay})" if self.part == 1 else f"past_part({self.part})"

    def is_met(self, window: Window, view: TriggerView) -> bool:
        """Compare the max event time with the place."""
        return view.max_event_time >= self.next_event_time(None, window)

    def merge(self, states: Sequence[Any], window: Window) -> None:
        """Wait for the place of the new window, as Beam and Flink do, also where that of a part was reached."""

    def next_event_time(self, state: None, window: Window) -> int:
        """Return the place."""
        if window.end == INFINITY and self.part > 0:
            return INFINITY
        place = window.end if self.part == 1 else window.start + round(self.part * window.duration)
        return min(place + self.delay, INFINITY)


def past_end(delay: Duration = 0) -> Trigger:
    """Return a trigger that fires once, when the max event time has reached a window's end.

    The max event time is the newest start seen where that is ahead of the watermark. So with a delay of the input, or
    an id that lets events be revised, the window is usually still open: this is Beam's and Flink's on-time result.

    Args:
        delay: The time after the end; a negative number of ticks is before it.

    Raises:
        DurationError: The delay cannot be read.

    Example:
        >>> print(past_end("1 second"))
        past_end('1 second')
    """
    return Past(delay=ticks(delay))


def past_part(part: float) -> Trigger:
    """Return a trigger that fires once, when the max event time has passed a part of a window's extent.

    It looks at the whole input; `percentile` looks at the window's own members.

    Raises:
        PolicyError: The part does not lie between 0 and 1.

    Example:
        >>> past_part(0.5).step(None, Window(0, 60), TriggerView(max_event_time=30))
        (None, <Decision.FIRE_LAST: 'fire last'>)
    """
    return Past(part)


@dataclass(frozen=True, slots=True)
class Percentile(Once):
    """Fires once, when a member starts in the last part of the window; made by `percentile`."""

    name: ClassVar[str] = "percentile"

    part: float

    def __post_init__(self) -> None:
        part: object = self.part
        if not isinstance(part, int | float) or not 0 < part < 1:
            raise PolicyError(
                f"a percentile of a window's extent lies between 0 and 1, got {self.part!r}\n"
                "  half of the extent is percentile(0.5); its end is past_end()"
            )

    def is_met(self, window: Window, view: TriggerView) -> bool:
        """Compare the newest member with the place."""
        if view.newest == EARLIEST or window.end == INFINITY:
            return False
        return view.newest - window.start >= self.part * window.duration


def percentile(part: float) -> Trigger:
    """Return a trigger that fires once, when a new member starts at `start + part * (end - start)` or later.

    Raises:
        PolicyError: The part is not between 0 and 1.

    Example:
        >>> percentile(0.25).step(None, Window(0, 60), TriggerView(arrivals=1, newest=15))
        (None, <Decision.FIRE_LAST: 'fire last'>)
    """
    return Percentile(part)


@dataclass(frozen=True, slots=True)
class OnSignal(Once):
    """Fires once, when a signal comes; made by `on_signal`."""

    name: ClassVar[str] = "on_signal"

    signal: str

    @property
    def signals(self) -> frozenset[str]:
        """The signal that it waits for."""
        return frozenset({self.signal})

    def is_met(self, window: Window, view: TriggerView) -> bool:
        """Look for the signal."""
        return self.signal in view.signals


def on_signal(signal: str) -> Trigger:
    """Return a trigger that fires once, when the input brings a signal of that name.

    A signal is a row of the input that says `change = 'signal'`. It reaches every window of every key that is open
    after its micro-batch, also those that the same micro-batch opens.

    Example:
        >>> on_signal("end of day").step(None, Window(0, 60), TriggerView(signals=frozenset({"end of day"})))
        (None, <Decision.FIRE_LAST: 'fire last'>)
    """
    return OnSignal(signal)


@dataclass(frozen=True, slots=True)
class When(Once):
    """Fires once, when a condition is true of a new member; made by `when`."""

    name: ClassVar[str] = "when"

    condition: str

    def __post_init__(self) -> None:
        condition: object = self.condition
        if not isinstance(condition, str) or not condition:
            raise PolicyError(
                f"when() takes a condition on columns as text, got {safe_repr(self.condition)}\n"
                "  for example when(\"kind = 'end'\")"
            )

    @property
    def reads(self) -> tuple[str, ...]:
        """The condition."""
        return (self.condition,)

    def is_met(self, window: Window, view: TriggerView) -> bool:
        """Look for a new member of which the condition is true; null is not."""
        return any(view.values[self.condition])


def conditions_of(trigger: Trigger) -> list[str]:
    """Return the conditions in a trigger, at any depth."""
    conditions = [trigger.condition] if isinstance(trigger, When) else []
    for part in trigger.parts:
        conditions += conditions_of(part)
    return conditions


def when(condition: str) -> Trigger:
    """Return a trigger that fires once, when a condition is true of a new member of the window.

    Args:
        condition: An SQL expression over the columns of the input, whether modules read them or not, for example
            `"kind = 'settlement'"`. Spark computes it for each row.

    Raises:
        PolicyError: The condition is not a text, or empty.

    Example:
        >>> from muntin.triggers import repeat
        >>> print(repeat(when("price > 100")))
        repeat(when('price > 100'))
    """
    return When(condition)


@dataclass(frozen=True, slots=True)
class Reaches(Once):
    """Fires once, when a member comes or leaves and a result is then at a limit or above; made by `reaches`."""

    name: ClassVar[str] = "reaches"

    result: str
    limit: float

    def __post_init__(self) -> None:
        result: object = self.result
        limit: object = self.limit
        if not isinstance(result, str) or not isinstance(limit, int | float):
            raise PolicyError(
                "reaches() takes the name of a result and a number, got "
                f"{safe_repr(self.result)} and {safe_repr(self.limit)}\n  for example reaches('total', 100)"
            )

    @property
    def reads_results(self) -> tuple[str, ...]:
        """The result."""
        return (self.result,)

    def is_met(self, window: Window, view: TriggerView) -> bool:
        """Compare the result with the limit, where members have changed it; null has not reached it."""
        value = view.results[self.result] if view.arrivals or view.departures else None
        return value is not None and value >= self.limit


def reaches(result: str, limit: float) -> Trigger:
    """Return a trigger that fires once, when a result of the window has reached a limit.

    It looks at the result in the micro-batches in which a member comes or leaves. A revision that changes the end of a
    member alone is seen with the next of these.

    Args:
        result: The name of the result's column, as `aggregate(...)` names it.
        limit: The limit; a result at it or above has reached it.

    Raises:
        PolicyError: The name is not a text, or the limit is not a number.

    Example:
        >>> reaches("total", 100).step(None, Window(0, 60), TriggerView(arrivals=1, results={"total": 120.0}))
        (None, <Decision.FIRE_LAST: 'fire last'>)
    """
    return Reaches(result, limit)
