"""The largest value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin import ColumnarAggregate, IncrementalAggregate
from muntin.schemas import Field
from muntin_stats.kinds import form_for
from muntin_stats.order import T, nans, present, unsigned


class Max(IncrementalAggregate[T | None, T | None, T | None]):
    """Return the largest member of a window.

    Types: any ordered type to the same.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: larger than any number.

    Laws: combining is exact. It cannot remove: the state has the largest member alone and not the next one, so the
        engine uses slices, or rebuilds.

    Cost: one value per window, one comparison per payload.

    Example:
        >>> largest: Max[int] = Max()
        >>> largest.compute_result(largest.add_events(largest.create_state(), [2, None, 3]))
        3
    """

    name, version = "stats.max", "0.1.0"
    aliases = ("maximum",)
    decimal_digits = 0

    def create_state(self) -> T | None:
        """Return null."""
        return None

    def add_events(self, state: T | None, payloads: Sequence[T | None]) -> T | None:
        """Return the largest member so far."""
        return _largest(present([state, *payloads]))

    def combine(self, state: T | None, other: T | None) -> T | None:
        """Return the larger member of both states."""
        return _largest(present([state, other]))

    def compute_result(self, state: T | None) -> T | None:
        """Return the largest member."""
        return unsigned(state)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the form on arrays, for numbers, booleans and times."""
        from muntin_stats.columns.max import FORMS

        return form_for(reads, FORMS)


def _largest(values: list[T]) -> T | None:
    """Return the largest value: null of no values, and NaN if one of them is NaN."""
    unordered = nans(values)
    return unordered[0] if unordered else max(values, default=None)
