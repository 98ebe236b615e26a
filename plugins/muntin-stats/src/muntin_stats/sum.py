"""The sum of numbers."""

from collections.abc import Sequence
from typing import Any, cast

from muntin import ColumnarAggregate
from muntin.schemas import Field
from muntin_stats.amount import Amount
from muntin_stats.group import GroupAggregate
from muntin_stats.kinds import form_for
from muntin_stats.number import N
from muntin_stats.order import present


class Sum(GroupAggregate[N | None, Amount, N | None]):
    """Add up the members of a window.

    Types: int to int, of any size; Decimal to Decimal, without rounding; float to float, rounded once at the end.
        Ints among floats make a float, also rounded once.
    Nulls: skipped; the result is null where there is nothing else.
    NaN: the sum is NaN. Infinities of both signs also give NaN; taking them out again undoes that.

    Laws: the sum is kept exactly, so removing, combining and deducting are exact and order means nothing: 1e16
        and 1 and -1e16 make 1 in any order. Decimals are finite.

    Cost: for floats a few of them per window and a few passes of `math.fsum` per call; for ints and Decimals one number
        and one addition each.

    Source: see `muntin_stats.exact`.

    Example:
        >>> total: Sum[float] = Sum()
        >>> state = total.add_events(total.create_state(), [1e16, 1.0, None])
        >>> total.compute_result(total.remove_events(state, [1e16]))
        1.0
    """

    name, version = "stats.sum", "0.1.0"
    aliases = ("total",)
    decimal_digits = 10

    def lift(self, payloads: Sequence[N | None]) -> Amount:
        """Return the sum of payloads."""
        return Amount.of(present(payloads))

    def compute_result(self, state: Amount) -> N | None:
        """Return the sum, of the type of the numbers."""
        result: Any = None
        if state.floats.count:
            result = state.over(1)
        elif state.exact_count:
            result = state.exact_part
        return cast("N | None", result)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the form on arrays, for ints and floats."""
        from muntin_stats.columns.sum import FORMS

        return form_for(reads, FORMS)
