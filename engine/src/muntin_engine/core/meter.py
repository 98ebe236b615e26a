"""How long the calls of a module take: all of them at first, then some that stand for the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

Arguments = ParamSpec("Arguments")
T = TypeVar("T")

Clock: TypeAlias = Callable[[], int]
"""Returns nanoseconds; only differences mean anything."""

TIMED: Final = 32
"""So many calls are timed, all of them."""

STRIDE: Final = 31
"""From then on one of so many is timed, and stands for the others. A prime: methods are called in turn."""

_NEVER: Final = 2**62


def no_clock() -> int:
    """Stand in for a clock where nothing is measured."""
    return 0


class Meter:
    """Measures the calls of one module, from one `take` to the next.

    Calls that come one by one are sampled; `sampled` returns the method to call:

        meter.sampled(method)(state)

    A loop over many keys is timed as a whole, with `now` and `since`.

    Cost: 40 nanoseconds per call where `skips` is looked at and counted down in place, as `sampled` does; half a
    microsecond more for each that is timed.

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

    def take(self) -> int:
        """Return the nanoseconds since it was last asked, and start anew.

        How many calls are timed first changes from time to time: calls that come in the same order in each batch all
        get their turn.
        """
        self._takes += 1
        spent, self._spent, self._first = self._spent, 0, TIMED + self._takes % STRIDE
        self.skips = 0 if self._is_on else _NEVER
        return spent

    def __reduce__(self) -> tuple[Any, ...]:
        return Meter, (self.now if self._is_on else None,)
