"""The median."""

from __future__ import annotations

from typing import Any

from muntin import ColumnarAggregate
from muntin.schemas import Field, ScalarKind
from muntin_stats.kinds import kind_of
from muntin_stats.number import N
from muntin_stats.quantile import Quantile


class Median(Quantile[N]):
    """Return the middle member of a window, or the mean of the two in the middle.

    The quantile of one half; see `Quantile` for nulls, NaN, laws and cost.

    Types: float, int or Decimal to float.

    Example:
        >>> median = Median()
        >>> median.compute_result(median.add_events(median.create_state(), [1.0, 9.0, None, 2.0]))
        2.0
    """

    name, version = "stats.median", "0.1.0"

    def __init__(self) -> None:
        super().__init__(0.5)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[Any, float | None] | None:
        """Return the form on arrays, for floats and ints: all values in order."""
        kind = kind_of(reads)
        if kind not in (ScalarKind.FLOAT, ScalarKind.INTEGER):
            return None
        from muntin_stats.columns.quantile import ColumnarMedian, ColumnarMedianOfIntegers

        return ColumnarMedian() if kind is ScalarKind.FLOAT else ColumnarMedianOfIntegers()
