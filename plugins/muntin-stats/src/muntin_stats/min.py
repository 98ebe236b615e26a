"""The smallest value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin import ColumnarAggregate, IncrementalAggregate
from muntin.schemas import Field
from muntin_stats.kinds import form_for
from muntin_stats.order import T, ordinary, present, unsigned


class Min(IncrementalAggregate[T | None, T | None, T | None]):
    """Return the smallest member of a window.

    Types: any ordered type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number, so the result only where there is nothing else.

    Laws: combining is exact. It cannot remove: the state has the smallest member alone and not the next one, so the
        engine uses slices, or rebuilds.

    Cost: one value per window, one comparison per payload.

    Example:
        >>> smallest: Min[str] = Min()
        >>> smallest.compute_result(smallest.add_events(smallest.create_state(), ["b", None, "a"]))
        'a'
    """

    name, version = "stats.min", "0.1.0"
    aliases = ("minimum",)
    decimal_digits = 0

    def create_state(self) -> T | None:
        """Return null."""
        return None

    def add_events(self, state: T | None, payloads: Sequence[T | None]) -> T | None:
        """Return the smallest member so far."""
        return _smallest(present([state, *payloads]))

    def combine(self, state: T | None, other: T | None) -> T | None:
        """Return the smaller member of both states."""
        return _smallest(present([state, other]))

    def compute_result(self, state: T | None) -> T | None:
        """Return the smallest member."""
        return unsigned(state)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the form on arrays, for numbers, booleans and times."""
        from muntin_stats.columns.min import FORMS

        return form_for(reads, FORMS)


def _smallest(values: list[T]) -> T | None:
    """Return the smallest value: null of no values, and NaN only where there are NaNs alone."""
    return min(ordinary(values) or values, default=None)
