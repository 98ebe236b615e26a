"""One attempt to break a law of an operator that follows a stream."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from hypothesis import strategies as st

from muntin.events import Event
from muntin.modules.stream_operator import IntervalOperator, StreamOperator
from muntin.testing.drawings import Bar
from muntin.testing.laws.law import Law, labelled
from muntin.testing.laws.trial import Trial
from muntin.testing.plain_data import records_in, restored
from muntin.testing.stream_operator_run import Emitted, StreamOperatorRun, edges


class DrawnEvent(NamedTuple):
    """An event of the stream, or, for an operator that is told of both, its start or its end."""

    time: int
    payload: Any
    is_end: bool = False


class StreamOperatorTrial(Trial):
    """Draws events and looks at what the module gives.

    Attributes:
        subject: The module.
    """

    def __init__(
        self,
        law: Law,
        module: StreamOperator[Any, Any, Any],
        payloads: st.SearchStrategy[Any],
        steps: Sequence[int],
        data: object,
    ) -> None:
        """Prepare an attempt."""
        super().__init__(law, labelled(module), 0.0, data)
        self.subject = module
        self._payloads, self._steps = payloads, steps
        self._records = records_in(module.state_type()) if law.is_random else frozenset()

    def events(self, label: str = "event") -> list[DrawnEvent]:
        """Draw events in order, several at a time now and then."""
        found, time, lasts = list[Event[Any]](), 0, isinstance(self.subject, IntervalOperator)
        for _ in range(self.draw(st.integers(1, 8))):
            time += self.draw(st.sampled_from(self._steps))
            length = self.draw(st.sampled_from([1, *filter(None, self._steps)])) if lasts else 1
            found.append(Event(time, time + length, self.draw(self._payloads)))
            self.stream.append(Bar(label, time, time + length, repr(found[-1].payload)))
        return [DrawnEvent(at, payload, not is_start) for at, is_start, payload in edges(self.subject, found)]

    def given(
        self,
        events: Sequence[DrawnEvent],
        others: Sequence[DrawnEvent] = (),
        *,
        restores: bool = False,
        asks_twice: bool = False,
        forgets: bool = True,
    ) -> list[Emitted]:
        """Return the output of the module for the events of a key.

        Args:
            events: The events.
            others: Events of another key that come in between.
            restores: True to store the state after each event, and go on with what a checkpoint gives back.
            asks_twice: True to ask for the wake-up, and for emptiness, once more after each event.
            forgets: False to go on with states that are empty.
        """
        __tracebackhide__ = True
        own, other = (StreamOperatorRun(self.subject, forgets=forgets) for _ in range(2))
        found, rest = list[Emitted](), [*others]
        try:
            for time, payload, is_end in events:
                if rest:
                    at, another, ends = rest.pop(0)
                    other.take(at, another, is_end=ends)
                found += own.take(time, payload, is_end=is_end)
                if restores:
                    own.state = self._restored(own.state)
                if asks_twice and own.is_followed:
                    self.subject.next_time(own.state)
                    self.subject.is_empty(own.state)
            found += own.close(events[-1].time + 2 * max(self._steps))
        except Exception as error:
            if isinstance(error, AssertionError):
                raise
            raise self.broken(
                f"a call raised {type(error).__name__}: {error}",
                "make it work for the stream above, or say with payloads = ... what may come",
            ) from error
        return found

    def wakes_itself_at_each_tick(self, events: Sequence[DrawnEvent], most: int) -> bool:
        """Return True if the module, after the events, is woken at so many ticks that follow one another."""
        run, times = StreamOperatorRun(self.subject), list[int]()
        for time, payload, is_end in events:
            run.take(time, payload, is_end=is_end)
        while run.wake_up is not None and len(times) < most:
            times.append(run.wake_up)
            run.advance(run.wake_up)
        return len(times) == most and times[-1] - times[0] == most - 1

    def copied(self, events: Sequence[DrawnEvent]) -> list[Any]:
        """Return copies of the payloads."""
        return [deepcopy(event.payload) for event in events]

    def _restored(self, state: object) -> object:
        try:
            return restored(state, self._records)
        except TypeError as error:
            raise self.broken(f"the state cannot be stored: {error}") from None
