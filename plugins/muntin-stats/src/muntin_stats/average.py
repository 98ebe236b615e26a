"""The arithmetic mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from muntin import ColumnarAggregate
from muntin.schemas import Field
from muntin_stats.group import GroupAggregate
from muntin_stats.kinds import reads_floats
from muntin_stats.order import present
from muntin_stats.total import Total


class Average(GroupAggregate[float | None, Total, float | None]):
    """Average the members of a window (SI-60).

    Types: float to float.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: the average is NaN. Infinities of both signs also give NaN; taking them out again undoes that.

    Laws: the sum is kept exactly and the quotient is rounded once, so removing, combining and deducting are exact.

    Cost: a count and a few floats per window; a few passes of `math.fsum` per call.

    Source: see `muntin_stats.exact`.

    Example:
        >>> average = Average()
        >>> state = average.add_events(average.create_state(), [1e16, 1.0, None, 2.0])
        >>> average.compute_result(average.remove_events(state, [1e16]))
        1.5
    """

    name, version = "stats.average", "0.1.0"
    aliases = ("mean", "avg")

    def lift(self, payloads: Sequence[float | None]) -> Total:
        """Return the sum of these alone."""
        return Total.of(present(payloads))

    def compute_result(self, state: Total) -> float | None:
        """Return the average."""
        return state.over(state.count) if state.count else None

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the form on arrays: a sum of floats and a count."""
        if not reads_floats(reads):
            return None
        from muntin_stats.columns.average import ColumnarAverage

        return ColumnarAverage()
