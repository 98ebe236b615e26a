"""The laws of modules that follow rows, or the events of a stream."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, ClassVar, Final, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from muntin.drawings import Bar
from muntin.errors import ModuleDefinitionError
from muntin.events import Event
from muntin.modules.row_operator import HANDLERS, RowOperator
from muntin.modules.stream_operator import METHODS, METHODS_OF_INTERVALS, IntervalOperator, StreamOperator
from muntin.rows import RowWindows, batch, elapsed, last, marker
from muntin.testing.fitting import misfit
from muntin.testing.laws.conformance import law
from muntin.testing.laws.module_laws import PayloadLaws
from muntin.testing.laws.trial import ANY_PAYLOAD, Law, Trial, named
from muntin.testing.plain_data import records_in
from muntin.testing.row_reference import RowOperatorRun
from muntin.testing.stream_operator_run import StreamOperatorRun, edges

_IN_A_ROW: Final = 64
"""The number of wake-ups, each a tick after the one before, by which a module is taken to ask for the next tick."""

_MOST_AFTER_THE_END: Final = 1000
"""The number of wake-ups after the end of the stream beyond which a module is taken to ask without end."""

_WINDOWS: Final[tuple[RowWindows, ...]] = (
    last(2),
    last(3).trigger(2).partition("p", most=2),
    last(elapsed(4)).trigger(elapsed(3)),
    batch(2).partition("p", age=4),
    batch(elapsed(4)),
    batch(marker("m")),
)


class FollowedRow(NamedTuple):
    """A row that a module follows: the arguments of `RowOperatorRun.process`.

    Attributes:
        time: The time of the row.
        values: The values that the windows read.
        payload: The payload.
    """

    time: int
    values: tuple[Any, ...]
    payload: Any


class FollowedEdge(NamedTuple):
    """The start or the end of an event that a module follows: the arguments of `StreamOperatorRun.process`.

    Attributes:
        time: The time of the start or the end.
        payload: The payload of the event.
        is_end: True for an end.
    """

    time: int
    payload: Any
    is_end: bool


class FollowingTrial(Trial):
    """Draws the items that a module follows, rows or events, and runs the module on them.

    An item is a `FollowedRow` or a `FollowedEdge`: the arguments of `process` of a run.

    Attributes:
        wait: The time that passes after the last item.
    """

    wait = 20
    _raised = "a handler"

    def __init__(self, law: Law, laws: Any, data: object) -> None:
        """Prepare an attempt; the arguments are those of `Trial`."""
        super().__init__(law, laws, data)
        # A class that is not complete may have no types yet; the law that says so draws nothing.
        self._records = records_in(self.tested.state_type()) if law.is_random else frozenset()

    def items(self, label: str = "") -> list[Any]:
        """Draw items in order, several at one time now and then."""
        raise NotImplementedError

    def run(self, *, forgets: bool) -> Any:
        """Start a run of the module for one key.

        Args:
            forgets: False to go on with states that are empty, where an engine would begin with a new one.
        """
        raise NotImplementedError

    def close(self, run: Any, horizon: int) -> list[Any]:
        """End the stream of a key, and return the output for that."""
        rows: list[Any] = run.close(horizon)
        return rows

    def output(
        self,
        items: Sequence[Any],
        of_another_key: Sequence[Any] = (),
        *,
        restores: bool = False,
        asks_twice: bool = False,
        forgets: bool = True,
    ) -> list[Any]:
        """Return the output of the module for a key.

        Args:
            items: The items of the key.
            of_another_key: The items of another key, which come in between.
            restores: True to store the state after each call, and go on with the state that a checkpoint gives back.
            asks_twice: True to ask for the wake-up, and for emptiness, once more after each call.
            forgets: False to go on with states that are empty, where an engine would begin with a new one.
        """
        __tracebackhide__ = True
        run = self.run(forgets=forgets)
        run_of_another_key = self.run(forgets=forgets)

        def follow() -> list[Any]:
            """Return the output; this is called as the writer's code, so that an exception in it breaks the law."""
            output: list[Any] = []
            for place, item in enumerate(items):
                if place < len(of_another_key):
                    run_of_another_key.process(*of_another_key[place])
                output += run.process(*item)
                if restores:
                    run.state = self.stored(run.state, self._records)
                if asks_twice and run.was_called:
                    self.tested.next_time(run.state)
                    self.tested.is_empty(run.state)
            return [*output, *self.close(run, items[-1].time + self.wait)]

        return self.call(self._raised, follow, remedy=ANY_PAYLOAD)

    def expect_complete(self, noun: str, called_methods: Sequence[str]) -> None:
        """Raise unless the class is complete, and each of its methods `on_...` is one that the engine calls.

        Args:
            noun: The word for the methods in messages: handlers or methods.
            called_methods: The names of the methods that the engine calls.
        """
        cls = type(self.tested)
        try:
            cls.check_definition()
        except ModuleDefinitionError as error:
            raise self.broken(str(error)) from None
        for name in dir(cls):
            if not name.startswith("on_") or name in called_methods:
                continue
            close = difflib.get_close_matches(name, called_methods, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}?" if close else f"the {noun} are {', '.join(called_methods)}"
            raise self.broken(f"it defines {name}, which nothing calls; {hint}")


