"""A histogram: the number of values between each pair of limits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import add, sub

from muntin import IncrementalAggregate
from muntin_stats.number import N, Number
from muntin_stats.order import is_nan, present
from muntin_stats.parameters import ascending


class Histogram(IncrementalAggregate[N | None, list[int], list[int]]):
    """Count the members of a window that lie between limits.

    The first count is that of members below the first limit, the next that of members from the first limit up to but
    not including the second, and so on; the last is that of members from the last limit on. So there is one more count
    than there are limits, and together they count every payload that is not null.

    Args:
        limits: Finite numbers, at least one, each larger than the one before.

    Types: float, int or Decimal to a list of int. A number is compared with a limit exactly, whatever their types.
    Nulls: skipped; all counts are zero where there is nothing else.
    NaN: larger than any number, so in the last count.

    Laws: counts are whole numbers, so removing, combining and deducting are exact.

    Cost: an int per count and window, a binary search per payload.

    Example:
        >>> histogram = Histogram([0.0, 10.0])
        >>> histogram.compute_result(histogram.add_events(histogram.create_state(), [-1.0, 0.0, 9.9, 10.0, None]))
        [1, 2, 1]
    """

    name, version = "stats.histogram", "0.1.0"
    aliases = ("hist",)

    def __init__(self, limits: Sequence[float]) -> None:
        self.limits = ascending("limits", limits)

    def create_state(self) -> list[int]:
        """Return zeros."""
        return [0] * (len(self.limits) + 1)

    def add_events(self, state: list[int], payloads: Sequence[N | None]) -> list[int]:
        """Count payloads in."""
        return self._counted(state, payloads, 1)

    def remove_events(self, state: list[int], payloads: Sequence[N | None]) -> list[int]:
        """Count payloads out."""
        return self._counted(state, payloads, -1)

    def combine(self, state: list[int], other: list[int]) -> list[int]:
        """Add the counts of both states."""
        return list(map(add, state, other))

    def deduct(self, state: list[int], other: list[int]) -> list[int]:
        """Subtract the counts of another state."""
        return list(map(sub, state, other))

    def compute_result(self, state: list[int]) -> list[int]:
        """Return the counts."""
        return list(state)

    def _counted(self, state: list[int], payloads: Sequence[N | None], step: int) -> list[int]:
        """Change the count of each payload's bin by a step; NaN is larger than any limit, and in the last bin."""
        numbers: Sequence[Number] = present(payloads)
        for number in numbers:
            bin_index = len(self.limits) if is_nan(number) else bisect_right(self.limits, number)
            state[bin_index] += step
        return state
