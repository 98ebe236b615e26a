"""An aggregate: one value per window, from all its payloads at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan

from muntin import Aggregate


class Spread(Aggregate[float, float]):
    """Return the largest payload less the smallest; NaN where one of them is NaN.

    Example:
        >>> Spread().compute_result([3.0, 1.0, 2.5])
        2.0
    """

    name, version = "myplugin.spread", "0.1.0"

    def compute_result(self, payloads: Sequence[float]) -> float:
        """Return the spread, in the unit of the payloads."""
        if any(map(isnan, payloads)):  # max and min would depend on the order
            return nan
        return max(payloads) - min(payloads)
