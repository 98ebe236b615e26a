"""The values of a batch: they are taken, joined and merged, and subtracted where they have an inverse.

The values of a component are `Dense`, `Exact` or `Collected`. Python states and rows have files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Final, Protocol, Self, TypeAlias

import numpy as np
import pyarrow as pa

from muntin import Component, Merge
from muntin.columnar import Ragged, identities
from muntin.columnar.arrays import Array, FloatArray, IntArray
from muntin.columnar.single import component_array, plain_values
from muntin_engine.evaluators.arrays.stretches.blob_columns import BlobColumns
from muntin_engine.evaluators.arrays.stretches.coding import members_of, reduce_codes, stable_order
from muntin_engine.evaluators.declarations.combinations import can_be_subtracted
from muntin_engine.wire.arrow_arrays import arrow_array, numpy_array
from muntin_engine.wire.sums import Sums

COUNTED: Final = Component.count()
"""The component of whole numbers that belong to no form: they are added, if they are merged at all."""

Merged: TypeAlias = Array | Sums | Ragged
"""The values of n windows as a form takes them."""


class Deltas(Protocol):
    """Values that are added at the first place of their stretch, and subtracted after its last one.

    Attributes:
        most_values: The greatest number of values in a sum.
    """

    most_values: int

    def sums(self, values: Array) -> Array:
        """Return for each place, such as a window or a snapshot, the sum of the values whose stretches include it."""
        ...


class Values(Protocol):
    """n values of one part of a batch."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """The bytes that the values take, roughly."""
        ...

    def take(self, places: IntArray | slice) -> Self:
        """Select values by their places; neighbours as a slice."""
        ...

    def followed_by(self, further: Sequence[Self]) -> Self:
        """Return these values and, behind them, those of further batches, batch by batch."""
        ...

    def reduce(self, codes: IntArray, size: int) -> Self:
        """Merge the values of each code from 0 up to `size`; a code without values gets the identity.

        Args:
            codes: The code of each value.
            size: The number of codes.
        """
        ...


class ComponentValues(Values, Protocol):
    """n values of a component of a columnar form."""

    @property
    def is_summed(self) -> bool:
        """True if the values can be subtracted exactly: then `running` sums them."""
        ...

    @property
    def is_collected(self) -> bool:
        """True if the values are put side by side, and not merged into one value."""
        ...

    def running(self, deltas: Deltas) -> Self:
        """Sum along the axis, if `is_summed`."""
        ...

    def through(self, function: Callable[[Component, Array], Array], most_values: int) -> Self:
        """Merge values by a function that is applied to each of their arrays.

        Args:
            function: Merges an array of values. It gets the component of the values and the array, and returns the
                array of the merged values.
            most_values: The greatest number of values that are merged into one.
        """
        ...

    @property
    def merged(self) -> Merged:
        """The values as a form gets them."""
        ...

    def encode(self, name: str, blob: BlobColumns) -> None:
        """Add the values to the columns of a blob, under a name."""
        ...

    def to_arrow(self) -> pa.Array:
        """Encode the values as a column."""
        ...

    def plain(self) -> Sequence[object]:
        """Return each value as plain data."""
        ...


@dataclass(frozen=True, slots=True)
class Dense:
    """n numbers, or n vectors of one shape.

    Attributes:
        component: The component that they are of.
        array: The values along the first axis.
    """

    component: Component
    array: Array

    def __len__(self) -> int:
        return len(self.array)

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        return self.array.nbytes

    def take(self, places: IntArray | slice) -> Dense:
        """Select values by their places."""
        return Dense(self.component, self.array[places])

    def followed_by(self, further: Sequence[Dense]) -> Dense:
        """Return these values and, behind them, those of further batches."""
        return Dense(self.component, np.concatenate([self.array, *(values.array for values in further)]))

    def reduce(self, codes: IntArray, size: int) -> Dense:
        """Merge values by code."""
        return Dense(self.component, reduce_codes(self.component, codes, size, self.array))

    @property
    def is_summed(self) -> bool:
        """True of whole numbers that are added."""
        return can_be_subtracted(self.component)

    @property
    def is_collected(self) -> bool:
        """False: values are merged into one."""
        return False

    def running(self, deltas: Deltas) -> Dense:
        """Sum along the axis."""
        return Dense(self.component, deltas.sums(self.array))

    def through(self, function: Callable[[Component, Array], Array], most_values: int) -> Dense:
        """Merge the values by a function, which gets their array."""
        del most_values
        return Dense(self.component, function(self.component, self.array))

    @property
    def merged(self) -> Array:
        """The array."""
        return self.array

    def encode(self, name: str, blob: BlobColumns) -> None:
        """Add the values to the columns of a blob: whole numbers take as few bytes as they need."""
        if self.array.dtype == np.int64 and not self.component.shape:
            blob.numbers[name] = self.array
        else:
            blob.columns[name] = self.to_arrow()

    def to_arrow(self) -> pa.Array:
        """Encode the values as a column."""
        return _to_arrow(self.component, self.array)

    def plain(self) -> Sequence[object]:
        """Return each value as plain data."""
        return plain_values(self.array)


@dataclass(frozen=True, slots=True)
class Exact:
    """n exact sums of floats; see `Sums` for their lanes.

    Attributes:
        component: The component that they are of.
        sums: The sums.
    """

    component: Component
    sums: Sums

    def __len__(self) -> int:
        return len(self.sums)

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        return self.sums.nbytes

    def take(self, places: IntArray | slice) -> Exact:
        """Select values by their places."""
        return Exact(self.component, self.sums.take(places))

    def followed_by(self, further: Sequence[Exact]) -> Exact:
        """Return these values and, behind them, those of further batches."""
        return Exact(self.component, Sums.concat([self.sums, *(values.sums for values in further)]))

    def reduce(self, codes: IntArray, size: int) -> Exact:
        """Add up values by code."""
        most_values = int(np.bincount(codes).max()) if len(codes) else 0
        return self.through(lambda lane, values: reduce_codes(lane, codes, size, values), most_values)

    @property
    def is_summed(self) -> bool:
        """True: exact sums are subtracted exactly."""
        return True

    @property
    def is_collected(self) -> bool:
        """False: sums are added up."""
        return False

    def running(self, deltas: Deltas) -> Exact:
        """Sum along the axis: lanes on a grid are added and subtracted exactly, whatever the order."""
        lanes = self.sums.on_grid(deltas.most_values)
        running_sums = lanes.each(deltas.sums, for_non_finite=partial(_running_non_finite, deltas))
        return Exact(self.component, running_sums)

    def through(self, function: Callable[[Component, Array], Array], most_values: int) -> Exact:
        """Merge the values by a function that is applied to each lane, an array of floats to be added up."""
        lane_component = Component.sum(shape=self.component.shape)
        merged_sums = self.sums.on_grid(most_values).each(partial(function, lane_component))
        return Exact(self.component, merged_sums)

    @property
    def merged(self) -> Sums:
        """The sums."""
        return self.sums

    def encode(self, name: str, blob: BlobColumns) -> None:
        """Add the sums to the columns of a blob."""
        blob.columns[name] = self.to_arrow()

    def to_arrow(self) -> pa.Array:
        """Encode the sums as a column of structs, with a field for each of their arrays."""
        # `from_arrow` tells the arrays of `Sums` apart by the beginnings of these names.
        arrays = {f"lane {number}": lane for number, lane in enumerate(self.sums.lanes)}
        arrays |= {f"high {number}": lane for number, lane in enumerate(self.sums.high)}
        if self.sums.non_finite is not None:
            arrays["non finite"] = self.sums.non_finite
        columns = [_to_arrow(self.component, array) for array in arrays.values()]
        return pa.StructArray.from_arrays(columns, list(arrays))

    def plain(self) -> Sequence[object]:
        """Return each value as plain data."""
        return self.sums.plain()


@dataclass(frozen=True, slots=True)
class Collected:
    """n groups of any number of values.

    Attributes:
        component: The component that they are of.
        values: The values, group by group.
        counts: The number of values of each group.
    """

    component: Component
    values: Array
    counts: IntArray

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """The size of the arrays in bytes."""
        return self.values.nbytes + self.counts.nbytes

    def take(self, places: IntArray | slice) -> Collected:
        """Select values by their places."""
        return Collected(self.component, self.values[members_of(self.counts, places)], self.counts[places])

    def followed_by(self, further: Sequence[Collected]) -> Collected:
        """Return these values and, behind them, those of further batches."""
        batches = (self, *further)
        values = np.concatenate([batch.values for batch in batches])
        counts = np.concatenate([batch.counts for batch in batches])
        return Collected(self.component, values, counts)

    def reduce(self, codes: IntArray, size: int) -> Collected:
        """Put values side by side, by code."""
        value_codes = np.repeat(codes, self.counts)
        values = self.values[stable_order(value_codes, size)]
        return Collected(self.component, values, np.bincount(value_codes, minlength=size))

    @property
    def is_summed(self) -> bool:
        """False: there is nothing to subtract."""
        return False

    @property
    def is_collected(self) -> bool:
        """True: all values are kept."""
        return True

    def running(self, deltas: Deltas) -> Collected:
        """Refuse: values that are put side by side cannot be subtracted."""
        raise TypeError(f"{self.component} cannot be subtracted, in sums of {deltas.most_values}")

    def through(self, function: Callable[[Component, Array], Array], most_values: int) -> Collected:
        """Refuse: no function merges values that are put side by side."""
        raise TypeError(f"{self.component} is put side by side, not merged by {function}, {most_values} at most")

    @property
    def merged(self) -> Ragged:
        """The values of each group in ascending order."""
        groups = np.repeat(np.arange(len(self.counts)), self.counts)
        ascending = self.values[np.lexsort((self.values, groups))]
        return Ragged(ascending, np.concatenate([[0], np.cumsum(self.counts)]))

    def encode(self, name: str, blob: BlobColumns) -> None:
        """Add the values to the columns of a blob."""
        blob.columns[name] = self.to_arrow()

    def to_arrow(self) -> pa.Array:
        """Encode the values as a column of lists."""
        offsets = np.concatenate([[0], np.cumsum(self.counts)])
        return pa.LargeListArray.from_arrays(arrow_array(offsets), arrow_array(_numbers(self.values)))

    def plain(self) -> Sequence[object]:
        """Return the values of each group as plain data."""
        flat = plain_values(self.values)
        bounds = [0, *np.cumsum(self.counts).tolist()]
        return [flat[start:end] for start, end in pairwise(bounds)]


def lifted(component: Component, array: Array) -> ComponentValues:
    """Wrap the values that a form lifted rows to: one for each row."""
    if component.is_exact:
        return Exact(component, Sums.of(array))
    if component.merge is Merge.COLLECT:
        return Collected(component, array, np.ones(len(array), np.int64))
    return Dense(component, array)


def nothing(component: Component, count: int) -> ComponentValues:
    """Return the identity of a component, `count` times: the value of no rows."""
    if component.merge is Merge.COLLECT:
        return Collected(component, values=identities(component, 0), counts=np.zeros(count, np.int64))
    return lifted(component, identities(component, count))


def from_plain(component: Component, values: Sequence[object]) -> ComponentValues:
    """Return the values of a component from the plain data that their `plain` returned.

    Args:
        component: The component.
        values: The plain data, one for each value.
    """
    if component.is_exact:
        return Exact(component, Sums.from_plain(values, component.shape))
    if component.merge is Merge.COLLECT:
        listed: Sequence[Sequence[object]] = values  # type: ignore[assignment]  # collected values are lists
        flat_values = component_array(component, list(chain.from_iterable(listed)))
        return Collected(component, flat_values, np.array(list(map(len, listed)), np.int64))
    return Dense(component, component_array(component, list(values)))


def from_arrow(component: Component, column: pa.ChunkedArray) -> ComponentValues:
    """Decode the values of a component from the column that their `to_arrow` returned."""
    array = column.combine_chunks()
    # Times are written as integers: `view` turns these into times again.
    if component.merge is Merge.COLLECT:
        values = numpy_array(array.flatten()).view(component.dtype)
        return Collected(component, values, np.diff(numpy_array(array.offsets)))
    if not component.is_exact:
        return Dense(component, _from_arrow(component, array).view(component.dtype))

    # Exact sums are structs, with a field for each of their arrays.
    arrays = {field.name: _from_arrow(component, array.field(field.name)) for field in array.type}
    lanes = tuple(lane for name, lane in arrays.items() if name.startswith("lane"))
    high = tuple(lane for name, lane in arrays.items() if name.startswith("high"))
    return Exact(component, Sums(lanes, high, arrays.get("non finite")))


def _running_non_finite(deltas: Deltas, values: FloatArray) -> FloatArray:
    """Return the sums of values that are infinite, NaN or zero.

    Infinities cannot be subtracted; so it is counted how many of each sign a sum has. Infinities of both signs make a
    sum NaN, and so does a NaN, which is counted as both.
    """
    is_nan = np.isnan(values)
    has_positive = deltas.sums((is_nan | (values == np.inf)).astype(np.int64)) > 0
    has_negative = deltas.sums((is_nan | (values == -np.inf)).astype(np.int64)) > 0
    sums = np.zeros(has_positive.shape)
    sums[has_positive] = np.inf
    sums[has_negative] = -np.inf
    sums[has_positive & has_negative] = np.nan
    return sums


def _to_arrow(component: Component, array: Array) -> pa.Array:
    """Return values as a column: numbers, or lists of one length where they have a shape."""
    flat = arrow_array(_numbers(array.reshape(-1)))
    if not component.shape:
        return flat
    return pa.FixedSizeListArray.from_arrays(flat, int(np.prod(component.shape)))


def _from_arrow(component: Component, array: pa.Array) -> Array:
    """Return the values of a column that `_to_arrow` made, in their shape."""
    flat: Array = numpy_array(array.flatten() if component.shape else array)
    return flat.reshape(len(array), *component.shape)


def _numbers(array: Array) -> Array:
    """Return an array with times as integers; any other array stays as it is."""
    return array.view(np.int64) if array.dtype.kind in "mM" else array
