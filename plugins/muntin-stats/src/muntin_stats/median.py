"""The median."""

from __future__ import annotations

from muntin import ColumnarAggregate
from muntin.schemas import Field
from muntin_stats.kinds import reads_floats
from muntin_stats.quantile import Quantile


class Median(Quantile):
    """Return the middle member of a window, or the mean of the two in the middle.

    The quantile of one half; see `Quantile` for nulls, NaN, laws and cost.

    Types: float to float.

    Example:
        >>> median = Median()
        >>> median.compute_result(median.add_events(median.create_state(), [1.0, 9.0, None, 2.0]))
        2.0
    """

    name, version = "stats.median", "0.1.0"

    def __init__(self) -> None:
        super().__init__(0.5)

    def columnar_form(self, reads: Field) -> ColumnarAggregate[float | None, float | None] | None:
        """Return the form on arrays: all values in order."""
        if not reads_floats(reads):
            return None
        from muntin_stats.columns.quantile import ColumnarMedian

        return ColumnarMedian()
