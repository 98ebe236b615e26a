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
"""The number of calls at the beginning that are all timed."""

STRIDE: Final = 31
"""The number of later calls of which one is timed, as a sample.

It is a prime, as several methods are often called in turn: otherwise the sample might always meet the same one.
"""

_ALL_CALLS: Final = 2**62
"""More calls than a process makes."""


def no_clock() -> int:
    """Stand in for a clock where nothing is measured."""
    return 0


class Meter:
    """Measures how long the calls of one module take, from one `take` to the next.

    Of calls that come one by one only a sample is timed; `sampled` returns the method to call:

        meter.sampled(method)(state)

    A loop over many keys is timed as a whole, with `now` and `since`.

    Cost: 40 nanoseconds per call if the caller looks at `skips` and counts it down itself, as `sampled` does; half a
    microsecond more for each call that is timed. If few calls take long, a sample misses most of them.

    Attributes:
        skips: The number of calls that are not timed before the next timed one.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        """Start a meter; without a clock it measures nothing."""
        self.now: Clock = clock or no_clock
        self._is_on = clock is not None
        self._nanoseconds = 0
        self._takes = 0
        self._calls_before_sample = TIMED  # of the calls that are all timed, those that are left
        self.skips = 0 if self._is_on else _ALL_CALLS

    def sampled(self, method: Callable[Arguments, T]) -> Callable[Arguments, T]:
        """Count a call, and return the method for it: as it is, or one that is timed if the call is in the sample."""
        if self.skips:
            self.skips -= 1
            return method
        return self.timed(method)

    def timed(self, method: Callable[Arguments, T]) -> Callable[Arguments, T]:
        """Return the method such that its call is timed, and set `skips`, the number of calls after it that are not.

        The time counts for those calls too.
        """
        self._calls_before_sample -= 1
        self.skips = 0 if self._calls_before_sample > 0 else STRIDE - 1
        weight = 1 + self.skips  # the number of calls for which the time of this one stands

        def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> T:
            """Call the method, and add its time even if it fails."""
            started = self.now()
            try:
                return method(*arguments, **keywords)
            finally:
                self._nanoseconds += (self.now() - started) * weight

        return call

    def since(self, started: int) -> None:
        """Add the time from an earlier `now` until now."""
        self._nanoseconds += self.now() - started

    def take(self) -> int:
        """Return the nanoseconds measured since the last call of this method, and set them to zero.

        The calls may come in the same order in each batch. So the number of calls at the beginning that are all timed
        differs from batch to batch, and the sample after them meets other calls each time.
        """
        nanoseconds = self._nanoseconds
        self._nanoseconds = 0
        self._takes += 1
        self._calls_before_sample = TIMED + self._takes % STRIDE
        self.skips = 0 if self._is_on else _ALL_CALLS
        return nanoseconds

    def __reduce__(self) -> tuple[object, ...]:
        return Meter, (self.now if self._is_on else None,)  # a copy in another process begins at zero
