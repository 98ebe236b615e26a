"""The laws of operators of a stream."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

from hypothesis import strategies as st

from muntin.drawings import Bar
from muntin.errors import ModuleDefinitionError
from muntin.events import Event
from muntin.modules.stream_operator import METHODS, METHODS_OF_INTERVALS, IntervalOperator, StreamOperator
from muntin.testing.fitting import misfit
from muntin.testing.laws.law import Law, labelled, law, named
from muntin.testing.laws.module_laws import PayloadLaws
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


_IN_A_ROW: Final = 64


def _has_no_time(module: StreamOperator[Any, Any, Any]) -> str | None:
    is_asked = type(module).next_time is not StreamOperator.next_time
    return None if is_asked else f"{named(module)} asks for no wake-ups"


class StreamOperatorLaws(PayloadLaws):
    """The laws of a `StreamOperator` or an `IntervalOperator`, tried on random events of one key or two.

    Attributes:
        module: The module under test, an instance.
        payloads: A strategy for one payload; by default what the module's input type says.
        steps: The numbers of ticks from an event to the next, and for which events last. Give some that are shorter
            than the times that the module waits for, and some that are longer; by default up to 12, so make the module
            with short times.
        wakes_at_each_tick: True if the module is meant to be woken at each tick, as it is made here.

    Example:
        >>> from muntin import StreamOperator
        >>> class Newest(StreamOperator[int, list[int], int]):
        ...     name, version = "demo.newest", "1.0.0"
        ...     def create_state(self):
        ...         return []
        ...     def on_event(self, state, payload, time):
        ...         state[:] = [max([*state, payload])]
        ...         return state
        >>> class TestNewest(StreamOperatorLaws):
        ...     module = Newest()
        >>> TestNewest().test_the_state_is_plain_data()
    """

    wakes_at_each_tick: ClassVar[bool] = False
    steps: ClassVar[Sequence[int]] = (0, 1, 2, 5, 12)

    _subject_type: ClassVar[type] = StreamOperator

    @classmethod
    def attempt(cls, law: Law, body: Callable[[Any, Any], None], data: Any) -> None:
        """Try a law once."""
        payloads = cls._payload_strategy() if law.is_random else st.nothing()
        body(cls(), StreamOperatorTrial(law, cls.subject(), payloads, cls.steps, data))

    @law("complete the class attributes, the types in brackets and on_event", is_random=False)
    def test_definition_is_complete(self, trial: StreamOperatorTrial) -> None:
        """The class has a name, a version, types and `on_event`, and its methods are rightly spelt."""
        cls = type(trial.subject)
        try:
            cls.check_definition()
        except ModuleDefinitionError as error:
            raise trial.broken(str(error)) from None
        called = METHODS_OF_INTERVALS if isinstance(trial.subject, IntervalOperator) else METHODS
        for name in (name for name in dir(cls) if name.startswith("on_") and name not in called):
            meant = difflib.get_close_matches(name, called, 1, 0.5)
            hint = f"; did you mean {meant[0]}?" if meant else f"; the methods are {', '.join(called)}"
            raise trial.broken(f"it defines {name}, which nothing calls{hint}")

    @law("return what the class declares, or declare what it returns")
    def test_rows_have_declared_types(self, trial: StreamOperatorTrial) -> None:
        """Every row fits the declared type."""
        field = trial.subject.result_field()
        for *_, row in trial.given(trial.events()):
            reason = misfit(field, row)
            trial.expect(not reason, lambda row=row, reason=reason: f"the row {row!r} does not fit: {reason}")  # type: ignore[misc]

    @law("let rows start at the time of the call or after it: earlier output may be final")
    def test_no_row_starts_before_its_cause(self, trial: StreamOperatorTrial) -> None:
        """No row starts before the time of the event or the wake-up that it comes from."""
        for cause, start, _, row in trial.given(trial.events()):
            trial.expect(start >= cause, partial(_too_early, cause, start, row))

    @law("build states from numbers, text and lists, dicts and records of these; name records in the state's type")
    def test_the_state_is_plain_data(self, trial: StreamOperatorTrial) -> None:
        """A state goes on after a checkpoint as it would have without."""
        events = trial.events()
        straight = trial.given(events)
        trial.expect_same(("with checkpoints", trial.given(events, restores=True)), ("without", straight), 0.0)

    @law("keep all that results depend on in the state, and ask neither a clock nor chance")
    def test_nothing_else_is_remembered(self, trial: StreamOperatorTrial) -> None:
        """Other keys, a new process and a second run make no difference."""
        events, others = trial.events(), trial.events("of another key")
        with self._outside.restored():
            first = trial.given(events)
        trial.expect_same(("among other keys", trial.given(events, others)), ("alone", first), 0.0)

    @law("change the state in on_event and on_time alone")
    def test_questions_change_nothing(self, trial: StreamOperatorTrial) -> None:
        """Asking `next_time` and `is_empty` once more makes no difference."""
        events = trial.events()
        once = trial.given(events)
        trial.expect_same(("asked twice", trial.given(events, asks_twice=True)), ("asked once", once), 0.0)

    @law("say that a state is empty only if it is as good as a new one")
    def test_an_empty_state_is_as_good_as_a_new_one(self, trial: StreamOperatorTrial) -> None:
        """Keeping a state that is empty makes no difference to forgetting it."""
        events = trial.events()
        forgotten = trial.given(events)
        trial.expect_same(("kept", trial.given(events, forgets=False)), ("forgotten", forgotten), 0.0)

    @law("leave payloads as they are: copy what you change")
    def test_events_are_read_only(self, trial: StreamOperatorTrial) -> None:
        """No payload is changed."""
        events = trial.events()
        before = trial.copied(events)
        trial.given(events)
        trial.expect_same(("after", trial.copied(events)), ("before", before), 0.0)

    @law(
        "let next_time add a length to the time, as in time + self.every; ticks are microseconds, where times are "
        "timestamps. Set wakes_at_each_tick = True for a module that is meant to be woken at each tick",
        does_not_apply=_has_no_time,
    )
    def test_wake_ups_do_not_come_at_each_tick(self, trial: StreamOperatorTrial) -> None:
        """Without events, wake-ups do not come at one tick after another, up to the watermark."""
        is_woken = trial.wakes_itself_at_each_tick(trial.events(), _IN_A_ROW)
        trial.expect(
            self.wakes_at_each_tick or not is_woken,
            lambda: f"after the last event it is woken at {_IN_A_ROW} ticks that follow one another",
        )


def _too_early(cause: int, start: int, row: object) -> str:
    return f"the row {row!r} starts at {start}, before its cause at {cause}"
