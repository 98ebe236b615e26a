"""The time that calls of a module take: all calls are timed at first, then a sample."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Final, ParamSpec, TypeAlias, TypeVar

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
        self._nanoseconds = 0
        self._takes = 0
        self._calls_timed_first = TIMED  # those that are left of them
        self.skips = 0 if self._is_on else _ALL_CALLS

    def sampled(self, method: Callable[Arguments, T]) -> Callable[Arguments, T]:
        """Return a method for one call, which may be timed."""
        if self.skips:
            self.skips -= 1
            return method
        return self.timed(method)

    def timed(self, method: Callable[Arguments, T]) -> Callable[Arguments, T]:
        """Return a method that times its call, and counts that time for the calls too that are not timed after it."""
        self._calls_timed_first -= 1
        self.skips = 0 if self._calls_timed_first > 0 else STRIDE - 1
        weight = 1 + self.skips

        def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> T:
            started = self.now()
            try:
                return method(*arguments, **named)
            finally:
                self._nanoseconds += (self.now() - started) * weight

        return call

    def since(self, started: int) -> None:
        """Add the time from an earlier `now` until now."""
        self._nanoseconds += self.now() - started

    def take(self) -> int:
        """Return the nanoseconds since the last call of this method, and start anew.

        How many calls are timed first changes from time to time: calls that come in the same order in each batch all
        get their turn.
        """
        nanoseconds = self._nanoseconds
        self._nanoseconds = 0
        self._takes += 1
        self._calls_timed_first = TIMED + self._takes % STRIDE
        self.skips = 0 if self._is_on else _ALL_CALLS
        return nanoseconds

    def __reduce__(self) -> tuple[object, ...]:
        return Meter, (self.now if self._is_on else None,)  # a copy in another process begins at zero
