"""A module that follows a stream, as the reference evaluator runs it: the definition, call by call."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, NamedTuple

from muntin.axis import INFINITY, Axis
from muntin.events import Event
from muntin.modules.stream_operator import MOST_WAKE_UPS, IntervalOperator, StreamOperator, too_many_wake_ups
from muntin.query_checks import wake_up_of


class Emitted(NamedTuple):
    """A row that a call returned.

    Attributes:
        cause: The time of the event or the wake-up.
        start: The start of its lifetime.
        end: Its end.
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
        is_followed: True if something has been called since the state was new.
        wake_up: The time at which the module wants to be called; None if there is none.
    """

    def __init__(self, module: StreamOperator[Any, Any, Any], *, forgets: bool = True) -> None:
        """Start a key.

        Args:
            module: The module.
            forgets: False to go on with states that are empty, which may make no difference.
        """
        self._module = module
        self._forgets = forgets
        self._left = MOST_WAKE_UPS
        self.wake_up: int | None = None
        self._begin()

    def take(self, time: int, payload: Any, is_end: bool = False) -> list[Emitted]:
        """Take the next event, or the end of one, after all wake-ups up to its time."""
        found = self.advance(time)
        self._left += 1
        call = self._module.on_event
        if is_end:
            assert isinstance(self._module, IntervalOperator), "other operators are not told of ends"
            call = self._module.on_end
        return [*found, *self._settled(time, call(self.state, payload, time))]

    def advance(self, tick: int) -> list[Emitted]:
        """Let time pass up to a tick, before which no further event comes."""
        found: list[Emitted] = []
        while self.wake_up is not None and self.wake_up <= tick:
            if not self._left:
                label, asked = f"{self._module.name} {self._module.version}", self.wake_up
                raise too_many_wake_ups(label, None, MOST_WAKE_UPS, self._woken, asked, tick, Axis.TICKS)
            self._left -= 1
            found += self._wake(self.wake_up)
        return found

    def close(self, horizon: int) -> list[Emitted]:
        """End the stream: time passes up to the horizon, and what the key still waits for comes last."""
        found = self.advance(horizon)
        return found if self.wake_up is None else [*found, *self._wake(self.wake_up)]

    def _wake(self, time: int) -> list[Emitted]:
        self._woken = time
        return self._settled(time, self._module.on_time(self.state, time))

    def _settled(self, time: int, rows: Iterable[Any] | None) -> list[Emitted]:
        """Return the rows of a call as output, and ask the module how to go on."""
        found = [
            Emitted(time, row.start, row.end, row.payload)
            if isinstance(row, Event)
            else Emitted(time, time, time + 1, row)
            for row in map(deepcopy, rows or ())
        ]
        if self._module.is_empty(self.state):
            self._begin(None if self._forgets else self.state)
            return found
        self.is_followed = True
        asked = wake_up_of(self._module, self._module.next_time(self.state), time)
        self.wake_up = asked if asked < INFINITY else None
        return found

    def _begin(self, state: Any = None) -> None:
        self.state: Any = self._module.create_state() if state is None else state
        self.is_followed = False
        self.wake_up = None


def edges(module: StreamOperator[Any, Any, Any], events: Iterable[Event[Any]]) -> list[tuple[int, bool, Any]]:
    """Return the calls that events make, in order: the time, True for a start, and the payload.

    At one time ends come before starts, and both in the order of the starts. Of ends an `IntervalOperator` alone hears.
    """
    ordered = sorted(events, key=lambda event: event.start)
    found = [(event.start, True, event.payload) for event in ordered]
    if isinstance(module, IntervalOperator):
        found += [(event.end, False, event.payload) for event in ordered if event.end < INFINITY]
    return sorted(found, key=lambda edge: edge[:2])


def stream_rows(
    module: StreamOperator[Any, Any, Any], events: Iterable[Event[Any]], complete_to: int, horizon: int
) -> list[Emitted]:
    """Return the output of a module for the events of one key before a tick."""
    run, found = StreamOperatorRun(module), list[Emitted]()
    for time, is_start, payload in edges(module, events):
        found += run.take(time, payload, is_end=not is_start) if time < complete_to else []
    return [*found, *(run.close(horizon) if complete_to == INFINITY else run.advance(complete_to))]
