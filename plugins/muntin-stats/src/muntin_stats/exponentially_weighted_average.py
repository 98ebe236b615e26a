"""The average in which what is newer weighs more."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp2

from muntin import Aggregate, Event, Window
from muntin.axis import Duration, ticks
from muntin_stats.exact import nearest, whole
from muntin_stats.number import N, Number
from muntin_stats.parameters import positive_share
from muntin_stats.total import Total


class ExponentiallyWeightedAverage(Aggregate[N | None, float | None]):
    """Average the members of a window in the order of their times, the newest of which weighs most.

    With `half_life`, a member that starts one half-life before the newest one weighs half as much as it, one that
    starts two before a quarter, and so on. With `alpha`, each member weighs `1 - alpha` times what the next one weighs,
    however far they are apart. The result is the sum of the weighted payloads by the sum of the weights, as by
    `ewm(halflife=..., times=...)` and `ewm(alpha=...)` of pandas.

    Of members that start together, the first by the query's `events(order=...)` comes first; of those that are alike in
    it too, or without it, the smaller payload.

    Args:
        half_life: A duration, in ticks or as text such as `"10 minutes"`.
        alpha: The weight of the newest member against all before it, above 0 and up to 1. One of both is given.

    Types: float, int or Decimal to float.
    Nulls: skipped, as if there were no such member; the result is null where there is nothing else.
    NaN: the average is NaN. Infinities of both signs also give NaN.

    Laws: it reads the order, and nothing but the members: weighted floats are rounded one by one, the quotient of
        their sums once. Of ints and Decimals nothing but the quotient is rounded, and the weights.

    Cost: all members of a window, sorted, for each result.

    Example:
        >>> average, window = ExponentiallyWeightedAverage(half_life=5), Window(0, 10)
        >>> average.compute_result([Event(0, 1, 1.0), Event(5, 6, 4.0), Event(7, 8, None)], window)
        3.0
    """

    name, version = "stats.exponentially_weighted_average", "0.1.0"
    aliases = ("ewma", "ema", "ewm")
    is_time_sensitive = True
    reads_order = True

    def __init__(self, half_life: Duration | None = None, alpha: float | None = None) -> None:
        if (half_life is None) == (alpha is None):
            given = "neither" if alpha is None else "both"
            raise ValueError(f"either half_life, such as '10 minutes', or alpha, such as 0.5, got {given}")
        self.half_life = None if half_life is None else ticks(half_life)
        if self.half_life is not None and self.half_life <= 0:
            raise ValueError(f"half_life must be positive, got {half_life!r}")
        self.alpha = None if alpha is None else positive_share("alpha", alpha)

    def compute_result(self, events: Sequence[Event[N | None]], window: Window) -> float | None:
        """Return the average."""
        members: list[tuple[int, Number]] = [
            (event.start, event.payload) for event in events if event.payload is not None
        ]
        if not members:
            return None
        if self.half_life is not None:
            newest = members[-1][0]
            weights = [exp2((start - newest) / self.half_life) for start, _ in members]
        else:
            assert self.alpha is not None
            weights = [(1.0 - self.alpha) ** before for before in range(len(members) - 1, -1, -1)]
        numbers: list[Number] = []
        shares: list[float] = []
        for (_, number), weight in zip(members, weights, strict=True):
            if weight:  # what weighs nothing counts for nothing, infinities too
                numbers.append(number)
                shares.append(weight)
        return _weighted_average(numbers, shares)


def _weighted_average(numbers: Sequence[Number], weights: Sequence[float]) -> float:
    """Return the sum of weighted numbers by that of the weights, none of which is zero."""
    shares, share_scale = whole(weights)
    floats: list[float] = []
    others = Fraction(0)
    for number, weight in zip(numbers, weights, strict=True):
        if isinstance(number, float):
            floats.append(number * weight)
        else:
            others += Fraction(number) * Fraction(weight)
    total = Total.of(floats)
    if total.odd is not None:
        return total.odd
    if not others:
        values, scale = whole(total.finite)
        return nearest(sum(values) << share_scale, sum(shares) << scale)
    exact = (total.exact + others) * (1 << share_scale)
    return nearest(exact.numerator, exact.denominator * sum(shares))
