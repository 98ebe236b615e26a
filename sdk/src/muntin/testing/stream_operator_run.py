"""A module that follows a stream, as the reference evaluator runs it: the definition, call by call."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, NamedTuple

from muntin.axis import INFINITY, Axis
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
        wake_up: The time at which the module is called next; None if there is none.
        asks_again: The first time that the module asked for once more after it was woken for it; None if it never did.
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
        self.asks_again: int | None = None
        self._asked: int | None = None
        self._answered: int | None = None
        self._begin()

    def take(self, time: int, payload: Any, is_end: bool = False) -> list[Emitted]:
        """Take the next event, or the end of one, after all wake-ups up to its time."""
        found = self.advance(time)
        self._left += 1
        call = self._module.on_event
        if is_end:
            assert isinstance(self._module, IntervalOperator), "other operators are not told of ends"
            call = self._module.on_end
        return [*found, *self._settled(time, call(self.state, payload, time), first_wake_up=time + 1)]

    def advance(self, tick: int) -> list[Emitted]:
        """Let time pass up to a tick, before which no further event comes."""
        found: list[Emitted] = []
        while self.wake_up is not None and self.wake_up <= tick:
            if not self._left:
                raise too_many_wake_ups(self._label, None, MOST_WAKE_UPS, self._woken, self.wake_up, tick, Axis.TICKS)
            found += self._wake(self.wake_up)
        return found

    def close(self, horizon: int, most: int | None = None) -> list[Emitted]:
        """End the stream: time passes up to the horizon, and then all wake-ups come that the key still waits for.

        A periodic module waits for one, as each asks for another.

        Args:
            horizon: The last time of the input.
            most: After how many wake-ups to stop without an error; None to fail after as many as a query has.
        """
        found = self.advance(horizon)
        if self._module.is_periodic:
            return found if self.wake_up is None else [*found, *self._wake(self.wake_up)]
        count = 0
        while self.wake_up is not None and count != most:
            if self._left <= 0:
                raise wake_ups_without_end(self._label, None, MOST_WAKE_UPS, self._woken, self.wake_up, Axis.TICKS)
            found += self._wake(self.wake_up)
            count += 1
        return found

    @property
    def _label(self) -> str:
        return f"{self._module.name} {self._module.version}"

    def _wake(self, time: int) -> list[Emitted]:
        self._left -= 1
        self._woken = time
        self._answered = self._asked
        return self._settled(time, self._module.on_time(self.state, time), first_wake_up=time)

    def _settled(self, time: int, rows: Iterable[Any] | None, first_wake_up: int) -> list[Emitted]:
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
        self._asked = time_asked_for(self._module, self._module.next_time(self.state), time)
        if self._asked != self._answered:
            self._answered = None
        if self._asked is None:
            self.wake_up = None
        elif self._asked > time:
            self.wake_up = self._asked
        elif self._asked != self._answered:
            self.wake_up = first_wake_up  # the time has passed, and nobody was woken for it
        else:
            self.wake_up = None
            if self.asks_again is None:
                self.asks_again = self._asked
        return found

    def _begin(self, state: Any = None) -> None:
        self.state: Any = self._module.create_state() if state is None else state
        self.is_followed = False
        self.wake_up = None
        self._asked = None
        self._answered = None


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
