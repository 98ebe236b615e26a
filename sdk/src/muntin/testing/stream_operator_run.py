"""The meaning of stream operators, computed call by call."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, NamedTuple

from muntin.axis import EARLIEST, INFINITY, Axis
from muntin.events import Event
from muntin.modules.stream_operator import (
    MOST_WAKE_UPS,
    IntervalOperator,
    StreamOperator,
    too_many_wake_ups,
    wake_ups_without_end,
)
from muntin.query_checks import time_asked_for


class Emitted(NamedTuple):
    """A row that a call returned.

    Attributes:
        cause: The time of the event or the wake-up.
        start: The start of the lifetime of the row.
        end: The end of its lifetime.
        row: The row.
    """

    cause: int
    start: int
    end: int
    row: Any


class StreamOperatorRun:
    """One key, and a module that follows its events.

    Attributes:
        state: The module's state.
        was_called: True if the module has been called since the state was new.
        wake_up: The time of the next wake-up; None if there is none.
        repeated_request: The first time that the module requested again after it was woken for it; None if there is
            none.
    """

    def __init__(self, module: StreamOperator[Any, Any, Any], *, forgets: bool = True) -> None:
        """Start the run of a module for one key, with a new state.

        Args:
            module: The module.
            forgets: False to keep a state that is empty, where a query begins with a new one; a law says that this
                makes no difference.
        """
        self._module = module
        self._forgets = forgets
        # Each start or end of an event adds one wake-up: a module that wakes itself without end uses them up.
        self._wake_ups_left = MOST_WAKE_UPS
        self._latest_wake_up = EARLIEST
        self.wake_up: int | None = None
        self.repeated_request: int | None = None
        self._request: int | None = None  # the time that `next_time` returned last
        self._served_request: int | None = None  # a request for which the module has been woken; no wake-up repeats it
        self._start_anew(self._module.create_state())

    def process(self, time: int, payload: Any, is_end: bool = False) -> list[Emitted]:
        """Process all wake-ups up to a time, and then the start or the end of an event at that time.

        Args:
            time: The time of the start or the end.
            payload: The payload of the event.
            is_end: True for the end of an event, which only an `IntervalOperator` gets.

        Returns:
            The rows that the calls of the module return.
        """
        output = self.advance(time)
        self._wake_ups_left += 1  # each call for an event allows one wake-up more
        if is_end:
            assert isinstance(self._module, IntervalOperator), "other operators are not told of ends"
            rows = self._module.on_end(self.state, payload, time)
        else:
            rows = self._module.on_event(self.state, payload, time)
        # A wake-up at this time has come already, before the event: the next tick is the first that is left.
        return output + self._after_call(time, rows, first_wake_up=time + 1)

    def advance(self, tick: int) -> list[Emitted]:
        """Process the wake-ups up to a tick, and return their rows; no event may come before that tick any more.

        Raises:
            ModuleContractError: The module asks for more wake-ups than a query allows.
        """
        output: list[Emitted] = []
        while self.wake_up is not None and self.wake_up <= tick:
            if not self._wake_ups_left:
                raise too_many_wake_ups(
                    self._label,
                    key=None,
                    limit=MOST_WAKE_UPS,
                    woken_at=self._latest_wake_up,
                    next_wake_up=self.wake_up,
                    watermark=tick,
                    axis=Axis.TICKS,
                )
            output += self._wake(self.wake_up)
        return output

    def close(self, horizon: int, most_wake_ups: int | None = None) -> list[Emitted]:
        """End the stream: time passes up to the horizon, and then all wake-ups come that the key still waits for.

        A periodic module gets only the first of these wake-ups.

        Args:
            horizon: The tick at which the stream ends.
            most_wake_ups: The number of wake-ups after the horizon at which to stop without an error; None to fail
                where a query would.

        Raises:
            ModuleContractError: The module asks for more wake-ups than a query allows.
        """
        output = self.advance(horizon)
        # A periodic module would ask for another wake-up each time, so it is woken once more and no longer.
        if self._module.is_periodic:
            if self.wake_up is not None:
                output += self._wake(self.wake_up)
            return output
        # Any other operator is woken until it asks for nothing.
        count = 0
        while self.wake_up is not None and count != most_wake_ups:
            if self._wake_ups_left <= 0:
                raise wake_ups_without_end(
                    self._label,
                    key=None,
                    limit=MOST_WAKE_UPS,
                    woken_at=self._latest_wake_up,
                    next_wake_up=self.wake_up,
                    axis=Axis.TICKS,
                )
            output += self._wake(self.wake_up)
            count += 1
        return output

    @property
    def _label(self) -> str:
        """The name and the version of the module, for errors."""
        return f"{self._module.name} {self._module.version}"

    def _wake(self, time: int) -> list[Emitted]:
        """Wake the module at a time, and return its rows."""
        self._wake_ups_left -= 1
        self._latest_wake_up = time
        self._served_request = self._request
        # A new request for a time that has passed may be served at this very tick: no event has come at it yet.
        return self._after_call(time, self._module.on_time(self.state, time), first_wake_up=time)

    def _after_call(self, time: int, rows: Iterable[Any] | None, first_wake_up: int) -> list[Emitted]:
        """Return the rows of a call as output; then forget the key if it is empty, or set its next wake-up.

        Args:
            time: The time of the call.
            rows: The rows that it returned.
            first_wake_up: The first tick that may still have a wake-up: that of a request for a time that has passed.
        """
        # The rows are copied: the module may change a row later that it returned. A generator runs now.
        output = [_emitted(time, row) for row in map(deepcopy, rows or ())]
        if self._module.is_empty(self.state):
            self._start_anew(self._module.create_state() if self._forgets else self.state)
            return output

        self.was_called = True
        request = time_asked_for(self._module, self._module.next_time(self.state), time)
        is_served = request is not None and request == self._served_request
        if not is_served:
            self._served_request = None
        self._request = request
        if request is None:
            self.wake_up = None
        elif request > time:
            self.wake_up = request
        elif not is_served:
            self.wake_up = first_wake_up  # the requested time has passed without a wake-up
        else:
            # The module has been woken for this request already: if it were woken again, that might never end.
            self.wake_up = None
            if self.repeated_request is None:
                self.repeated_request = request  # the first one, which a law reports
        return output

    def _start_anew(self, state: Any) -> None:
        """Go on with a state as if no call had been made: nothing is requested."""
        self.state: Any = state
        self.was_called = False
        self.wake_up = None
        self._request = None
        self._served_request = None


def _emitted(time: int, row: Any) -> Emitted:
    """Return a row of a call with its lifetime: a bare row is a point at the time of the call."""
    if isinstance(row, Event):
        return Emitted(time, row.start, row.end, row.payload)
    return Emitted(time, time, time + 1, row)


def edges(module: StreamOperator[Any, Any, Any], events: Iterable[Event[Any]]) -> list[tuple[int, bool, Any]]:
    """Return the starts and ends of events, in the order in which a module is called for them.

    At one time ends come before starts, and both in the order of the starts. Only an `IntervalOperator` gets ends.

    Returns:
        The time of each edge, True for a start, and the payload of its event.
    """
    ordered = sorted(events, key=lambda event: event.start)
    calls = [(event.start, True, event.payload) for event in ordered]
    if isinstance(module, IntervalOperator):
        calls += [(event.end, False, event.payload) for event in ordered if event.end < INFINITY]
    return sorted(calls, key=lambda call: call[:2])  # by time; False sorts before True, so ends come first


def stream_rows(
    module: StreamOperator[Any, Any, Any], events: Iterable[Event[Any]], complete_to: int, horizon: int
) -> list[Emitted]:
    """Return the output of a module for the events of one key before a tick.

    Args:
        module: The module.
        events: The events of the key.
        complete_to: The tick; `INFINITY` for a stream that was closed.
        horizon: The tick at which a closed stream ends.
    """
    run = StreamOperatorRun(module)
    output: list[Emitted] = []
    for time, is_start, payload in edges(module, events):
        if time >= complete_to:
            break
        output += run.process(time, payload, is_end=not is_start)
    return output + (run.close(horizon) if complete_to == INFINITY else run.advance(complete_to))
