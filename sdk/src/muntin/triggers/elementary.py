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
"""The state of a timer to which a member came before any reading of the clock: the first reading counts as its time."""


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
        """Add the counts; finished if the count was reached in a window that the new one replaces."""
        return FINISHED if FINISHED in states else sum(states)


def after_count(count: int) -> Trigger:
    """Return a trigger that fires once, when a window has got a number of new members.

    Members that left again count too. The members of one micro-batch come together: in a micro-batch that brings five,
    `after_count(2)` fires once.

    Raises:
        PolicyError: The count is below one.

    Example:
        >>> after_count(3)
        AfterCount(count=3)
    """
    return AfterCount(count)


def every_count(count: int) -> Trigger:
    """Return a trigger that fires each time a window has got a number of new members since the last firing.

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
    """Fires once, when the clock shows some time after a member came; made by `after` and `every`.

    Its state is the reading at which it fires, or None while no member came.

    Attributes:
        period: The period in microseconds.
        is_aligned: True to fire at the next multiple of the period, false to fire a whole period later.
    """

    name: ClassVar[str] = "timer"

    period: int
    is_aligned: bool = False

    def __post_init__(self) -> None:
        if self.period < 1:
            # The message has the period as it was written: as a bare number, or as a time.
            is_bare = isinstance(self.period, BareClockLength)
            period = self.period if is_bare else repr(spell_ticks(self.period))
            raise PolicyError(f"a timer needs a period above zero, got {period}")

    def __str__(self) -> str:
        """Spell the timer as `after('1 minute')`, with a word if it is aligned."""
        aligned = ", aligned" if self.is_aligned else ""
        return f"after({spell_ticks(self.period)!r}{aligned})"

    @property
    def reads_clock(self) -> bool:
        """True: the timer goes by the clock."""
        return True

    def step(self, state: int | None, window: Window, view: TriggerView) -> tuple[int | None, Decision]:
        """Set the timer at the first member, and fire when its time has come."""
        if state is None and not view.arrivals:
            return None, Decision.WAIT  # no member yet
        if state is not None and state != _UNKNOWN:
            # The timer is set: the state is the reading at which it fires.
            return state, Decision.FIRE_LAST if view.clock >= state else Decision.WAIT
        if view.clock == EARLIEST:
            return _UNKNOWN, Decision.WAIT  # there is a member, but no clock yet to set the timer by
        # This is the first step that has both a member and a reading.
        if self.is_aligned:
            return (view.clock // self.period + 1) * self.period, Decision.WAIT
        return view.clock + self.period, Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Keep the earliest reading at which to fire; the timer is finished if it was for all replaced windows."""
        waiting_states = [state for state in states if state is not FINISHED]
        if not waiting_states:
            return FINISHED
        states_with_members = [state for state in waiting_states if state is not None]
        readings = [state for state in states_with_members if state != _UNKNOWN]
        # A timer that is set counts before one that waits for a first reading, which would set it later.
        return min(readings or states_with_members, default=None)

    def next_clock(self, state: int | None, window: Window) -> int:
        """Return the reading at which the timer fires; the least reading if the timer still waits for the first one."""
        if state is None:
            return INFINITY  # no member has come, so there is nothing to wait for
        # Any reading at all sets a timer that waits for its first one.
        return EARLIEST + 1 if state == _UNKNOWN else state


def after(delay: Duration) -> Trigger:
    """Return a trigger that fires once, a delay after the window got its first member since the trigger started.

    The clock is the one that the input brings, never that of the machine: see `TriggerView.clock`.

    Raises:
        DurationError: The delay cannot be read.
        PolicyError: The delay is not above zero.

    Example:
        >>> after("30 seconds")
        Timer(period=30000000, is_aligned=False)
    """
    return Timer(clock_ticks(delay))


def every(period: Duration) -> Trigger:
    """Return a trigger that fires at each full period of the clock, for each window with members since it last fired.

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


class OneShotTrigger(Trigger):
    """Fires once, when a condition is met; it keeps no state."""

    __slots__ = ()

    @abstractmethod
    def is_met(self, window: Window, view: TriggerView) -> bool:
        """Return True if it fires."""

    def step(self, state: None, window: Window, view: TriggerView) -> tuple[None, Decision]:
        """Fire if the condition is met."""
        return None, Decision.FIRE_LAST if self.is_met(window, view) else Decision.WAIT

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Return the state: finished if the condition was met in a window that the new one replaces."""
        return FINISHED if FINISHED in states else None


