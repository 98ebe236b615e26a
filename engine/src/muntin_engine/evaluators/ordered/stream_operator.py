"""An operator that follows the events of a key: its calls, in order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from muntin import EARLIEST, INFINITY, Event, IntervalOperator, StreamOperator, Window
from muntin.modules.stream_operator import too_many_wake_ups, wake_ups_without_end
from muntin.query_checks import check_cause, time_asked_for
from muntin_engine.evaluators.keyed.computation import results_in_order
from muntin_engine.evaluators.keyed.key_events import ALWAYS
from muntin_engine.evaluators.keyed.keyed_run import BatchStart
from muntin_engine.evaluators.keyed.live_output import OutputRow
from muntin_engine.evaluators.keyed.state_serializer import StateSerializer
from muntin_engine.evaluators.ordered.delay_buffer import DelayBuffer, Edge, FollowerRecord, OrderedRun
from muntin_engine.modules.plain_results import listing
from muntin_engine.modules.skipping import SKIPPED
from muntin_engine.plan.evaluator_query import EvaluatorQuery
from muntin_engine.state.bucket_reader import NamedInput, StateReader, StateRow
from muntin_engine.state.bucket_state import KeyTimer
from muntin_engine.time.changes import OutputChange, OutputKind, Progress


class OperatorCalls:
    """The methods of an operator. An exception inside one names module, version, key, tick and method.

    Attributes:
        label: The module, by name and version.
        is_periodic: True if each wake-up asks for another one, without end.
        select: Makes the operator's input of an event; `SKIPPED` if it does not accept that.
    """

    def __init__(self, query: EvaluatorQuery) -> None:
        """Prepare to call the only module of a query."""
        (binding,) = query.bindings
        module = binding.module
        assert isinstance(module, StreamOperator), "only such modules follow a stream"
        self.select = binding.select
        self.label = f"{module.name} {module.version}"
        self.is_periodic = module.is_periodic
        self._module = module
        self._axis = query.axis
        # The `call` of the only module: it calls a method so that an exception inside it gets the key and the tick.
        self._call = query.once(results_in_order).computations[0].call
        self._create: Callable[[], Any] = module.create_state

        # The methods that return rows return them as lists of plain data.
        result_field = module.result_field()
        self._event_method = "on_start" if isinstance(module, IntervalOperator) else "on_event"
        self._on_event = listing(getattr(module, self._event_method), binding.plain, result_field)
        on_end = getattr(module, "on_end", module.on_event)  # a module without `on_end` is never called with ends
        self._on_end = listing(on_end, binding.plain, result_field)
        self._on_time = listing(module.on_time, binding.plain, result_field)

        # Methods that the module does not define are not called: most modules have neither of these two.
        module_class = type(module)
        self._next_time = module.next_time if module_class.next_time is not StreamOperator.next_time else None
        self._is_empty = module.is_empty if module_class.is_empty is not StreamOperator.is_empty else None

    def create_state(self, key: object, tick: Window) -> Any:
        """Return the state of a new key."""
        return self._call("create_state", key, tick, self._create)

    def on_event(self, key: object, tick: Window, state: Any, payload: Any, *, is_end: bool = False) -> list[Any]:
        """Call the operator with an event, or with the end of one, and return its rows."""
        if is_end:
            return self._call("on_end", key, tick, self._on_end, state, payload, tick.start)
        return self._call(self._event_method, key, tick, self._on_event, state, payload, tick.start)

    def on_time(self, key: object, tick: Window, state: Any) -> list[Any]:
        """Wake the operator, and return its rows."""
        return self._call("on_time", key, tick, self._on_time, state, tick.start)

    def is_empty(self, key: object, tick: Window, state: Any) -> bool:
        """Return True if the operator says that the key can be forgotten; without `is_empty`, if the state is None."""
        if self._is_empty is None:
            return state is None
        return bool(self._call("is_empty", key, tick, self._is_empty, state))

    def next_time(self, key: object, tick: Window, state: Any) -> int | None:
        """Return the time that the operator asks to be woken at, which may have passed; None if it asks for none.

        Raises:
            ModuleContractError: The operator returned something that is not a time.
        """
        if self._next_time is None:
            return None
        answer = self._call("next_time", key, tick, self._next_time, state)
        return time_asked_for(self._module, answer, tick.start, key, self._axis)

    def output(self, key: object, time: int, row: Any) -> OutputRow:
        """Return a row with its lifetime: its own if it is an event, otherwise the tick of the call.

        Raises:
            ModuleContractError: The row starts before its cause.
        """
        if not isinstance(row, Event):
            return OutputRow(time, time + 1, row)
        check_cause(self._module, row.start, time, key)
        return OutputRow(row.start, row.end, row.payload)


class OperatorState(DelayBuffer):
    """The state of a key that a stream operator follows.

    Attributes:
        operator_state: The operator's state; None if the key is as good as a new one.
        wake_up: The time at which the operator is called next; `INFINITY` if it asked for nothing.
        requested_time: The time that the operator asked for. If that had passed, `wake_up` is later.
        answered_time: The time that the operator asked for before its last wake-up, if it has asked for the same time
            after each call since; None if it has asked for another.
    """

    def __init__(self, query: EvaluatorQuery, serial: int = 0) -> None:
        """Begin a key, of which the operator has seen nothing."""
        super().__init__(query, serial)
        self.operator_state: Any = None
        self.wake_up = INFINITY
        self.requested_time = INFINITY
        self.answered_time: int | None = None

    def forget_operator(self) -> None:
        """Make the key as good as a new one for the operator."""
        self.operator_state = None
        self.wake_up = INFINITY
        self.requested_time = INFINITY
        self.answered_time = None

    def set_wake_up(self, requested_time: int | None, call_time: int, first_possible: int) -> None:
        """Set the time at which the operator is woken next.

        A time that has passed is answered as soon as possible, and only once: an operator that asks for the same time
        again has not noticed its wake-up, and would be called without end.

        Args:
            requested_time: The time that the operator asks for; None if it asks for none.
            call_time: The time of the call after which it asks.
            first_possible: The earliest time at which it can be woken.
        """
        if requested_time != self.answered_time:
            self.answered_time = None  # the operator has noticed its wake-up, and may ask for that time anew
        if requested_time is None or (requested_time <= call_time and requested_time == self.answered_time):
            self.requested_time = INFINITY
            self.wake_up = INFINITY
            return
        self.requested_time = requested_time
        self.wake_up = max(requested_time, first_possible)

    @property
    def is_empty(self) -> bool:
        """True if forgetting the key loses nothing."""
        return self.operator_state is None and self.wake_up == INFINITY and super().is_empty

    def state_rows(self, states: StateReader, inputs: Sequence[NamedInput]) -> Iterator[StateRow]:
        """Yield the events that wait, the operator's state, and its wake-up."""
        yield from super().state_rows(states, inputs)
        key_row = StateRow("key", key=(), start=EARLIEST, end=INFINITY, value=None)
        if self.operator_state is not None:
            yield from states.rows(key_row, [self.operator_state])
        if self.wake_up < INFINITY:
            yield key_row._replace(kind="wake-up", start=self.wake_up)

    def follower_data(self, serializer: StateSerializer, key: object, *, is_whole: bool) -> list[object]:
        """Return the operator's state, its wake-up, and the time that was answered last.

        `requested_time` is not stored: it equals `wake_up` now, since a request for a time that had passed was answered
        in its own micro-batch.
        """
        del is_whole
        packed: list[bytes] = []
        if self.operator_state is not None:  # as the state of the only module in one window
            packed = serializer.pack([[self.operator_state]], key, [ALWAYS])
        return [packed, serializer.schema_version, self.wake_up, self.answered_time]

    def restore_follower(self, stored: Sequence[FollowerRecord], serializer: StateSerializer, key: object) -> None:
        """Restore the operator's state and its wake-up; each record has them whole, so the last one is enough."""
        packed, schema_version, self.wake_up, *answered_times = stored[-1].data
        self.requested_time = self.wake_up
        if answered_times:  # earlier versions stored none: they woke an operator only at times that lay ahead
            (self.answered_time,) = answered_times
        if packed:
            ((self.operator_state,),) = serializer.unpack(packed, schema_version, key, [ALWAYS])


