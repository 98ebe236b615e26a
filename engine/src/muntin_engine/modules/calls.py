"""Calls of modules: the time they take, and the module that this process called last.

A `Meter` measures the calls of one module: all at first, then a sample. `CURRENT_CALL` knows which module was called
last, and for which key and window: callers of modules set it before a call, as cheaply as possible. It is read where
an error does not say by itself which module it is about, and its trace where the process has died.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Final, ParamSpec, Protocol, TypeAlias, TypeVar

from muntin import Window

Arguments = ParamSpec("Arguments")
T = TypeVar("T")

Clock: TypeAlias = Callable[[], int]
"""Returns nanoseconds; only differences mean anything."""

clock: Final[Clock] = perf_counter_ns
"""The clock that measures the times of a query."""

TIMED: Final = 32
"""The number of first calls that are all timed."""

STRIDE: Final = 31
"""The number of later calls of which one is timed, as a sample. A prime: methods are called in turn."""

_ALL_CALLS: Final = 2**62
"""More calls than a process makes."""


def no_clock() -> int:
    """Stand in for a clock where nothing is measured."""
    return 0


class Meter:
    """Measures the calls of one module, from one `take` to the next.

    Calls that come one by one are sampled; `sampled` returns the method to call:

        meter.sampled(method)(state)

    A loop over many keys is timed as a whole, with `now` and `since`.

    Cost: 40 nanoseconds per call where `skips` is looked at and counted down in place, as `sampled` does; half a
    microsecond more for each that is timed. A sample misses most of the few calls that take long.

    Attributes:
        skips: The number of calls that are not timed before the next one that is.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        """Start a meter; without a clock it measures nothing."""
        self.now: Clock = clock or no_clock
        self._is_on = clock is not None
        self._spent = 0
        self._takes = 0
        self._first = TIMED
        self.skips = 0 if self._is_on else _ALL_CALLS

    def sampled(self, method: Callable[Arguments, T]) -> Callable[Arguments, T]:
        """Return a method for one call, which may be timed."""
        if self.skips:
            self.skips -= 1
            return method
        return self.timed(method)

    def timed(self, method: Callable[Arguments, T]) -> Callable[Arguments, T]:
        """Return a method that adds the time of one call, for itself and those that are skipped after it."""
        self._first -= 1
        self.skips = 0 if self._first > 0 else STRIDE - 1
        weight = 1 + self.skips

        def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> T:
            started = self.now()
            try:
                return method(*arguments, **named)
            finally:
                self._spent += (self.now() - started) * weight

        return call

    def since(self, started: int) -> None:
        """Add the time from an earlier `now` until now."""
        self._spent += self.now() - started

    def take(self) -> int:
        """Return the nanoseconds since the last call of this method, and start anew.

        How many calls are timed first changes from time to time: calls that come in the same order in each batch all
        get their turn.
        """
        spent = self._spent
        self._spent = 0
        self._takes += 1
        self._first = TIMED + self._takes % STRIDE
        self.skips = 0 if self._is_on else _ALL_CALLS
        return spent

    def __reduce__(self) -> tuple[object, ...]:
        return Meter, (self.now if self._is_on else None,)  # a copy in another process begins at zero


class Trace(Protocol):
    """Records what runs, where it can be read when the process is gone."""

    def set_module(self, label: str) -> None:
        """Record a module, whose window is not known yet."""
        ...

    def set_window(self, key: object, window: Window) -> None:
        """Record a key and a window."""
        ...


class CurrentCall:
    """The call of a module that runs, or the last one if none does.

    Cost: 30 nanoseconds for a call where `window`, `key` and `label` are compared in place, as `ModuleComputation`
    does; where one of them has changed and there is a trace, a quarter of a microsecond more.

    Attributes:
        label: The module, by name and version; empty before the first call of a task.
        previous_label: The last module of earlier tasks of the process.
        key: The key whose window it is.
        window: The window; None while a module is called for many windows in turn.
    """

    def __init__(self) -> None:
        self.label = ""
        self.previous_label = ""
        self.key: object = None
        self.window: Window | None = None
        self._trace: Trace | None = None

    def begin_task(self, trace: Trace | None) -> None:
        """Forget the calls of the task before, and record those of the next one in a trace if there is one."""
        self.previous_label = self.label or self.previous_label
        self.label = ""
        self.key = None
        self.window = None
        self._trace = trace

    def set_window(self, label: str, key: object, window: Window) -> None:
        """Record that a module is called for a window from now on."""
        trace = self._trace
        if trace is not None:
            if label is not self.label:
                trace.set_module(label)
            trace.set_window(key, window)
        self.label = label
        self.key = key
        self.window = window

    def set_module(self, label: str) -> None:
        """Record that a module is called for many windows in turn from now on."""
        self.label = label
        self.window = None
        if self._trace is not None:
            self._trace.set_module(label)


CURRENT_CALL: Final = CurrentCall()
"""The call of this process, which runs one task at a time."""