class RowOperatorTrial(FollowingTrial):
    """Draws windows and rows: their times, the values that the windows read, and the payloads."""

    def __init__(self, law: Law, laws: Any, data: object) -> None:
        """Prepare an attempt, and draw the windows; the arguments are those of `Trial`."""
        super().__init__(law, laws, data)
        # A law without random data draws no rows, and so needs no windows.
        if law.is_random:
            self._windows = self.draw(st.sampled_from(laws.windows))
            self.stream.append(str(self._windows))

    def items(self, label: str = "") -> list[FollowedRow]:
        """Draw rows in the order of their times, several of them at one time now and then."""
        rows: list[FollowedRow] = []
        time = 0
        for _ in range(self.draw(st.integers(1, 8))):
            time += self.draw(st.sampled_from([0, 1, 2, 7]))
            values = tuple(self.draw(self.laws.values) for _ in self._windows.reads)
            payload = self.draw(self.laws._payload_strategy())
            rows.append(FollowedRow(time, values, payload))
            text = ", ".join(map(repr, (payload, *values)))
            self.stream.append(Bar(f"row{label}", time, time + 1, text))
        return rows

    def run(self, *, forgets: bool) -> RowOperatorRun:
        """Start a key, which is always forgotten when it is empty: no law of row operators tries anything else."""
        return RowOperatorRun(self._windows, self.tested)


class StreamOperatorTrial(FollowingTrial):
    """Draws events, or, for an operator that is told of both, their starts and their ends."""

    _raised = "a call"

    def items(self, label: str = "") -> list[FollowedEdge]:
        """Draw events, and return their edges in the order in which the module is called for them.

        `wait`, the time that passes after the last edge, is set as well: it is twice the longest step.
        """
        # Time passes by the writer's steps, so that wake-ups fall between events, on them and after the last.
        steps = self.laws.steps
        self.wait = 2 * max(steps)
        lengths = [1]
        if isinstance(self.tested, IntervalOperator):
            lengths += [step for step in steps if step]  # an event lasts a tick at least
        events: list[Event[Any]] = []
        time = 0
        for _ in range(self.draw(st.integers(1, 8))):
            time += self.draw(st.sampled_from(steps))
            length = self.draw(st.sampled_from(lengths)) if len(lengths) > 1 else 1
            event = Event(time, time + length, self.draw(self.laws._payload_strategy()))
            events.append(event)
            self.stream.append(Bar(f"event{label}", event.start, event.end, repr(event.payload)))
        drawn_edges: list[FollowedEdge] = []
        for tick, is_start, payload in edges(self.tested, events):
            drawn_edges.append(FollowedEdge(tick, payload, is_end=not is_start))
        return drawn_edges

    def run(self, *, forgets: bool) -> StreamOperatorRun:
        """Start a key."""
        return StreamOperatorRun(self.tested, forgets=forgets)

    def close(self, run: StreamOperatorRun, horizon: int) -> list[Any]:
        """End the stream of a key; only one law is about modules that ask for wake-ups without end."""
        return run.close(horizon, most_wake_ups=_MOST_AFTER_THE_END)

    def run_to_the_end(self, events: Sequence[FollowedEdge]) -> StreamOperatorRun:
        """Run the module on events and then close the stream; return the run, which says what the module asked for."""
        run = self.run(forgets=True)

        def follow() -> None:
            """Process the events and the end; this is called as the writer's code: an exception breaks the law."""
            for time, payload, is_end in events:
                run.process(time, payload, is_end)
            self.close(run, events[-1].time + self.wait)  # `items`, which drew the events, has set `wait`

        self.call(self._raised, follow, remedy=ANY_PAYLOAD)
        return run

    def wakes_itself_at_each_tick(self, events: Sequence[FollowedEdge], ticks_in_a_row: int) -> bool:
        """Return True if the module, after the events, is woken at `ticks_in_a_row` neighbouring ticks."""
        run = StreamOperatorRun(self.tested)
        times: list[int] = []
        for time, payload, is_end in events:
            run.process(time, payload, is_end)
        while run.wake_up is not None and len(times) < ticks_in_a_row:
            times.append(run.wake_up)
            run.advance(run.wake_up)
        # Wake-ups ascend: if as many wake-ups as ticks lie between the first and the last, each tick has one.
        return len(times) == ticks_in_a_row and times[-1] - times[0] == ticks_in_a_row - 1


