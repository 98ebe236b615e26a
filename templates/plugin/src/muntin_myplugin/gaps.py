"""An operator: any number of rows per window; the fields of a row become columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import filterfalse, pairwise
from math import isnan

from muntin import Operator


@dataclass(frozen=True)
class Gap:
    """Two neighbouring payloads that lie apart."""

    low: float
    high: float


class Gaps(Operator[float, Gap]):
    """Return the pairs of neighbouring payloads, in order of size, that lie far apart; NaN is left out.

    Args:
        at_least: Least distance; more than 0.

    Example:
        >>> Gaps(at_least=2.0).compute_result([5.0, 1.0, 2.0])
        [Gap(low=2.0, high=5.0)]
    """

    name, version = "myplugin.gaps", "0.1.0"

    def __init__(self, at_least: float = 1.0) -> None:
        if not at_least > 0:
            raise ValueError(f"at_least is {at_least!r}, expected more than 0")
        self.at_least = at_least

    def compute_result(self, payloads: Sequence[float]) -> list[Gap]:
        """Return the gaps."""
        ordered = sorted(filterfalse(isnan, payloads))
        return [Gap(low, high) for low, high in pairwise(ordered) if high - low >= self.at_least]
