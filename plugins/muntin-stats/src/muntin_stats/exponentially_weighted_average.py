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

    With `half_life`, a member that starts one half-life before the newest member weighs half as much, a member that
    starts two half-lives before it a quarter, and so on. With `alpha`, each member weighs `1 - alpha` times as much as
    the next one, however far they are apart. The result is the sum of the weighted payloads by the sum of the weights,
    as by `ewm(halflife=..., times=...)` and `ewm(alpha=...)` of pandas.

    Of members that start together, the first by the query's `events(order=...)` comes first; of those that are alike in
    it too, or without it, the smaller payload.

    Args:
        half_life: Duration, in ticks or as text such as `"10 minutes"`.
        alpha: Weight of the newest member against all before it, above 0 and up to 1. Give either of the two.

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
        if half_life is None and alpha is None:
            raise ValueError("either half_life, such as '10 minutes', or alpha, such as 0.5, got neither")
        if half_life is not None and alpha is not None:
            raise ValueError("either half_life, such as '10 minutes', or alpha, such as 0.5, got both")
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
        numbers: list[Number] = []
        weights: list[float] = []
        all_weights = self._weights([start for start, _ in members])
        for (_, number), weight in zip(members, all_weights, strict=True):
            if weight:  # a weight may round to zero; zero times infinity would be NaN
                numbers.append(number)
                weights.append(weight)
        return _weighted_average(numbers, weights)

    def _weights(self, starts: Sequence[int]) -> list[float]:
        """Return the weights of members that have these starts, in order."""
        if self.half_life is not None:
            newest = starts[-1]  # the newest member weighs 1; only the ratios of weights matter
            return [exp2((start - newest) / self.half_life) for start in starts]
        assert self.alpha is not None
        return [(1.0 - self.alpha) ** age for age in range(len(starts) - 1, -1, -1)]


def _weighted_average(numbers: Sequence[Number], weights: Sequence[float]) -> float:
    """Return the sum of weighted numbers by that of the weights, none of which is zero."""
    weight_integers, weight_scale = whole(weights)
    floats: list[float] = []
    exact_sum = Fraction(0)  # of the numbers that are not floats
    for number, weight in zip(numbers, weights, strict=True):
        if isinstance(number, float):
            floats.append(number * weight)
        else:
            exact_sum += Fraction(number) * Fraction(weight)

    # Both sums are written as whole numbers over their scales, so that only the quotient is rounded.
    total = Total.of(floats)
    if total.not_finite is not None:
        return total.not_finite
    if not exact_sum:  # floats alone, mostly: without the cost of a fraction
        integers, scale = whole(total.finite)
        return nearest(sum(integers) << weight_scale, sum(weight_integers) << scale)
    scaled_sum = (total.exact + exact_sum) * (1 << weight_scale)
    return nearest(scaled_sum.numerator, scaled_sum.denominator * sum(weight_integers))
