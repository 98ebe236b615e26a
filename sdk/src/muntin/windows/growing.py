"""Windows that share a start and grow by a step: up to a size, or for as long as the stream lasts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, ClassVar

from muntin.axis import (
    EARLIEST,
    INFINITY,
    Axis,
    Duration,
    TimeLength,
    instant,
    offset_ticks,
    spell_as_written,
    ticks,
)
from muntin.errors import WindowError
from muntin.windows.extent import Window
from muntin.windows.grid import last_multiple
from muntin.windows.kind import WindowKind
from muntin.windows.regular import GrowingSteps
from muntin.windows.stretches import Stretches


@dataclass(frozen=True, slots=True)
class CumulateWindows(WindowKind):
    """Windows that start together and end a step apart, up to a size; then the next ones start.

    With a size of a day and a step of an hour there are a window from midnight to one o'clock, one from midnight to
    two, and so on, and the last one is the day. The stretch from the common start of such windows to the next one is
    their *period*. `cut` has to yield windows with ascending starts, so it yields the last step of each window, in
    which no other window of the period ends; an event counts up to the end of its period.

    The fields are the arguments of `cumulate`, in ticks.
    """

    name: ClassVar[str] = "cumulate"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "cumulating windows"
    lengths: ClassVar[tuple[str, ...]] = ("size", "step", "offset")
    waits_for_events: ClassVar[bool] = False

    size: int
    step: int
    offset: int = 0

    def __post_init__(self) -> None:
        """Refuse a step that is not above zero, and a size that is not a multiple of it."""
        if self.step <= 0 or self.size < self.step or self.size % self.step:
            size = spell_as_written(self.size)
            step = spell_as_written(self.step)
            message = (
                "cumulating windows need a step above zero and a size that is a multiple of it, "
                f"got the size {size} and the step {step}"
            )
            # In Flink's CUMULATE the step comes first: perhaps the arguments are right the other way round.
            is_swapped = 0 < self.size < self.step and self.step % self.size == 0
            if is_swapped:
                offset = f", {spell_as_written(self.offset)}" if self.offset else ""
                message += f"\n  the size comes first: write cumulate({step}, {size}{offset})"
            raise WindowError(message)

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the call for days that grow by the hour, or for thirty ticks that grow by ten."""
        if axis is Axis.TIME:
            return cls(size=ticks("1 day"), step=ticks("1 hour")).spell(axis)
        return cls(size=30, step=10).spell(axis)

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return the lifetime, prolonged to the end of the period of its last tick."""
        if end == INFINITY:
            return start, INFINITY
        return start, self._period_start(end - 1) + self.size

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the last step of each window, for those that share a tick with `[start, end)`."""
        return _steps(self.step, self.offset, start, end)

    def growing(self) -> GrowingSteps:
        """Return the steps."""
        return GrowingSteps(self.step, self.offset, self.size)

    def extent_start(self, start: int) -> int:
        """Return the start of the window whose last step starts at a tick: that of its period."""
        if start in (EARLIEST, INFINITY):
            return start
        return self._period_start(start)

    @property
    def reach(self) -> int:
        """The longest time after its end for which an event counts: from the first tick of a period to its end."""
        return self.size - 1

    @property
    def longest(self) -> int:
        """The size."""
        return self.size

    @property
    def holds_past(self) -> int:
        """Zero: an event at the end of a period shares no window with a later one."""
        return 0

    def _period_start(self, tick: int) -> int:
        """Return the start of the period of a tick."""
        return last_multiple(tick, self.size, self.offset)


@dataclass(frozen=True, slots=True)
class LandmarkWindows(WindowKind):
    """Windows from a landmark on, each a step longer than the one before, without an end.

    An event is a member of every window that ends after it starts, so the results are those of all events so far. An
    event that ended by the landmark is a member of none. (The thesis *Window Queries over Data Streams*, section 5.1.4:
    windows with RANGE ALL.)

    The fields are the arguments of `landmark`, in ticks.
    """

    name: ClassVar[str] = "landmark"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "landmark windows"
    lengths: ClassVar[tuple[str, ...]] = ("step", "since")
    waits_for_events: ClassVar[bool] = False
    keeps_all: ClassVar[bool] = True

    step: int
    since: int = 0

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise WindowError(f"landmark windows need a step above zero, got {spell_as_written(self.step)}")

    def membership(self, start: int, end: int) -> tuple[int, int]:
        """Return all time from the event's start or the landmark on; nothing if the event ended by the landmark."""
        if end <= self.since:
            return start, start  # all windows begin at the landmark
        # An event counts in every later window. `int` drops the class that says how the landmark was written.
        return max(start, int(self.since)), INFINITY

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the last step of each window, for those that share a tick with `[start, end)`."""
        return _steps(self.step, self.since, max(start, self.since), end)

    def growing(self) -> GrowingSteps:
        """Return the steps."""
        return GrowingSteps(self.step, self.since)

    def extent_start(self, start: int) -> int:
        """Return the landmark, at which all windows start; a tick before it stays as it is."""
        return min(start, int(self.since))

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the call for windows that grow by an hour, or by ten ticks."""
        return cls(ticks("1 hour") if axis is Axis.TIME else 10).spell(axis)

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return `landmark` and its arguments, with a landmark in time as text."""
        arguments: dict[str, Any] = {"step": self.step}
        if self.since:
            # The class of the landmark says if it was written as a time.
            is_time = isinstance(self.since, TimeLength)
            arguments["since"] = Axis.TIME.spell(self.since) if is_time else self.since
        return self.name, arguments

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `landmark`."""
        step = self.spell_field("step", axis)
        if not self.since:
            return f"landmark({step})"
        is_time = axis is Axis.TIME or isinstance(self.since, TimeLength)
        landmark = repr(Axis.TIME.spell(self.since)) if is_time else spell_as_written(self.since)
        return f"landmark({step}, since={landmark})"


