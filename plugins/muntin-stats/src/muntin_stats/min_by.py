"""The value of the member whose other value is the smallest."""

from __future__ import annotations

from collections.abc import Sequence

from muntin import IncrementalAggregate
from muntin_stats.order import unsigned
from muntin_stats.ranked import K, Ranked, V, rank_from_below, ranked


class MinBy(IncrementalAggregate[Ranked[V, K] | None, Ranked[V, K] | None, V | None]):
    """Return the value of the member of a window whose `by` is the smallest, as Spark's `min_by(value, by)`.

    Of members with equal `by` it is the smaller value, so that the order of rows means nothing; null loses.

    Types: `Ranked(value, by)` of two ordered types to that of the value. A query binds two columns.
    Nulls: a member whose `by` is null is skipped; the result is null where there is nothing else, or where the value
        is.
    NaN: larger than any number.

    Laws: combining is exact. It cannot remove: the state has the best member alone and not the next one, so the
        engine uses slices, or rebuilds.

    Cost: two values per window, one comparison per payload.

    Example:
        >>> best: MinBy[str, int] = MinBy()
        >>> best.compute_result(best.add_events(None, [Ranked("a", 3), Ranked("b", 7), Ranked("c", None)]))
        'a'
    """

    name, version = "stats.min_by", "0.1.0"
    aliases = ("argmin",)
    decimal_digits = 0

    def create_state(self) -> Ranked[V, K] | None:
        """Return null."""
        return None

    def add_events(self, state: Ranked[V, K] | None, payloads: Sequence[Ranked[V, K] | None]) -> Ranked[V, K] | None:
        """Return the member with the smallest `by` so far."""
        return min(ranked([state, *payloads]), key=rank_from_below, default=None)

    def combine(self, state: Ranked[V, K] | None, other: Ranked[V, K] | None) -> Ranked[V, K] | None:
        """Return the member with the smaller `by` of both states."""
        return self.add_events(state, [other])

    def compute_result(self, state: Ranked[V, K] | None) -> V | None:
        """Return the value of the member."""
        return None if state is None else unsigned(state.value)
