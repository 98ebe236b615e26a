"""The difference of the averages of two streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from muntin_stats.amount import Amount
from muntin_stats.exact import nearest
from muntin_stats.group import Fieldwise, GroupAggregate
from muntin_stats.number import M, N, Number
from muntin_stats.sides import Left, Right


@dataclass(slots=True)
class Totals(Fieldwise):
    """The exact sums of both streams, with their numbers of values."""

    left: Amount
    right: Amount


class AverageDifference(GroupAggregate[Left[N] | Right[M], Totals, float | None]):
    """Subtract the average of the right stream from that of the left one, such as those of two sensors.

    Types: `Left(value)` and `Right(value)`, each a float, int or Decimal, to float. A query gives a column of each of
        two streams.
    Nulls: skipped; the result is null where a stream has no other value in the window.
    NaN: the difference is NaN where an average is, and where both are the same infinity; taking them out again undoes
        that.

    Laws: both sums are kept exactly, so removing, combining and deducting are exact. Of floats each quotient is rounded
        once, and then their difference; with ints or Decimals only the difference is.

    Cost: twice that of `Average`.

    Example:
        >>> difference = AverageDifference()
        >>> state = difference.add_events(difference.create_state(), [Left(21.5), Right(4.0), Left(20.5), Right(6.0)])
        >>> difference.compute_result(state)
        16.0
    """

    name, version = "stats.average_difference", "0.1.0"

    def lift(self, payloads: Sequence[Left[N] | Right[M]]) -> Totals:
        """Return the sums of payloads, stream by stream."""
        left: list[Number] = []
        right: list[Number] = []
        for payload in payloads:
            if payload.value is not None:
                numbers = left if isinstance(payload, Left) else right
                numbers.append(payload.value)
        return Totals(Amount.of(left), Amount.of(right))

    def compute_result(self, state: Totals) -> float | None:
        """Return the difference; null where a stream has no values."""
        left = state.left
        right = state.right
        if not (left.count and right.count):
            return None
        are_floats = not (left.exact_count or right.exact_count)
        # A NaN or an infinity decides the average of its stream.
        has_not_finite = left.floats.not_finite is not None or right.floats.not_finite is not None
        if are_floats or has_not_finite:
            return left.over(left.count) - right.over(right.count)
        # Whole numbers or decimals: subtract exact averages, and round once.
        difference = left.exact / left.count - right.exact / right.count
        return nearest(difference.numerator, difference.denominator)
