"""Triggers: rules for emitting the result of an open window early."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from itertools import chain
from typing import Any, ClassVar, Final

from muntin.axis import EARLIEST, INFINITY, TimeLength, spell_as_written
from muntin.windows.extent import Window


class Decision(Enum):
    """The decision of a trigger: wait, fire, or fire for the last time.

    Example:
        >>> Decision.FIRE_LAST.fires, Decision.FIRE_LAST.is_finished
        (True, True)
    """

    WAIT = "wait"
    """Nothing yet."""
    FIRE = "fire"
    """Emit the result so far; there may be more to come."""
    FIRE_LAST = "fire last"
    """Emit the result so far. The trigger is finished: it is not called for the window again."""
    STOP = "stop"
    """Emit nothing, now or later: the trigger is finished without firing."""

    @property
    def fires(self) -> bool:
        """True if a result is to be emitted."""
        return self in (Decision.FIRE, Decision.FIRE_LAST)

    @property
    def is_finished(self) -> bool:
        """True if the trigger is not called for the window again."""
        return self in (Decision.FIRE_LAST, Decision.STOP)


class Finished(Enum):
    """The type of `FINISHED`, which stands for the state of a finished trigger in `Trigger.merge`."""

    FINISHED = "finished"

    def __repr__(self) -> str:
        return "FINISHED"


FINISHED: Final = Finished.FINISHED
"""Stands for the state of a trigger that is finished: `Trigger.merge` gets it, and may return it."""


@dataclass(frozen=True, slots=True)
class TriggerView:
    """The changes of one window in one micro-batch, and the watermark and clock after it.

    Attributes:
        max_event_time: The larger of the watermark and the largest start seen, of all keys.
        watermark: The tick below which the input is complete: no later change has a smaller sync time.
        clock: The latest reading of a clock that the input brought, in microseconds since the epoch; `EARLIEST` while
            it brought none. It is data and no wall clock, so a replay makes the same decisions.
        arrivals: The number of members that are new in the window.
        departures: The number of members that it lost.
        newest: The largest start among the new members; `EARLIEST` if there is none.
        signals: The names of the external events that the input brought.
        values: For each expression in the trigger's `reads`, its values in the new members, ordered by their start.
        results: For each name in the trigger's `reads_results`, the result that the whole window has now.
    """

    max_event_time: int = EARLIEST
    watermark: int = EARLIEST
    clock: int = EARLIEST
    arrivals: int = 0
    departures: int = 0
    newest: int = EARLIEST
    signals: frozenset[str] = frozenset()
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)


class Trigger(ABC):
    """Decide when the result of an open window is emitted early. Subclass it as a frozen dataclass.

    A trigger knows nothing of any query, window specification or module, so one object serves any number of them; its
    fields are its parameters. It returns its *state* for a window, which the engine keeps with the window, in the
    checkpoint too. Only the engine and tests call these methods.

    A window that gets its first member gets a state. The engine then calls `step` once after each micro-batch that
    changes the window's members, passes one of its wake-ups or brings one of the trigger's `signals`. So a window fires
    at most once per micro-batch, and the order of rows within a micro-batch means nothing. A firing emits nothing if
    nothing changed since the last one. When the window is final its final result is emitted whatever the trigger
    decides, and the trigger is not called any more.

    Sessions, snapshots and other windows that are cut by events may take the place of earlier ones. A window that
    replaces another one has its members, and its trigger goes on with the same state; a window that replaces several
    goes on with their states merged by `merge`. A trigger without that method is refused over such windows. A member of
    such a window counts as new if none of the replaced windows had it.

    Laws (checked by `TriggerLaws`):

    1. *States are plain data*, which a checkpoint can hold, and `step` leaves the state that it gets as it was.
    2. *The same views give the same decisions.* A trigger reads no clock and draws no random number.
    3. *It sleeps until it is woken.* In a micro-batch that brings no member, passes no wake-up and brings none of its
       signals it would have waited, and its later decisions are the same whether it was called then or not.
    4. *Merging*, if it defines `merge`: states may be merged in any order, all at once or one after the other, with the
       same result; the result is plain data, and the states are left as they were.

    Attributes:
        name: The trigger's name in errors and checkpoints; `"<plugin>.<trigger>"` for one that a plugin offers.
        version: The trigger's own version; it is stored with a query's state.

    Cost: a call of `step` for each window and each micro-batch that touches or wakes it, so keep states small.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Delta(Trigger):
        ...     name, version = "demo.delta", "1.0.0"
        ...     column: str
        ...     threshold: float
        ...
        ...     @property
        ...     def reads(self):
        ...         return (self.column,)
        ...
        ...     def step(self, state, window, view):
        ...         values = view.values[self.column]
        ...         base = state if state is not None else next(iter(values), None)
        ...         if any(abs(value - base) > self.threshold for value in values):
        ...             return values[-1], Decision.FIRE
        ...         return base, Decision.WAIT
        ...
        ...     def merge(self, states, window):
        ...         return FINISHED if FINISHED in states else max(states)
        >>> trigger, window = Delta("price", 5.0), Window(0, 60)
        >>> trigger.step(None, window, TriggerView(arrivals=2, values={"price": [10.0, 12.0]}))
        (10.0, <Decision.WAIT: 'wait'>)
        >>> trigger.step(10.0, window, TriggerView(arrivals=1, values={"price": [16.0]}))
        (16.0, <Decision.FIRE: 'fire'>)
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1"

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(_spelled, self._values()))})"

    @property
    def parts(self) -> tuple[Trigger, ...]:
        """The triggers that this one is composed of: those among its fields."""
        return tuple(value for value in self._values() if isinstance(value, Trigger))

    def _values(self) -> Iterator[object]:
        """Yield the values of the fields, those of a tuple one by one."""
        cls: Any = type(self)
        if not is_dataclass(cls):
            return
        for parameter in fields(cls):
            value = getattr(self, parameter.name)
            if isinstance(value, tuple):
                yield from value
            else:
                yield value

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns, or other SQL expressions, whose values in the new members it reads."""
        expressions = chain.from_iterable(part.reads for part in self.parts)
        return tuple(dict.fromkeys(expressions))

    @property
    def reads_results(self) -> tuple[str, ...]:
        """The results of the window that it reads, by the names of their columns.

        The engine computes these results before each call of `step`, whether the window fires or not. They change only
        when members come or leave. In any other micro-batch a trigger must not fire because of a result, as the third
        law of `Trigger` says: it sleeps until it is woken.
        """
        names = chain.from_iterable(part.reads_results for part in self.parts)
        return tuple(dict.fromkeys(names))

    @property
    def signals(self) -> frozenset[str]:
        """The names of the external events that wake it."""
        return frozenset().union(*(part.signals for part in self.parts))

    @property
    def reads_clock(self) -> bool:
        """True if it waits for readings of the clock; an input that brings none is then refused."""
        return any(part.reads_clock for part in self.parts)

    def create_state(self, window: Window) -> Any:
        """Return the first state of a window."""
        return None

    @abstractmethod
    def step(self, state: Any, window: Window, view: TriggerView) -> tuple[Any, Decision]:
        """Return the state after a micro-batch, and the decision.

        Args:
            state: The state that this trigger returned last for the window.
            window: The window.
            view: The changes of the window. There may be none, when a wake-up has passed.
        """

    def merge(self, states: Sequence[Any], window: Window) -> Any:
        """Return the state of a window that takes the place of one or several others.

        A trigger that does not define this method cannot be used over windows that are cut by events. Beam and Flink
        call it `onMerge`.

        Args:
            states: The states of the trigger for the replaced windows, one or more; `FINISHED` where it is finished.
            window: The window that takes their place.

        Returns:
            The state with which the trigger goes on; `FINISHED` if it is finished. A trigger that goes on is stepped in
            the same micro-batch, unless the window closes.

        Example:
            Two sessions with two events each, and the event that joins them:

            >>> from muntin.triggers import after_count
            >>> joined, counting = Window(0, 30), after_count(5)
            >>> counting.step(counting.merge([2, 2], joined), joined, TriggerView(arrivals=1))[1]
            <Decision.FIRE_LAST: 'fire last'>
        """
        raise NotImplementedError(f"{self.name} does not say how its states are merged")

    @property
    def can_merge(self) -> bool:
        """True if the trigger defines `merge`, and the triggers that it is composed of do too."""
        # The inherited method only raises: a trigger that can be merged overrides it.
        return type(self).merge is not Trigger.merge and all(part.can_merge for part in self.parts)

    def next_clock(self, state: Any, window: Window) -> int:
        """Return the reading of the clock at which to call `step` again; `INFINITY` if it waits for none."""
        return INFINITY

    def next_event_time(self, state: Any, window: Window) -> int:
        """Return the max event time at which to call `step` again; `INFINITY` if it waits for none."""
        return INFINITY


def _spelled(value: object) -> str:
    """Return the value of a field of a trigger as a query writes it."""
    if isinstance(value, TimeLength):
        return spell_as_written(value)
    return str(value) if isinstance(value, Trigger) else repr(value)
