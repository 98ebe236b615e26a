"""The sum of numbers, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import numpy as np

from muntin import ColumnarAggregate, Component
from muntin.schemas import ScalarKind
from muntin_stats.columns.arrays import Array, Floats, Integers
from muntin_stats.exact import nearest

Out = TypeVar("Out")

_HALF: Final = 32
_LOW: Final = 2**_HALF - 1
_LARGEST_HIGH: Final = 2 ** (_HALF - 1) - 1


class ColumnarSumOfFloats(ColumnarAggregate[float | None, float | None]):
    """`Sum` of floats on arrays.

    Laws: exactly the floats that `Sum` gives, whatever the order and the merges.

    Cost: 16 bytes per key and slice for most data, 8 more for every 40 bits that magnitudes are further apart.

    Example:
        >>> total = ColumnarSumOfFloats()
        >>> total.compute_result(total.add_events(total.create_state(), [1.5, None, 4.0]))
        5.5
    """

    name, version = "stats.sum", "0.1.0"

    def components(self) -> Mapping[str, Component]:
        """Return a single component: a sum."""
        return {"total": Component.sum()}

    def lift(self, payloads: Floats) -> Mapping[str, Floats]:
        """Return the payloads as sums."""
        return {"total": payloads}

    def compute_results(self, components: Mapping[str, Floats]) -> Floats:
        """Return the sums."""
        return components["total"]


class ColumnarIntegerSums(ColumnarAggregate[int | None, Out]):
    """The common base of forms with an exact sum of ints: the upper and the lower 32 bits are summed apart.

    Laws: exact for up to 2**31 payloads in a window, and each of the two sums has an inverse.

    Cost: 16 bytes per key and slice.
    """

    def components(self) -> Mapping[str, Component]:
        """Return two sums: of the upper halves, in units of 2**32, and of the lower halves, which are not negative."""
        return {"high": Component.sum("int64"), "low": Component.sum("int64")}

    def lift(self, payloads: Integers) -> Mapping[str, Integers]:
        """Return the halves of each payload."""
        return {"high": payloads >> _HALF, "low": payloads & _LOW}

    def totals(self, components: Mapping[str, Integers]) -> Array:
        """Return the sums: as int64 if all of them fit, or else as Python ints, so that none is cut off."""
        carries = components["low"] >> _HALF
        high = components["high"] + carries
        low = components["low"] & _LOW
        # A sum fits 64 bits if its upper half fits 32 bits, with its sign.
        if ((high >= ~_LARGEST_HIGH) & (high <= _LARGEST_HIGH)).all():
            return (high << _HALF) | low
        exact: Array = high.astype(object) * (_LOW + 1) + low.astype(object)
        return exact


class ColumnarSumOfIntegers(ColumnarIntegerSums[int | None]):
    """`Sum` of ints on arrays.

    Example:
        >>> total = ColumnarSumOfIntegers()
        >>> total.compute_result(total.add_events(total.create_state(), [2**63 - 1, None, 2**63 - 1]))
        18446744073709551614
    """

    name, version = "stats.sum", "0.1.0"

    def compute_results(self, components: Mapping[str, Integers]) -> Array:
        """Return the sums."""
        return self.totals(components)


class ColumnarFloatSumOfIntegers(ColumnarIntegerSums[float | None]):
    """`TimeWeightedAverage` of ints over windows that all events span: their sum, as a float.

    Example:
        >>> total = ColumnarFloatSumOfIntegers()
        >>> total.compute_result(total.add_events(total.create_state(), [2**63 - 1, None, -(2**63)]))
        -1.0
    """

    name, version = "stats.time_weighted_average", "0.1.0"

    def compute_results(self, components: Mapping[str, Integers]) -> Floats:
        """Return the sums, each rounded once."""
        totals = self.totals(components)
        if totals.dtype != object:
            return totals.astype("float64")
        return np.array([nearest(total, 1) for total in totals.tolist()], "float64")


FORMS: Final[Mapping[ScalarKind, type[ColumnarAggregate[Any, Any]]]] = {
    ScalarKind.FLOAT: ColumnarSumOfFloats,
    ScalarKind.INTEGER: ColumnarSumOfIntegers,
}
"""The form of `Sum` for each kind of payload; decimals have none."""