class FollowingLaws(PayloadLaws):
    """A module that follows rows or events keeps all its knowledge in its state, and changes nothing else."""

    tolerance: ClassVar[float] = 0.0

    @law("build states from numbers, text and lists, dicts and records of these; name records in the state's type")
    def test_the_state_is_plain_data(self, trial: FollowingTrial) -> None:
        """A state that comes back from a checkpoint gives the same output as one that was never stored."""
        items = trial.items()
        never_stored = trial.output(items)
        trial.expect_same(("with checkpoints", trial.output(items, restores=True)), ("without", never_stored))

    @law("keep all that results depend on in the state, and ask neither a clock nor chance")
    def test_nothing_else_is_remembered(self, trial: FollowingTrial) -> None:
        """Other keys, a new process and a second run make no difference."""
        items = trial.items()
        of_another_key = trial.items(" of another key")
        with self.as_at_first():
            first = trial.output(items)
        trial.expect_same(("among other keys", trial.output(items, of_another_key)), ("alone", first))


class RowOperatorLaws(FollowingLaws, of=RowOperator, trial=RowOperatorTrial):
    """The laws of a `RowOperator`, tried on random rows of one key or two.

    Attributes:
        module: The module under test, an instance.
        windows: The row windows that it is tried in; sliding and tumbling ones, with and without partitions, by
            default.
        payloads: A strategy for one payload; by default values of the module's input type.
        values: A strategy for the values of the expressions that the windows read; small numbers by default.

    Example:
        >>> from muntin import RowOperator
        >>> class Newest(RowOperator[int, list[int], int, None]):
        ...     name, version = "demo.newest", "1.0.0"
        ...     def create_state(self):
        ...         return []
        ...     def on_insert(self, state, row, window):
        ...         state[:] = [max([*state, row.payload])]
        ...         return state
        >>> class TestNewest(RowOperatorLaws):
        ...     module = Newest()
        >>> TestNewest().test_the_state_is_plain_data()
    """

    windows: ClassVar[Sequence[RowWindows]] = _WINDOWS
    values: ClassVar[SearchStrategy[Any]] = st.integers(0, 3)

    @law("complete the class attributes, the types in brackets and create_state", is_random=False)
    def test_definition_is_complete(self, trial: RowOperatorTrial) -> None:
        """The class has a name, a version, types and `create_state`, and its handlers are rightly spelt."""
        trial.expect_complete("handlers", HANDLERS)

    @law("return what the class declares, or declare what it returns; on_evict returns the last of the types")
    def test_results_have_declared_types(self, trial: RowOperatorTrial) -> None:
        """Every row of the results fits its declared type, and so does every row that `on_evict` returns."""
        module = trial.tested
        for returned in trial.output(trial.items()):
            row = returned.row
            field = module.evicted_field() if returned.is_evicted else module.result_field()
            if field is None:
                raise trial.broken(f"on_evict returned {row!r}, and the class declares None")
            reason = misfit(field, row)
            trial.expect(not reason, f"the row {row!r} does not fit: {reason}")

    @law("leave rows as they are: copy what you change")
    def test_rows_are_read_only(self, trial: RowOperatorTrial) -> None:
        """No payload is changed."""
        rows = trial.items()
        with trial.unchanged("before", "after", [row.payload for row in rows]):
            trial.output(rows)


def _asks_for_no_wake_ups(module: StreamOperator[Any, Any, Any]) -> str | None:
    """Return the reason why laws of wake-ups do not apply: the module asks for none; None if it may ask for some."""
    defines_next_time = type(module).next_time is not StreamOperator.next_time
    return None if defines_next_time else f"{named(module)} asks for no wake-ups"


