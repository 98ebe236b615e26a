"""The largest value, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Final, Generic, TypeVar

from muntin import ColumnarAggregate, Component, Instant
from muntin.schemas import ScalarKind
from muntin_stats.columns.arrays import Array

T = TypeVar("T")


class ColumnarMax(ColumnarAggregate[T, T], Generic[T]):
    """`Max` on arrays; a subclass names the type of the payloads.

    NaN: NaN is larger than any number, so one makes the result NaN.

    Cost: 8 bytes per key and slice.

    Attributes:
        dtype: The NumPy type of the payloads.
    """

    name, version = "stats.max", "0.1.0"
    dtype: ClassVar[str]

    def components(self) -> Mapping[str, Component]:
        """Return a single component: the largest value."""
        return {"largest": Component.max(self.dtype)}

    def lift(self, payloads: Array) -> Mapping[str, Array]:
        """Return the payloads as they are."""
        return {"largest": payloads}

    def compute_results(self, components: Mapping[str, Array]) -> Array:
        """Return the largest values."""
        return components["largest"]


class ColumnarMaxOfFloats(ColumnarMax[float | None]):
    """`Max` of floats on arrays.

    Example:
        >>> largest = ColumnarMaxOfFloats()
        >>> largest.compute_result(largest.add_events(largest.create_state(), [1.0, None, 9.0]))
        9.0
    """

    dtype = "float64"

    def compute_results(self, components: Mapping[str, Array]) -> Array:
        """Return the largest values; zero has no sign."""
        return super().compute_results(components) + 0.0


class ColumnarMaxOfIntegers(ColumnarMax[int | None]):
    """`Max` of integers on arrays."""

    dtype = "int64"


class ColumnarMaxOfBooleans(ColumnarMax[bool | None]):
    """`Max` of booleans on arrays."""

    dtype = "bool"


class ColumnarMaxOfInstants(ColumnarMax[Instant | None]):
    """`Max` of instants on arrays."""

    dtype = "int64"


class ColumnarMaxOfDatetimes(ColumnarMax[datetime | None]):
    """`Max` of datetimes on arrays."""

    dtype = "datetime64[us]"


class ColumnarMaxOfDates(ColumnarMax[date | None]):
    """`Max` of dates on arrays."""

    dtype = "datetime64[D]"


class ColumnarMaxOfTimedeltas(ColumnarMax[timedelta | None]):
    """`Max` of timedeltas on arrays."""

    dtype = "timedelta64[us]"


FORMS: Final[Mapping[ScalarKind, type[ColumnarMax[Any]]]] = {
    ScalarKind.BOOLEAN: ColumnarMaxOfBooleans,
    ScalarKind.INTEGER: ColumnarMaxOfIntegers,
    ScalarKind.FLOAT: ColumnarMaxOfFloats,
    ScalarKind.DATE: ColumnarMaxOfDates,
    ScalarKind.TIMESTAMP: ColumnarMaxOfDatetimes,
    ScalarKind.INTERVAL: ColumnarMaxOfTimedeltas,
    ScalarKind.INSTANT: ColumnarMaxOfInstants,
}
"""The form for each kind of payload; text, bytes and decimals have none."""
