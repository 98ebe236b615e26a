"""The share of the values of one stream that another one has as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic

from muntin import IncrementalAggregate
from muntin_stats.order import H
from muntin_stats.sides import Left, Right
from muntin_stats.tally import Tally


@dataclass(slots=True)
class Tallies(Generic[H]):
    """The number of times that each value occurs in each of the streams."""

    left: Tally[H] = field(default_factory=Tally)
    right: Tally[H] = field(default_factory=Tally)


class MatchedShare(IncrementalAggregate[Left[H] | Right[H], Tallies[H], float | None]):
    """Return the share of the different values of the left stream that are in the right one too, as of orders paid.

    Types: `Left(value)` and `Right(value)`, of one hashable type, to float, from 0 to 1. A query gives a column of each
        of two streams.
    Nulls: skipped; the result is null where the left stream has no other value in the window.
    NaN: equal to itself. 0.0 and -0.0 are one value.

    Laws: the state counts every value, so removing, combining and deducting are exact.

    Cost: an entry per distinct value, stream and window; the result looks each value of the left stream up.

    Example:
        >>> share = MatchedShare()
        >>> orders, payments = [Left("a"), Left("b"), Left("c")], [Right("c"), Right("a")]
        >>> round(share.compute_result(share.add_events(share.create_state(), orders + payments)), 3)
        0.667
    """

    name, version = "stats.matched_share", "0.1.0"
    aliases = ("conversion_rate",)

    def create_state(self) -> Tallies[H]:
        """Return empty tallies."""
        return Tallies()

    def add_events(self, state: Tallies[H], payloads: Sequence[Left[H] | Right[H]]) -> Tallies[H]:
        """Count payloads in."""
        state.left.add(_values(payloads, Left))
        state.right.add(_values(payloads, Right))
        return state

    def remove_events(self, state: Tallies[H], payloads: Sequence[Left[H] | Right[H]]) -> Tallies[H]:
        """Count payloads out."""
        state.left.remove(_values(payloads, Left))
        state.right.remove(_values(payloads, Right))
        return state

    def combine(self, state: Tallies[H], other: Tallies[H]) -> Tallies[H]:
        """Add the tallies of each stream."""
        state.left.add_counts(other.left.counts, other.left.nans)
        state.right.add_counts(other.right.counts, other.right.nans)
        return state

    def deduct(self, state: Tallies[H], other: Tallies[H]) -> Tallies[H]:
        """Subtract the tallies of each stream."""
        state.left.remove_counts(other.left.counts, other.left.nans)
        state.right.remove_counts(other.right.counts, other.right.nans)
        return state

    def compute_result(self, state: Tallies[H]) -> float | None:
        """Return the share; null where the left stream has no values."""
        left = state.left
        right = state.right
        distinct = len(left.counts) + (left.nans > 0)  # all NaNs are one value
        if not distinct:
            return None
        matched = len(left.counts.keys() & right.counts.keys()) + (left.nans > 0 and right.nans > 0)
        return matched / distinct


def _values(payloads: Iterable[Left[H] | Right[H]], side: type) -> list[H]:
    """Return the values of one stream that are not null."""
    return [payload.value for payload in payloads if isinstance(payload, side) and payload.value is not None]
