"""The laws of operators that follow a stream."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from hypothesis import strategies as st

from muntin.errors import ModuleDefinitionError
from muntin.modules.stream_operator import METHODS, METHODS_OF_INTERVALS, IntervalOperator, StreamOperator
from muntin.testing.fitting import misfit
from muntin.testing.laws.law import Law, law, named
from muntin.testing.laws.payload_laws import PayloadLaws
from muntin.testing.laws.stream_operator_trial import StreamOperatorTrial

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

    @law("complete the class attributes, the types in brackets, create_state and on_event", is_random=False)
    def test_definition_is_complete(self, trial: StreamOperatorTrial) -> None:
        """The class has a name, a version, types, `create_state` and `on_event`, and its methods are rightly spelt."""
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
