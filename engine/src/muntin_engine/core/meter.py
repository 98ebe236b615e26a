"""Measure the time of a module's calls: of all at first, then of a sample."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Final, NamedTuple, ParamSpec, TypeAlias, TypeVar

Arguments = ParamSpec("Arguments")
T = TypeVar("T")

Clock: TypeAlias = Callable[[], int]
"""Returns nanoseconds; only differences mean anything."""

clock: Final[Clock] = perf_counter_ns
"""What the times of a query are measured by."""

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