class StreamOperatorLaws(FollowingLaws, of=StreamOperator, trial=StreamOperatorTrial):
    """The laws of a `StreamOperator` or an `IntervalOperator`, tried on random events of one key or two.

    Attributes:
        module: The module under test, an instance.
        payloads: A strategy for one payload; by default values of the module's input type.
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

    @law("complete the class attributes, the types in brackets and on_event", is_random=False)
    def test_definition_is_complete(self, trial: StreamOperatorTrial) -> None:
        """The class has a name, a version, types and `on_event`, and its methods are rightly spelt."""
        called_methods = METHODS_OF_INTERVALS if isinstance(trial.tested, IntervalOperator) else METHODS
        trial.expect_complete("methods", called_methods)

    @law("return what the class declares, or declare what it returns")
    def test_rows_have_declared_types(self, trial: StreamOperatorTrial) -> None:
        """Every row fits the declared type."""
        for emitted in trial.output(trial.items()):
            reason = misfit(trial.tested.result_field(), emitted.row)
            trial.expect(not reason, f"the row {emitted.row!r} does not fit: {reason}")

    @law("let rows start at the time of the call or after it: earlier output may be final")
    def test_no_row_starts_before_its_cause(self, trial: StreamOperatorTrial) -> None:
        """No row starts before the time of the event or the wake-up that it comes from.

        Output before that time may be final already.
        """
        for emitted in trial.output(trial.items()):
            fault = f"the row {emitted.row!r} starts at {emitted.start}, before its cause at {emitted.cause}"
            trial.expect(emitted.start >= emitted.cause, fault)

    @law("change the state in on_event and on_time alone")
    def test_questions_change_nothing(self, trial: StreamOperatorTrial) -> None:
        """Asking `next_time` and `is_empty` once more makes no difference."""
        events = trial.items()
        once = trial.output(events)
        trial.expect_same(("asked twice", trial.output(events, asks_twice=True)), ("asked once", once))

    @law("say that a state is empty only if it is as good as a new one")
    def test_an_empty_state_is_as_good_as_a_new_one(self, trial: StreamOperatorTrial) -> None:
        """Keeping a state that is empty makes no difference to forgetting it."""
        events = trial.items()
        forgotten = trial.output(events)
        trial.expect_same(("kept", trial.output(events, forgets=False)), ("forgotten", forgotten))

    @law("leave payloads as they are: copy what you change")
    def test_events_are_read_only(self, trial: StreamOperatorTrial) -> None:
        """No payload is changed."""
        events = trial.items()
        with trial.unchanged("before", "after", [event.payload for event in events]):
            trial.output(events)

    @law(
        "let next_time add a length to the time, as in time + self.every; ticks are microseconds, where times are "
        "timestamps. Set wakes_at_each_tick = True for a module that is meant to be woken at each tick",
        does_not_apply=_asks_for_no_wake_ups,
    )
    def test_wake_ups_do_not_come_at_each_tick(self, trial: StreamOperatorTrial) -> None:
        """Without events, wake-ups do not come at one tick after another, up to the watermark.

        Where times are timestamps, a tick is a microsecond: an operator whose `next_time` returns `time + 1` is
        called 60 million times for each minute. Set `wakes_at_each_tick = True` for a module that is meant to
        be woken at each tick, as it is made in the test.
        """
        is_woken = trial.wakes_itself_at_each_tick(trial.items(), _IN_A_ROW)
        fault = f"after the last event it is woken at {_IN_A_ROW} ticks that follow one another"
        trial.expect(self.wakes_at_each_tick or not is_woken, fault)

    @law(
        "change in on_time what next_time reads: drop the time that is due, and compare times with <=, as a wake-up "
        "comes later than asked where its time had passed. A length is no time: add it to one",
        does_not_apply=_asks_for_no_wake_ups,
    )
    def test_no_time_is_asked_for_again(self, trial: StreamOperatorTrial) -> None:
        """After a wake-up, the module does not ask for the same time again.

        The engine wakes an operator once for each time that it asks for. An operator that asks for the same time
        again is not woken any more, and so it misses the later times that it waits for. An operator breaks this law
        if `on_time` leaves the time that was due in the state, if `on_time` removes only a time equal to that of the
        call although the due time had passed earlier, or if `next_time` returns a length.
        """
        time = trial.run_to_the_end(trial.items()).repeated_request
        trial.expect(time is None, f"it asks for {time} once more, after it was woken for that")

    @law(
        "return None from next_time when nothing waits. Set is_periodic = True in the class of a module that is meant "
        "to be woken again and again",
        does_not_apply=_asks_for_no_wake_ups,
    )
    def test_wake_ups_come_to_an_end(self, trial: StreamOperatorTrial) -> None:
        """Without events, the module asks for a number of wake-ups that ends, unless it is periodic.

        A module that is meant to be woken again and again sets `is_periodic = True`.
        """
        run = trial.run_to_the_end(trial.items())
        is_ended = trial.tested.is_periodic or run.wake_up is None
        trial.expect(is_ended, f"after the last event it is woken {_MOST_AFTER_THE_END} times, and asks for more")
