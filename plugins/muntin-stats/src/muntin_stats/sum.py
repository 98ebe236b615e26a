"""The sum of numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, localcontext
from typing import Any, Final, Self, TypeVar, cast

from muntin import ColumnarAggregate
from muntin.schemas import Field
from muntin_stats.group import GroupAggregate
from muntin_stats.kinds import form_for
from muntin_stats.order import present
from muntin_stats.total import Total

N = TypeVar("N", int, float, Decimal)

_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Decimal addition without rounding."""


@dataclass(slots=True)
class Amount:
    """The sum of numbers of one type, or of ints and floats.

    Attributes:
        count: The number of summands that are not floats.
        other: Their sum, exactly.
        floats: The sum of the floats.
    """

    count: int = 0
    other: int | Decimal = 0
    floats: Total = field(default_factory=Total)

    def __add__(self, more: Self) -> Self:
        return type(self)(self.count + more.count, _plus(self.other, more.other), self.floats + more.floats)

    def __sub__(self, less: Self) -> Self:
        return type(self)(self.count - less.count, _minus(self.other, less.other), self.floats - less.floats)


class Sum(GroupAggregate[N | None, Amount, N | None]):
    """Add up the members of a window.

    Types: int to int, of any size; Decimal to Decimal, without rounding; float to float, rounded once at the end.
        Ints among floats count as floats do.
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
        """Return the sum of these alone."""
        numbers: list[Any] = present(payloads)
        floats = [number for number in numbers if isinstance(number, float)]
        others = [number for number in numbers if not isinstance(number, float)] if len(floats) < len(numbers) else []
        return Amount(len(others), exact_sum(others), Total.of(floats))

    def compute_result(self, state: Amount) -> N | None:
        """Return the sum, of the type of the numbers."""
        result: Any = state.other if state.count else None
        if state.floats.count:
            result = (state.floats + Total.of([float(state.other)])).rounded
        return cast("N | None", result)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, Any] | None:
        """Return the form on arrays, for ints and floats."""
        from muntin_stats.columns.sum import FORMS

        return form_for(reads, FORMS)


def exact_sum(numbers: Sequence[int | Decimal]) -> int | Decimal:
    """Return the sum of ints, or of Decimals, without rounding; 0 of none."""
    total: int | Decimal = sum(numbers)
    if isinstance(total, Decimal):
        with localcontext(_EXACT):
            total = sum(numbers)
    return total


def _plus(first: int | Decimal, second: int | Decimal) -> int | Decimal:
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    return _EXACT.add(first, second)


def _minus(first: int | Decimal, second: int | Decimal) -> int | Decimal:
    if isinstance(first, int) and isinstance(second, int):
        return first - second
    return _EXACT.subtract(first, second)