class LastingState(OperatorState):
    """The state of a key whose operator is called when events end, too."""

    releases_ends = True


class StreamRun(OrderedRun):
    """A micro-batch of released events: the operator is called with them, and is woken, in order of time.

    Cost: what the operator's calls cost.
    """

    state_class = OperatorState
    state: OperatorState

    def __init__(self, query: EvaluatorQuery, start: BatchStart) -> None:
        """Begin a micro-batch."""
        if isinstance(query.bindings[0].module, IntervalOperator):
            self.state_class = LastingState
        super().__init__(query, start)
        self._calls = query.once(OperatorCalls)

    def output_watermark(self, earliest: int) -> int:
        """Return the watermark: later releases lie there or after it, and no row lies before its cause."""
        del earliest
        return self.progress.watermark

    def timer_of(self, state: OperatorState) -> KeyTimer:
        """Return the timer of a key: when the next event is released, or the operator is woken."""
        closing = min(state.due(self.key_progress.watermark), state.wake_up)
        return KeyTimer(closing=closing, visibility=INFINITY, output_watermark=INFINITY)

    def process_released(self, released: Iterable[Edge], previous: Progress, progress: Progress) -> None:
        """Call the operator with each event, and wake it at the times between."""
        del previous  # the released events depend on it already
        key = self.key
        state = self.state
        calls = self._calls
        self._wake_ups_left = self.query.most_wake_ups
        # The time of the last wake-up, for messages. Until the operator is woken, it is the time of the next wake-up.
        self._woken = state.wake_up
        for time, is_start, event in released:
            payload = calls.select(event.payload)
            if payload is SKIPPED:
                continue
            self._advance(time)
            tick = Window(time, time + 1)
            if state.operator_state is None:
                state.operator_state = calls.create_state(key, tick)
            self._wake_ups_left += 1  # each event allows one more
            rows = calls.on_event(key, tick, state.operator_state, payload, is_end=not is_start)
            # The next event may have the same time. The operator is woken between events of different times only: so
            # the next wake-up lies a tick later at the earliest.
            self._finish_call(tick, rows, first_wake_up=time + 1)
        if progress.watermark < INFINITY:
            self._advance(progress.watermark)
            return
        self._advance(progress.horizon)
        self._finish_key()
        state.forget_operator()

    def _advance(self, time: int) -> None:
        """Wake the operator at each time that it asks for, up to a time.

        Raises:
            ModuleContractError: The operator asks for more wake-ups in the micro-batch than it may.
        """
        while (wake_up := self.state.wake_up) <= time:
            if self._wake_ups_left <= 0:
                raise too_many_wake_ups(
                    self._calls.label,
                    self.key,
                    limit=self.query.most_wake_ups,
                    woken_at=self._woken,
                    next_wake_up=wake_up,
                    watermark=time,
                    axis=self.query.axis,
                )
            self._wake(wake_up)

    def _finish_key(self) -> None:
        """Wake the operator, at the end of the stream, at the times that it still asks for.

        A periodic operator is woken once: it would ask for another time without end.

        Raises:
            ModuleContractError: The operator is not declared as periodic, and asks for more wake-ups than it may.
        """
        state = self.state
        if self._calls.is_periodic:
            if state.wake_up < INFINITY:
                self._wake(state.wake_up)
            return
        while state.wake_up < INFINITY:
            if self._wake_ups_left <= 0:
                raise wake_ups_without_end(
                    self._calls.label,
                    self.key,
                    limit=self.query.most_wake_ups,
                    woken_at=self._woken,
                    next_wake_up=state.wake_up,
                    axis=self.query.axis,
                )
            self._wake(state.wake_up)

    def _wake(self, time: int) -> None:
        """Wake the operator at a time: the one that it asked for, or a later one if that had passed."""
        key = self.key
        state = self.state
        tick = Window(time, time + 1)
        self._wake_ups_left -= 1
        self._woken = time
        state.answered_time = state.requested_time
        rows = self._calls.on_time(key, tick, state.operator_state)
        # If it asks for another time that has passed, it is woken again at the same tick.
        self._finish_call(tick, rows, first_wake_up=time)

    def _finish_call(self, tick: Window, rows: list[Any], first_wake_up: int) -> None:
        """Emit the rows of a call; then ask the operator if the key can be forgotten, and when it is to be woken.

        Args:
            tick: The tick of the call.
            rows: The rows that the operator returned.
            first_wake_up: The earliest time at which the operator can be woken.
        """
        key = self.key
        state = self.state
        calls = self._calls
        for row in rows:
            start, end, value = calls.output(key, tick.start, row)
            self.output.append(OutputChange(OutputKind.INSERT, state.next_serial(), tick, start, end, value))
        if calls.is_empty(key, tick, state.operator_state):
            state.forget_operator()
            return
        requested_time = calls.next_time(key, tick, state.operator_state)
        state.set_wake_up(requested_time, call_time=tick.start, first_possible=first_wake_up)
