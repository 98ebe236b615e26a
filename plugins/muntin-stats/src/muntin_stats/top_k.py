"""The largest or the smallest values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

from muntin import IncrementalOperator
from muntin.frozen import subscriptable
from muntin_stats.order import T, in_order, present, unsigned
from muntin_stats.parameters import flag, whole_number


@subscriptable
@dataclass(frozen=True, slots=True)
class Place(Generic[T]):
    """A value and its place, 1 for the first."""

    rank: int
    value: T


class TopK(IncrementalOperator[T | None, list[T], Place[T]]):
    """Return the `k` largest (or smallest) members of a window with their ranks.

    Equal values take neighbouring ranks, so there are exactly `k` rows, or as many as there are members if fewer.

    Args:
        k: Number of members.
        largest: True for the largest, which come first; False for the smallest.

    Types: any ordered type to rows of `rank` and `value`.
    Nulls: skipped; there is no row where there is nothing else.
    NaN: larger than any number.

    Laws: combining is exact. It cannot remove: the members after the `k`-th are not in the state, so the engine uses
        slices, or rebuilds.

    Cost: up to `k` values per window; a call sorts them with the new ones.

    Example:
        >>> top: TopK[int] = TopK(2)
        >>> top.compute_result(top.add_events(top.create_state(), [3, 9, None, 9]))
        [Place(rank=1, value=9), Place(rank=2, value=9)]
    """

    name, version = "stats.top_k", "0.1.0"
    decimal_digits = 0

    def __init__(self, k: int, largest: bool = True) -> None:
        self.k = whole_number("k", k, least=1)
        self.largest = flag("largest", largest)

    def create_state(self) -> list[T]:
        """Return no values."""
        return []

    def add_events(self, state: list[T], payloads: Sequence[T | None]) -> list[T]:
        """Return the first values so far."""
        return self._first(state + present(payloads))

    def combine(self, state: list[T], other: list[T]) -> list[T]:
        """Return the first values of both states."""
        return self._first(state + other)

    def compute_result(self, state: list[T]) -> list[Place[T]]:
        """Return the values with their ranks."""
        return [Place(rank, unsigned(value)) for rank, value in enumerate(state, 1)]

    def _first(self, values: list[T]) -> list[T]:
        """Return the `k` largest or smallest values in order, or all where there are fewer."""
        ordered = in_order(values)
        if self.largest:
            ordered.reverse()
        return ordered[: self.k]
