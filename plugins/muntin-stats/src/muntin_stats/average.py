"""The arithmetic mean."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from typing import Any, Final, TypeVar, cast

from muntin import ColumnarAggregate
from muntin.schemas import Field
from muntin_stats.group import GroupAggregate
from muntin_stats.kinds import reads_floats
from muntin_stats.order import present
from muntin_stats.sum import Amount, exact_sum
from muntin_stats.total import Total

N = TypeVar("N", float, Decimal)

_DIVISION: Final = Context(prec=38, rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""How Spark divides decimals, before it rounds to the scale of the result."""


class Average(GroupAggregate[N | None, Amount, N | None]):
    """Average the members of a window.

    Types: float to float; Decimal to Decimal, of 38 digits. A column of decimals gives one with four digits more, all
        of them after the point, as Spark's `avg`.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: the average is NaN. Infinities of both signs also give NaN; taking them out again undoes that.

    Laws: the sum is kept exactly and the quotient is rounded once, so removing, combining and deducting are exact.

    Cost: a count and a few floats per window; a few passes of `math.fsum` per call. For Decimals one number and one
        addition each.

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
        """Return the sum of these alone."""
        numbers: list[Any] = present(payloads)
        decimals = [number for number in numbers if isinstance(number, Decimal)]
        floats = [number for number in numbers if not isinstance(number, Decimal)] if decimals else numbers
        return Amount(len(decimals), exact_sum(decimals), Total.of(floats))

    def compute_result(self, state: Amount) -> N | None:
        """Return the average, of the type of the numbers; of both, a float."""
        result: Any = None
        if state.floats.count:
            total = state.floats + Total.of([float(state.other)]) if state.count else state.floats
            result = total.over(state.count + state.floats.count)
        elif state.count:
            result = _DIVISION.divide(Decimal(state.other), Decimal(state.count))
        return cast("N | None", result)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[float | None, float | None] | None:
        """Return the form on arrays: a sum of floats and a count."""
        if not reads_floats(reads):
            return None
        from muntin_stats.columns.average import ColumnarAverage

        return ColumnarAverage()
