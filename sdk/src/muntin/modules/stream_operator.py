"""Operators over a stream itself: each event in turn, and times to be woken at, without windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, cast, final

from typing_extensions import TypeVar

from muntin.axis import AnyAxis
from muntin.errors import ModuleContractError
from muntin.errors.safe_text import safe_repr
from muntin.events import Event
from muntin.modules.module import Module
from muntin.modules.needs import Needs
from muntin.windows.specification import Unwindowed

In = TypeVar("In")
State = TypeVar("State")
Row = TypeVar("Row")

METHODS: Final = ("create_state", "on_event", "on_time", "next_time", "is_empty")
"""The methods that the engine calls."""

METHODS_OF_INTERVALS: Final = (*METHODS, "on_start", "on_end")
"""The methods of an `IntervalOperator` that the engine calls."""

MOST_WAKE_UPS: Final = 1_000_000
"""The most wake-ups of a key in one micro-batch, besides one for each of its events, unless a session sets another."""


class StreamOperator(Module, ABC, Generic[In, State, Row]):
    """Follow the events of a stream one by one, without windows, and be woken at times that the operator names.

    The engine keeps one state per key. It calls `on_event` with each event, in order of time, when the watermark has
    passed the event. After each call it calls `is_empty`, and, unless that is True, `next_time` for the next wake-up.
    When the watermark reaches that time, it calls `on_time`: all events before that time have been handed over, and no
    event at that time or later. So results depend on the events alone, neither on the order of arrival nor on
    micro-batches and restarts. Events of one time come in the query's `order`, and events that are alike in it in an
    order of their values.

    `on_event` and `on_time` get the state first and the time last, in ticks of the axis: microseconds since the epoch,
    where times are timestamps. They may change the state in place, so it is a dict, a list or a dataclass of plain
    data, but they leave payloads as they are. `next_time` and `is_empty` only read the state. An operator that leaves
    `create_state` out is *stateless*: its state is None, and each event counts by itself. Both calls may return rows. A
    bare row is a point at the time of the call. A row that is returned as an `Event` keeps its lifetime, which may not
    start before the time of the call, so that the output is as complete as the input.

    Only the latest answer of `next_time` counts; None means that there is no wake-up. If the answer is not after the
    last call, its time has passed: the wake-up comes as soon as possible, which is a tick after an event and at once
    after another wake-up, and `on_time` gets the time at which it comes. That happens once: an operator that was woken
    for a time and asks for the same time again has no wake-up until it asks for another time. A length in the place of
    a time is an error. When `is_empty` returns True, the engine forgets the key with its wake-up: the next event of the
    key starts with a new state.

    An operator that asks for a wake-up after each wake-up is called again and again up to the watermark, so it should
    add a length to the time: `time + 1` is the next microsecond, where times are timestamps. A micro-batch in which a
    key gets more than 1,000,000 wake-ups, besides one for each event, fails; `spark.muntin.wakeups.limit` sets another
    number.

    When the stream ends, all wake-ups that a key waits for are called, in order, until the operator asks for none. An
    operator that asks again and again would never end, so it sets `is_periodic = True`: it is then woken up to the last
    time of the input, and once more. That last time is the horizon, the first tick after all events and watermarks of
    all keys.

    Only points can be followed, because the end of an event may still be revised when the watermark passes its start;
    an `IntervalOperator` is told of starts and ends. An event that is retracted before the watermark passes its start
    is never handed over.

    Laws (checked by `muntin.testing.StreamOperatorLaws`): 1. *Types.* Rows are of the declared type. 2. *Time.* No row
    starts before the time of its call. 3. *Plain data.* A state that was stored and read back gives the same results.
    4. *No memory.* Results depend on the state and the events alone: not on other attributes, a clock or randomness.
    5. *Questions.* `next_time` and `is_empty` change nothing. 6. *Emptiness.* Forgetting a key that `is_empty` changes
    no result. 7. *Events are read-only.* 8. *Lengths.* Without events, wake-ups do not come at one tick after another.
    9. *Progress.* After a wake-up, the operator does not ask for the same time again. 10. *An end.* Without events, it
    asks for a finite number of wake-ups, unless it is periodic.

    Attributes:
        is_periodic: True if the operator asks for wake-ups without end, such as one that reports at each full hour. A
            class or an instance sets it.

    Cost: a call per event and wake-up, each with a call of `next_time` and `is_empty`. A micro-batch reads and writes
    only the states of the keys that have events, or a wake-up that is due. A key is kept until `is_empty` returns True.
    A stateless operator over events without a watermark costs no shuffle, no state and no wait: it gets each event
    where the row is read.

    Source: `CepTimeStreamOperator` of StreamInsight, with `NextCti` and `IsEmpty`; `KeyedProcessFunction` of Flink.

    Example:
        An alert where no event has come for ten ticks:

        >>> class Silence(StreamOperator[str, dict[str, int], str]):
        ...     name, version = "demo.silence", "1.0.0"
        ...     def create_state(self):
        ...         return {}
        ...     def on_event(self, state, payload, time):
        ...         state["last"] = time
        ...     def next_time(self, state):
        ...         return state["last"] + 10
        ...     def on_time(self, state, time):
        ...         state.clear()
        ...         return [f"silent for 10 at {time}"]
        ...     def is_empty(self, state):
        ...         return not state
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> events = [Event.point(1, "a"), Event.point(8, "b"), Event.point(30, "c")]
        >>> [(row.start, row.value) for row in evaluate(WindowedQuery.unwindowed(Silence()), events)]
        [(18, 'silent for 10 at 18'), (40, 'silent for 10 at 40')]
    """

    _roles: ClassVar[tuple[str, ...]] = ("input", "state", "result")
    is_operator: ClassVar[bool] = True
    is_periodic: bool = False
    needs: ClassVar[Needs] = Needs(windows=(Unwindowed,))

    if TYPE_CHECKING:  # a type checker compares an optional method with this; at run time a class has it or not

        @property
        def upgrade_state(self) -> Callable[[Any, str], State] | None:
            """Return the state of this version for a state that an older version wrote into a checkpoint."""

    def create_state(self) -> State:
        """Return the state of a new key; None, the default, for an operator without one.

        Called at any time; never return a shared object.
        """
        return cast("State", None)

    @abstractmethod
    def on_event(self, state: State, payload: In, time: int) -> Iterable[Event[Row] | Row] | None:
        """Handle the next event.

        Args:
            state: The state of the key, which may be changed.
            payload: The payload of the event.
            time: The start of the event, in ticks.

        Returns:
            Rows of the output, or None.
        """

    def on_time(self, state: State, time: int) -> Iterable[Event[Row] | Row] | None:
        """Handle a wake-up. By default, do nothing.

        Args:
            state: The state of the key, which may be changed.
            time: The time that `next_time` returned, in ticks, or a later one if that had passed.

        Returns:
            Rows of the output, or None.
        """

    def next_time(self, state: State) -> int | None:
        """Return the time of the next wake-up, in ticks; None, the default, if there is none.

        An operator that waits for several times returns the earliest, and the next one after that wake-up.
        """

    def is_empty(self, state: State) -> bool:
        """Return True if the key can be forgotten, because its state is as good as a new one.

        By default a key with a state is kept, and one without is forgotten.
        """
        return state is None


class IntervalOperator(StreamOperator[In, State, Row], ABC):
    """Follow events that last: a `StreamOperator` with a call when an event starts, and one when it ends.

    The starts and the ends of all events of a key come in order of time, each when the watermark has passed it. At one
    time a wake-up comes first, then the ends, in the order of their starts, and then the starts, in the order that the
    query names or in that of their values. A point ends a tick after it starts, and a sample when the next one of its
    key starts. An event that never ends has a start alone.

    Events may have ids and be revised, but what is handed over is final. So `on_start` does not get the end, which may
    still move, and an event that is retracted before the watermark passes its start is never handed over.

    Everything else is as for a `StreamOperator`, and so are the laws (checked by `muntin.testing.StreamOperatorLaws`).
    A row of `on_end` starts at the end or later.

    Cost: as for a `StreamOperator`, with two calls per event. An event is kept until the watermark has passed its end,
    and a key that gets a call looks at all events that it keeps.

    Source: the edge stream operators of StreamInsight, which get start edges and end edges.

    Example:
        The number of events that are under way, whenever it changes:

        >>> class Level(IntervalOperator[str, list[int], int]):
        ...     name, version = "demo.level", "1.0.0"
        ...     def create_state(self):
        ...         return [0]
        ...     def on_start(self, state, payload, time):
        ...         state[0] += 1
        ...         return [state[0]]
        ...     def on_end(self, state, payload, time):
        ...         state[0] -= 1
        ...         return [state[0]]
        ...     def is_empty(self, state):
        ...         return state[0] == 0
        >>> from muntin.testing import WindowedQuery, evaluate
        >>> events = [Event(1, 8, "a"), Event(3, 5, "b"), Event(5, 9, "c")]
        >>> [(row.start, row.value) for row in evaluate(WindowedQuery.unwindowed(Level()), events)]
        [(1, 1), (3, 2), (5, 1), (5, 2), (8, 1), (9, 0)]
    """

    @abstractmethod
    def on_start(self, state: State, payload: In, time: int) -> Iterable[Event[Row] | Row] | None:
        """Handle the start of an event at a time; return rows of the output, or None."""

    @abstractmethod
    def on_end(self, state: State, payload: In, time: int) -> Iterable[Event[Row] | Row] | None:
        """Handle the end of an event; return rows of the output, or None.

        Args:
            state: The state of the key, which may be changed.
            payload: The payload, as `on_start` got it.
            time: The first tick after the event.
        """

    @final
    def on_event(self, state: State, payload: In, time: int) -> Iterable[Event[Row] | Row] | None:
        """Handle the start of an event: the engine calls this method for events that last, as for points."""
        return self.on_start(state, payload, time)


def too_many_wake_ups(
    label: str, key: object, *, limit: int, woken_at: int, next_wake_up: int, watermark: int, axis: AnyAxis
) -> ModuleContractError:
    """Return the error of an operator that asks for too many wake-ups in one micro-batch.

    Args:
        label: The name and version of the operator.
        key: The key.
        limit: The greatest number of wake-ups of a key.
        woken_at: The time of the last wake-up, in ticks.
        next_wake_up: The time for which the operator asks then.
        watermark: The watermark, up to which it would be woken.
        axis: The axis of the query.
    """
    return ModuleContractError(
        f"{label} asked for more than {limit:,} wake-ups of one key in one micro-batch\n  key: {safe_repr(key)}\n"
        f"  woken at {axis.spell(woken_at)}, it asks for {axis.spell(next_wake_up)}; "
        f"the watermark is {axis.spell(watermark)}\n"
        "  expected: next_time adds a length such as ticks('1 minute') to the time, "
        f"and not {next_wake_up - woken_at} in ticks\n"
        "  where so many are meant, set spark.muntin.wakeups.limit"
    )


def wake_ups_without_end(
    label: str, key: object, *, limit: int, woken_at: int, next_wake_up: int, axis: AnyAxis
) -> ModuleContractError:
    """Return the error of an operator that asks for wake-ups again and again after the stream has ended.

    Args:
        label: The name and version of the operator.
        key: The key.
        limit: The greatest number of wake-ups of a key.
        woken_at: The time of the last wake-up, in ticks.
        next_wake_up: The time for which the operator asks then.
        axis: The axis of the query.
    """
    return ModuleContractError(
        f"{label} asks for wake-ups without end: the stream has ended, and one key had {limit:,} wake-ups\n"
        f"  key: {safe_repr(key)}\n"
        f"  woken at {axis.spell(woken_at)}, it asks for {axis.spell(next_wake_up)}\n"
        "  expected: next_time returns None when nothing waits\n"
        "  an operator that is to be woken again and again sets is_periodic = True in its class: at the end of the "
        "stream it is then woken up to the last time of the input, and once more\n"
        "  where so many wake-ups are meant, set spark.muntin.wakeups.limit"
    )
