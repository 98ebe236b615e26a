"""The arithmetic mean."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from typing import Any, Final, cast

from muntin import ColumnarAggregate
from muntin.schemas import Field, ScalarKind
from muntin_stats.amount import Amount
from muntin_stats.group import GroupAggregate
from muntin_stats.kinds import kind_of
from muntin_stats.number import N
from muntin_stats.order import present

_DIVISION: Final = Context(prec=38, rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Division of decimals as Spark does it, before it rounds to the scale of the result."""


class Average(GroupAggregate[N | None, Amount, N | None]):
    """Average the members of a window.

    Types: float or int to float; Decimal to Decimal, of 38 digits. A column of decimals gives one with four digits
        more, all of them after the point, as Spark's `avg`.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: the average is NaN. Infinities of both signs also give NaN; taking them out again undoes that.

    Laws: the sum is kept exactly and the quotient is rounded once, so removing, combining and deducting are exact.

    Cost: a count and a few floats per window; a few passes of `math.fsum` per call. For ints and Decimals one number
        and one addition each.

    Source: see `muntin_stats.exact`.

    Example:
        >>> average: Average[float] = Average()
        >>> state = average.add_events(average.create_state(), [1e16, 1.0, None, 2.0])
        >>> average.compute_result(average.remove_events(state, [1e16]))
        1.5
    """

    name, version = "stats.average", "0.1.0"
    aliases = ("mean", "avg")
    decimal_digits = 4
    decimal_places = 4

    def lift(self, payloads: Sequence[N | None]) -> Amount:
        """Return the sum of payloads."""
        return Amount.of(present(payloads))

    def compute_result(self, state: Amount) -> N | None:
        """Return the average: a Decimal of Decimals, or else a float."""
        if not state.count:
            return None
        result: Any
        if isinstance(state.exact_part, Decimal) and not state.floats.count:
            result = _DIVISION.divide(state.exact_part, Decimal(state.exact_count))
        else:
            result = state.over(state.count)
        return cast("N", result)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, float | None] | None:
        """Return the form on arrays, for floats and ints: a sum and a count."""
        kind = kind_of(reads)
        if kind not in (ScalarKind.FLOAT, ScalarKind.INTEGER):
            return None
        from muntin_stats.columns.average import ColumnarAverage, ColumnarAverageOfIntegers

        return ColumnarAverage() if kind is ScalarKind.FLOAT else ColumnarAverageOfIntegers()