@dataclass(frozen=True, slots=True)
class GlobalWindows(WindowKind):
    """One window with all events of a key. It closes when the stream does, so it is of use with early results."""

    name: ClassVar[str] = "global"
    version: ClassVar[str] = "1.0"
    title: ClassVar[str] = "the global window"
    waits_for_events: ClassVar[bool] = False
    keeps_all: ClassVar[bool] = True

    @classmethod
    def suggest(cls, reach: int, axis: Axis) -> str:
        """Return the call of `global_windows`."""
        return cls().spell(axis)

    def cut(self, stretches: Stretches, start: int, end: int) -> Iterator[Window]:
        """Yield the window."""
        if start < end:
            yield Window(EARLIEST, INFINITY)

    def call(self) -> tuple[str, dict[str, Any]]:
        """Return `global_windows`, which has no arguments."""
        return "global_windows", {}

    def spell(self, axis: Axis = Axis.TICKS) -> str:
        """Return the call of `global_windows`."""
        return "global_windows()"


def _steps(step: int, offset: int, start: int, end: int) -> Iterator[Window]:
    """Yield the steps that share a tick with `[start, end)`."""
    if start < end:
        for tick in range(last_multiple(start, step, offset), end, step):
            yield Window(tick, tick + step)


def cumulate(size: Duration, step: Duration, offset: Duration | date = 0) -> CumulateWindows:
    """Return windows that start together and grow by a step up to a size, as Flink's CUMULATE.

    A window is emitted when the watermark reaches its end, so a day with a step of an hour gives the total since
    midnight every hour. When the stream closes, windows are emitted up to the end of the last period that has an event.
    If that event has no end, windows are emitted whose last step starts before the horizon: after a single event
    without an end at 1, `cumulate(6, 2)` gives only the window from 0 to 2, as the horizon is 2.

    Results of a period start together, so the output watermark waits for the end of the period, except with
    `timestamps="point_at_end"`.

    Three events, and the windows that `cumulate(6, 2)` makes of them, with the number of members:

    ```text
             0         10
    event a   [----)
    event b      [----)
    event c              [-)
    window   [-)                   1
    window   [---)                 1
    window   [-----)               2
    window         [-)             1
    window         [---)           1
    window         [-----)         1
    window               [-)       1
    window               [---)     1
    window               [-----)   1
    ```

    Args:
        size: Length of the last window of a period, for example `"1 day"`; a multiple of the step.
        step: The length by which each window is longer than the one before, for example `"1 hour"`.
        offset: The start of a period, counted from tick 0 (the epoch where the axis is time); or the time or day at
            which one starts, a datetime or a date, which are in UTC unless they say otherwise.

    Raises:
        WindowError: The step is not positive, or the size is not a multiple of it.

    Example:
        >>> print(cumulate(12, 4))
        cumulate(12, 4)
    """
    period = ticks(size)
    return CumulateWindows(period, ticks(step), offset_ticks(offset, period))


def landmark(step: Duration, since: date | str | int = 0) -> LandmarkWindows:
    """Return windows that all start at a landmark and grow by a step: all events so far, every step.

    An event counts for ever, so a key has a result for every step up to the horizon of the input. Where events last one
    tick and modules have a columnar form or `combine`, one state per key holds all that came before. Otherwise all
    events of a key are kept, and each micro-batch that closes a window computes it from all of them;
    `forget_keys_after` ends that for keys that fall silent. All results start at the landmark, so there is no output
    watermark beyond it, except with `timestamps="point_at_end"`.

    Three events, and the windows that `landmark(4)` makes of them, with the number of members:

    ```text
             0         10
    event a   [----)
    event b      [----)
    event c              [-)
    window   [---)               1
    window   [-------)           2
    window   [-----------)       2
    window   [---------------)   3
    ```

    Args:
        step: The length by which each window is longer than the one before.
        since: The landmark: a datetime or a date, also as text such as `"2024-05-01"`, which is in UTC unless it says
            otherwise; or a tick. By default tick 0 (the epoch where the axis is time).

    Raises:
        WindowError: The step is not positive, or the landmark is a text that is not a time.
        DurationError: The step cannot be read, or the landmark is neither text, a date nor a number.

    Example:
        >>> print(landmark(10)), landmark("1 hour", since="1970-01-01 00:00:01").since
        landmark(10)
        (None, 1000000)
    """
    if isinstance(since, str):
        try:
            since = datetime.fromisoformat(since)
        except ValueError as error:
            raise WindowError(f"{since!r} is not a time\n  expected: a time such as '2024-05-01 08:00'") from error
    if isinstance(since, date) and not isinstance(since, datetime):
        since = datetime(since.year, since.month, since.day, tzinfo=UTC)
    since_ticks = TimeLength(instant(since)) if isinstance(since, datetime) else ticks(since)
    return LandmarkWindows(ticks(step), since_ticks)


def global_windows() -> GlobalWindows:
    """Return one window with all events of a key.

    The window closes when the stream is closed; before that there are only early results, or those of `emit="eager"`.
    In the results its start and its end are null. With `timestamps="point_at_end"` there is no result, as the window
    has no end. All events of a key are kept.

    Three events, and the windows that `global_windows()` makes of them, with the number of members:

    ```text
             1         11
    event a  [----)
    event b     [----)
    event c             [-)
    window   [------------>   3
    ```

    Example:
        >>> print(global_windows())
        global_windows()
    """
    return GlobalWindows()