@dataclass(frozen=True, slots=True)
class Past(OneShotTrigger):
    """Fires once, when the max event time has reached a place of the window; made by `past_end` and `past_part`.

    Attributes:
        part: The place as a share of the window's extent: 0 is its start, 1 its end.
        delay: The number of ticks after the end; 0 for another place.
    """

    name: ClassVar[str] = "past"

    part: float = 1.0
    delay: int = 0

    def __post_init__(self) -> None:
        part: object = self.part  # at run time a caller may give a value of any type
        if not isinstance(part, int | float) or not 0 <= part <= 1:
            raise PolicyError(
                f"a part of a window lies between 0 and 1, got {self.part!r}\n  half of a window is past_part(0.5)"
            )
        # No call makes such a trigger, so its text would be that of another one.
        if self.part != 1 and self.delay:
            delay = spell_as_written(self.delay)
            raise PolicyError(
                f"only the end of a window has a delay, got delay={delay} after the part {self.part!r}\n"
                f"  use past_part({self.part!r}), or past_end({delay})"
            )

    def __str__(self) -> str:
        """Spell the trigger as the call that makes it; only the end of a window has a delay."""
        if self.part != 1:
            return f"past_part({self.part})"
        delay = spell_as_written(self.delay) if self.delay else ""
        return f"past_end({delay})"

    def is_met(self, window: Window, view: TriggerView) -> bool:
        """Return True if the max event time has reached the place in the window."""
        return view.max_event_time >= self.next_event_time(None, window)

    def merge(self, states: Sequence[Any], window: Window) -> None:
        """Return None: wait for the place in the new window, even if that in a replaced window was reached.

        Beam and Flink do the same.
        """

    def next_event_time(self, state: None, window: Window) -> int:
        """Return the tick of the place in the window, with the delay."""
        if window.end == INFINITY and self.part > 0:
            return INFINITY  # a part of a window without an end is never reached
        place = window.end if self.part == 1 else window.start + round(self.part * window.duration)
        return min(place + self.delay, INFINITY)


def past_end(delay: Duration = 0) -> Trigger:
    """Return a trigger that fires once, when the max event time has reached a window's end.

    The max event time is the newest start seen where that is ahead of the watermark. So with a delay of the input, or
    an id that lets events be revised, the window is usually still open: this is Beam's and Flink's on-time result.

    Args:
        delay: The time after the end of the window; a negative one is a time before the end.

    Raises:
        DurationError: The delay cannot be read.

    Example:
        >>> print(past_end("1 second"))
        past_end('1 second')
    """
    return Past(delay=ticks(delay))


def past_part(part: float) -> Trigger:
    """Return a trigger that fires once, when the max event time has passed a part of a window's extent.

    The max event time is that of the whole input; `percentile` looks at the window's own members.

    Raises:
        PolicyError: The part does not lie between 0 and 1.

    Example:
        >>> past_part(0.5).step(None, Window(0, 60), TriggerView(max_event_time=30))
        (None, <Decision.FIRE_LAST: 'fire last'>)
    """
    return Past(part)


@dataclass(frozen=True, slots=True)
class Percentile(OneShotTrigger):
    """Fires once, when a member starts in the last part of the window; made by `percentile`."""

    name: ClassVar[str] = "percentile"

    part: float

    def __post_init__(self) -> None:
        part: object = self.part  # at run time a caller may give a value of any type
        if not isinstance(part, int | float) or not 0 < part < 1:
            raise PolicyError(
                f"a percentile of a window's extent lies between 0 and 1, got {self.part!r}\n"
                "  half of the extent is percentile(0.5); its end is past_end()"
            )

    def is_met(self, window: Window, view: TriggerView) -> bool:
        """Return True if the newest of the new members starts in the last part of the window."""
        # Without a new member there is no start; a window without an end has no last part.
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
class OnSignal(OneShotTrigger):
    """Fires once, when a signal comes; made by `on_signal`."""

    name: ClassVar[str] = "on_signal"

    signal: str

    @property
    def signals(self) -> frozenset[str]:
        """The signal that it waits for."""
        return frozenset({self.signal})

    def is_met(self, window: Window, view: TriggerView) -> bool:
        """Return True if the signal came in the micro-batch."""
        return self.signal in view.signals


def on_signal(signal: str) -> Trigger:
    """Return a trigger that fires once, when the input brings a signal of that name.

    A signal is a row of the input with `change = 'signal'`. It reaches every window, of every key, that is open after
    its micro-batch, also the windows that this micro-batch opens.

    Example:
        >>> on_signal("end of day").step(None, Window(0, 60), TriggerView(signals=frozenset({"end of day"})))
        (None, <Decision.FIRE_LAST: 'fire last'>)
    """
    return OnSignal(signal)


@dataclass(frozen=True, slots=True)
class When(OneShotTrigger):
    """Fires once, when a condition is true of a new member; made by `when`."""

    name: ClassVar[str] = "when"

    condition: str

    def __post_init__(self) -> None:
        condition: object = self.condition  # at run time a caller may give a value of any type
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
        """Return True if the condition is true of a new member; null is not true."""
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
class Reaches(OneShotTrigger):
    """Fires once, when a member comes or leaves and a result is then at a limit or above; made by `reaches`."""

    name: ClassVar[str] = "reaches"

    result: str
    limit: float

    def __post_init__(self) -> None:
        result: object = self.result  # at run time a caller may give values of any type
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
        """Return True if members changed the result in this micro-batch, and it is at the limit or above."""
        # A trigger must not fire by a result in a micro-batch that changes no members: it sleeps until it is woken.
        if not view.arrivals and not view.departures:
            return False
        value = view.results[self.result]
        return value is not None and value >= self.limit


def reaches(result: str, limit: float) -> Trigger:
    """Return a trigger that fires once, when a result of the window has reached a limit.

    The result is looked at in the micro-batches in which a member comes or leaves. A revision that only changes the end
    of a member is noticed in the next such micro-batch.

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
