"""The number of different values."""

from __future__ import annotations

from typing import Any

from muntin import ColumnarAggregate
from muntin.schemas import Field
from muntin_stats.kinds import form_for
from muntin_stats.order import H
from muntin_stats.tally import Tally, TallyAggregate


class DistinctCount(TallyAggregate[H, int]):
    """Count the different values in a window, as SQL's `count(distinct column)`.

    Types: any hashable type to int.
    Nulls: skipped; the result is zero where there is nothing else.
    NaN: equal to itself, so at most one value. 0.0 and -0.0 are one value, too.

    Laws: the state counts every value, so removing, combining and deducting are exact.

    Cost: an entry per distinct value and window, one look-up per payload.

    Example:
        >>> distinct = DistinctCount()
        >>> distinct.compute_result(distinct.add_events(distinct.create_state(), ["b", "a", "b", None]))
        2
    """

    name, version = "stats.distinct_count", "0.1.0"
    aliases = ("count_distinct", "nunique")

    def compute_result(self, state: Tally[H]) -> int:
        """Return the number of different values in the tally."""
        return len(state.counts) + (state.nans > 0)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the form on arrays, for ints and floats."""
        from muntin_stats.columns.distinct_count import FORMS

        return form_for(reads, FORMS)
