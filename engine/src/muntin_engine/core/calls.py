"""Calls of modules: the time they take, and the one that runs in this process.

A meter measures the calls of one module: all at first, then a sample. `RUNNING` is for a watchdog, and for error
messages after the process has died: callers of modules record each call there, as cheaply as possible, when the module
or the window changes. A process has one, as it runs one task at a time. In a Spark worker it writes a trace, which
outlives the process; elsewhere it writes none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter_ns
from types import CodeType
from typing import Any, Final, NamedTuple, ParamSpec, Protocol, TypeAlias, TypeVar

from muntin import Window

Arguments = ParamSpec("Arguments")
T = TypeVar("T")

Clock: TypeAlias = Callable[[], int]
"""Returns nanoseconds; only differences mean anything."""

clock: Final[Clock] = perf_counter_ns
"""The clock that measures the times of a query."""

TIMED: Final = 32
"""So many calls are timed, all of them."""

STRIDE: Final = 31
"""From then on one call of so many is timed, as a sample. A prime: methods are called in turn."""

_NEVER: Final = 2**62


class LongCalls(NamedTuple):
    """Calls that ran for longer than a watchdog allows.

    Attributes:
        number: How many.
        longest: For how many nanoseconds the longest was seen running, when the watchdog last looked.
    """

    number: int = 0
    longest: int = 0


def no_clock() -> int:
    """Stand in for a clock where nothing is measured."""
    return 0


class Meter:
    """Measures the calls of one module, from one `take` to the next.

    Calls that come one by one are sampled; `sampled` returns the method to call:

        meter.sampled(method)(state)

    A loop over many keys is timed as a whole, with `now` and `since`.

    Cost: 40 nanoseconds per call where `skips` is looked at and counted down in place, as `sampled` does; half a
    microsecond more for each that is timed. A sample misses most of the few calls that take long, so these are not
    found here: a watchdog, which looks at calls from outside, tells of them with `ran_long`.

    Attributes:
        skips: How many calls are not to be timed before the next one that is.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        """Start a meter; without a clock it measures nothing."""
        self.now: Clock = clock or no_clock
        self._is_on = clock is not None
        self._spent = 0
        self._takes = 0
        self._first = TIMED
        self._long = LongCalls()
        self.skips = 0 if self._is_on else _NEVER

    def sampled(self, method: Callable[Arguments, T]) -> Callable[Arguments, T]:
        """Return a method for one call, which may be timed."""
        if self.skips:
            self.skips -= 1
            return method
        return self.timed(method)

    def timed(self, method: Callable[Arguments, T]) -> Callable[Arguments, T]:
        """Return a method that takes note of the time of one call, for itself and those that are skipped after it."""
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

    def ran_long(self, nanoseconds: int, *, is_new: bool) -> None:
        """Take note of a call that is still running after so long.

        Args:
            nanoseconds: How long it has been running.
            is_new: False if the same call was told of before.
        """
        self._long = LongCalls(self._long.number + is_new, max(self._long.longest, nanoseconds))

    def take_long(self) -> LongCalls:
        """Return the calls that ran for long since the last call of this method, and start anew."""
        found, self._long = self._long, LongCalls()
        return found

    def take(self) -> int:
        """Return the nanoseconds since the last call of this method, and start anew.

        How many calls are timed first changes from time to time: calls that come in the same order in each batch all
        get their turn.
        """
        self._takes += 1
        spent, self._spent, self._first = self._spent, 0, TIMED + self._takes % STRIDE
        self.skips = 0 if self._is_on else _NEVER
        return spent

    def __reduce__(self) -> tuple[object, ...]:
        return Meter, (self.now if self._is_on else None,)


class Call(NamedTuple):
    """A call of a module's method.

    Attributes:
        label: The module, by name and version.
        method: The method.
        key: Whose window it is; None where that is not known.
        window: The window, or the slice; None where that is not known.
        place: How far a loop of calls is; 0 for a single one.
        meter: The meter of the module; None if it has none.
    """

    label: str
    method: str
    key: object = None
    window: Window | None = None
    place: int = 0
    meter: Meter | None = None


class Trace(Protocol):
    """Takes note of what runs, where it can be read when the process is gone."""

    def module(self, label: str) -> None:
        """Take note of a module, whose window is not known yet."""
        ...

    def place(self, key: object, window: Window) -> None:
        """Take note of a key and a window."""
        ...


class Running:
    """The running module call.

    Cost: 30 nanoseconds for a call where `window` and `label` are compared in place, as `Computation` does; where they
    have changed and there is a trace, a quarter of a microsecond more.

    Attributes:
        label: The module that was called last, by name and version.
        earlier: The same of earlier tasks of the process.
        key: The key of the window.
        window: The window.
        locate: Returns the key and the window of one of many calls, by its place.
    """

    def __init__(self) -> None:
        self.label = self.earlier = ""
        self.window: Window | None = None
        self.locate: Callable[[int], tuple[object, Window]] | None = None
        self.key: object = None
        self._trace: Trace | None = None

    def begin(self, trace: Trace | None) -> None:
        """Start afresh, with a trace or none."""
        self.earlier = self.label or self.earlier
        self.label, self.key, self.window, self.locate = "", None, None, None
        self._trace = trace

    def one(self, label: str, key: object, window: Window) -> None:
        """Say that a module is called for a window."""
        self.key, self.window, self.locate = key, window, None
        trace = self._trace
        if trace is None:
            self.label = label
            return
        if label is not self.label:
            self.label = label
            trace.module(label)
        trace.place(key, window)

    def many(self, label: str, locate: Callable[[int], tuple[object, Window]] | None = None) -> None:
        """Say that a module is called for many windows in turn."""
        self.window, self.locate = None, locate
        self.label = label
        if self._trace is not None:
            self._trace.module(label)


RUNNING: Final = Running()

Locals: TypeAlias = Mapping[str, Any]
"""The local variables of a function that is running, by name."""

CALLS: Final[dict[CodeType, Callable[[Locals], Call]]] = {}
"""By the code of each function that calls modules, what says of its local variables which call it is at."""


def describe_calls(function: Callable[..., object], describe: Callable[[Locals], Call]) -> None:
    """Say for the watchdog which call a function is at, from its local variables."""
    CALLS[function.__code__] = describe
