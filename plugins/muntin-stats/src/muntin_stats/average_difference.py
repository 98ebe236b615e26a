"""The difference of the averages of two streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin_stats.group import Fieldwise, GroupAggregate
from muntin_stats.sides import Left, Right
from muntin_stats.total import Total


@dataclass(slots=True)
class Totals(Fieldwise):
    """The exact sums of both streams, with the number of their values."""

    left: Total
    right: Total


class AverageDifference(GroupAggregate[Left[float] | Right[float], Totals, float | None]):
    """Subtract the average of the right stream from that of the left one, such as those of two sensors.

    Types: `Left(value)` and `Right(value)`, floats, to float. A query gives a column of each of two streams.
    Nulls: skipped; the result is null where a stream has no other value in the window.
    NaN: the difference is NaN where an average is, and where both are the same infinity; taking them out again undoes
        that.

    Laws: both sums are kept exactly and each quotient is rounded once, so removing, combining and deducting are exact.

    Cost: twice that of `Average`.

    Example:
        >>> difference = AverageDifference()
        >>> state = difference.add_events(difference.create_state(), [Left(21.5), Right(4.0), Left(20.5), Right(6.0)])
        >>> difference.compute_result(state)
        16.0
    """

    name, version = "stats.average_difference", "0.1.0"

    def lift(self, payloads: Sequence[Left[float] | Right[float]]) -> Totals:
        """Return the sums of these alone."""
        present = [payload for payload in payloads if payload.value is not None]
        left, right = (
            Total.of([side.value for side in present if isinstance(side, kind) and side.value is not None])
            for kind in (Left, Right)
        )
        return Totals(left, right)

    def compute_result(self, state: Totals) -> float | None:
        """Return the difference; null where a stream is silent."""
        if not (state.left.count and state.right.count):
            return None
        return state.left.over(state.left.count) - state.right.over(state.right.count)
