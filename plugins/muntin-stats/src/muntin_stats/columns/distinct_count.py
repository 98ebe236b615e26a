"""The number of different values, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Generic, TypeVar

import numpy as np

from muntin import ColumnarAggregate, Component
from muntin.columnar import Ragged
from muntin.schemas import ScalarKind
from muntin_stats.columns.arrays import Array, Integers

T = TypeVar("T")


class ColumnarDistinctCount(ColumnarAggregate[T, int], Generic[T]):
    """`DistinctCount` on arrays: all values, which the engine puts in order; a subclass names their type.

    NaN: equal to itself. 0.0 and -0.0 are one value, too.

    Cost: 8 bytes per payload, not per distinct value; a few passes over the values.

    Attributes:
        dtype: The NumPy type of the payloads.
    """

    name, version = "stats.distinct_count", "0.1.0"
    dtype: ClassVar[str]
    empty_result = 0

    def components(self) -> Mapping[str, Component]:
        """Return a single component: all values."""
        return {"values": Component.values(self.dtype)}

    def lift(self, payloads: Array) -> Mapping[str, Array]:
        """Return the payloads as they are."""
        return {"values": payloads}

    def compute_results(self, components: Mapping[str, Ragged]) -> Integers:
        """Return the counts."""
        return distinct_counts(components["values"])


class ColumnarDistinctCountOfFloats(ColumnarDistinctCount[float | None]):
    """`DistinctCount` of floats on arrays.

    Example:
        >>> distinct = ColumnarDistinctCountOfFloats()
        >>> distinct.compute_result(distinct.add_events(distinct.create_state(), [1.5, None, 2.5, 1.5]))
        2
    """

    dtype = "float64"


class ColumnarDistinctCountOfIntegers(ColumnarDistinctCount[int | None]):
    """`DistinctCount` of ints on arrays."""

    dtype = "int64"


def distinct_counts(ragged: Ragged) -> Integers:
    """Return the number of different values of each group.

    Example:
        >>> distinct_counts(Ragged(np.array([1.0, 1.0, np.nan, np.nan, 5.0]), np.array([0, 4, 5]))).tolist()
        [2, 1]
    """
    # The values of a group are in order, so a value is new if it differs from the one before it.
    values = ragged.values[1:]
    previous = ragged.values[:-1]
    is_new = np.ones(len(ragged.values), bool)
    # NaNs come last in a group, so after a NaN there is nothing new.
    is_new[1:] = (values != previous) & (previous == previous)  # noqa: PLR0124
    is_new[ragged.offsets[:-1]] = True  # the first value of a group, whatever the group before it ends with
    counts_before = np.concatenate([[0], np.cumsum(is_new)])
    return np.diff(counts_before[ragged.offsets])


FORMS: Final[Mapping[ScalarKind, type[ColumnarDistinctCount[Any]]]] = {
    ScalarKind.INTEGER: ColumnarDistinctCountOfIntegers,
    ScalarKind.FLOAT: ColumnarDistinctCountOfFloats,
}
"""The form for each kind of payload; other kinds have none."""
