"""The smallest value, on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Final, Generic, TypeVar

from muntin import ColumnarAggregate, Component, Instant
from muntin.schemas import ScalarKind
from muntin_stats.columns.arrays import Array

T = TypeVar("T")


class ColumnarMin(ColumnarAggregate[T, T], Generic[T]):
    """`Min` on arrays; a subclass names the type of the payloads.

    NaN: NaN is larger than any number, so the result only where there is nothing else.

    Cost: 8 bytes per key and slice.

    Attributes:
        dtype: The NumPy type of the payloads.
    """

    name, version = "stats.min", "0.1.0"
    dtype: ClassVar[str]

    def components(self) -> Mapping[str, Component]:
        """Return a single component: the smallest value."""
        return {"smallest": Component.min(self.dtype)}

    def lift(self, payloads: Array) -> Mapping[str, Array]:
        """Return the payloads as they are."""
        return {"smallest": payloads}

    def compute_results(self, components: Mapping[str, Array]) -> Array:
        """Return the smallest values."""
        return components["smallest"]


class ColumnarMinOfFloats(ColumnarMin[float | None]):
    """`Min` of floats on arrays.

    Example:
        >>> smallest = ColumnarMinOfFloats()
        >>> smallest.compute_result(smallest.add_events(smallest.create_state(), [1.0, None, 9.0]))
        1.0
    """

    dtype = "float64"

    def compute_results(self, components: Mapping[str, Array]) -> Array:
        """Return the smallest values; zero has no sign."""
        return super().compute_results(components) + 0.0


class ColumnarMinOfIntegers(ColumnarMin[int | None]):
    """`Min` of integers on arrays."""

    dtype = "int64"


class ColumnarMinOfBooleans(ColumnarMin[bool | None]):
    """`Min` of booleans on arrays."""

    dtype = "bool"


class ColumnarMinOfInstants(ColumnarMin[Instant | None]):
    """`Min` of instants on arrays."""

    dtype = "int64"


class ColumnarMinOfDatetimes(ColumnarMin[datetime | None]):
    """`Min` of datetimes on arrays."""

    dtype = "datetime64[us]"


class ColumnarMinOfDates(ColumnarMin[date | None]):
    """`Min` of dates on arrays."""

    dtype = "datetime64[D]"


class ColumnarMinOfTimedeltas(ColumnarMin[timedelta | None]):
    """`Min` of timedeltas on arrays."""

    dtype = "timedelta64[us]"


FORMS: Final[Mapping[ScalarKind, type[ColumnarMin[Any]]]] = {
    ScalarKind.BOOLEAN: ColumnarMinOfBooleans,
    ScalarKind.INTEGER: ColumnarMinOfIntegers,
    ScalarKind.FLOAT: ColumnarMinOfFloats,
    ScalarKind.DATE: ColumnarMinOfDates,
    ScalarKind.TIMESTAMP: ColumnarMinOfDatetimes,
    ScalarKind.INTERVAL: ColumnarMinOfTimedeltas,
    ScalarKind.INSTANT: ColumnarMinOfInstants,
}
"""The form for each kind of payload; text, bytes and decimals have none."""
