"""The values of a batch: they are taken, joined and merged, and subtracted where they have an inverse.

A component is `Dense`, `Exact` or `Collected`. Python states, and rows as they came, have files of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self, TypeAlias

import numpy as np
import pyarrow as pa

from muntin import Component, Merge
from muntin.columnar import Ragged, identities
from muntin.columnar.arrays import Array, FloatArray, IntArray
from muntin.columnar.single import component_array, plain_values
from muntin_engine.evaluators.arrays.stretches.coding import members_of, reduce_codes, stable_order
from muntin_engine.evaluators.declarations.combinations import can_be_subtracted
from muntin_engine.wire.sums import Sums

COUNTED: Final = Component.count()

Merged: TypeAlias = Array | Sums | Ragged
"""The values of n windows as a form gets them."""


class Deltas(Protocol):
    """Values that are added at the first place of their stretch, and subtracted after its last one.

    Attributes:
        most: The greatest number of values in a sum.
    """

    most: int

    def sums(self, values: Array) -> Array:
        """Return for each wanted place the sum of the values whose stretches hold it, of type and shape as these."""
        ...


class Values(Protocol):
    """n values of one part of a batch."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        ...

    def take(self, places: IntArray | slice) -> Self:
        """Return some of them, by places or as a slice."""
        ...

    def concat(self, more: Sequence[Self]) -> Self:
        """Return them and those of more batches, one batch after the other."""
        ...

    def reduce(self, codes: IntArray, size: int) -> Self:
        """Return for each code from 0 up to `size` the merge of its values; the identity where there is none."""
        ...


class ComponentValues(Values, Protocol):
    """n values of a component of a columnar form."""

    @property
    def is_summed(self) -> bool:
        """True if they can be subtracted exactly."""
        ...

    def running(self, deltas: Deltas) -> Self:
        """Return their sums along the axis, if `is_summed`."""
        ...

    def through(self, function: Callable[[Component, Array], Array], most: int) -> Self:
        """Apply a function to each of their arrays, which merges at most a given number of values into one."""
        ...

    @property
    def merged(self) -> Merged:
        """The values as a form gets them."""
        ...

    def to_arrow(self) -> pa.Array:
        """Return them as a column."""
        ...

    def plain(self) -> Sequence[object]:
        """Return them as plain data, one by one."""
        ...


@dataclass(frozen=True, slots=True)
class Dense:
    """A number, or a vector of fixed shape, each.

    Attributes:
        component: What they are.
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
        """Return some of them."""
        return Dense(self.component, self.array[places])

    def concat(self, more: Sequence[Dense]) -> Dense:
        """Return them and more."""
        return Dense(self.component, np.concatenate([self.array, *(other.array for other in more)]))

    def reduce(self, codes: IntArray, size: int) -> Dense:
        """Return them merged by code."""
        return Dense(self.component, reduce_codes(self.component, codes, size, self.array))

    @property
    def is_summed(self) -> bool:
        """True of whole numbers that are added."""
        return can_be_subtracted(self.component)

    def running(self, deltas: Deltas) -> Dense:
        """Return their sums along the axis."""
        return Dense(self.component, deltas.sums(self.array))

    def through(self, function: Callable[[Component, Array], Array], most: int) -> Dense:
        """Apply a function to the array."""
        del most
        return Dense(self.component, function(self.component, self.array))

    @property
    def merged(self) -> Array:
        """The array."""
        return self.array

    def to_arrow(self) -> pa.Array:
        """Return them as a column."""
        return _to_arrow(self.component, self.array)

    def plain(self) -> Sequence[object]:
        """Return them as plain data."""
        return plain_values(self.array)


@dataclass(frozen=True, slots=True)
class Exact:
    """An exact sum of floats each.

    Attributes:
        component: What they are sums of.
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
        """Return some of them."""
        return Exact(self.component, self.sums.take(places))

    def concat(self, more: Sequence[Exact]) -> Exact:
        """Return them and more."""
        return Exact(self.component, Sums.concat([self.sums, *(other.sums for other in more)]))

    def reduce(self, codes: IntArray, size: int) -> Exact:
        """Return them added up by code."""
        most = int(np.bincount(codes).max()) if len(codes) else 0
        return self.through(lambda lane, values: reduce_codes(lane, codes, size, values), most)

    @property
    def is_summed(self) -> bool:
        """True."""
        return True

    def running(self, deltas: Deltas) -> Exact:
        """Return their sums along the axis: lanes on a grid are added and subtracted exactly, in any order."""

        def function(values: FloatArray, is_lane: bool) -> FloatArray:
            return deltas.sums(values) if is_lane else _running_odd(deltas, values)

        return Exact(self.component, self.sums.on_grid(deltas.most).each(function))

    def through(self, function: Callable[[Component, Array], Array], most: int) -> Exact:
        """Apply a function to each lane."""
        lane = Component.sum(shape=self.component.shape)
        return Exact(self.component, self.sums.on_grid(most).each(lambda values, _: function(lane, values)))

    @property
    def merged(self) -> Sums:
        """The sums."""
        return self.sums

    def to_arrow(self) -> pa.Array:
        """Return them as a column of structs."""
        named = {f"lane {number}": lane for number, lane in enumerate(self.sums.lanes)}
        named |= {f"high {number}": lane for number, lane in enumerate(self.sums.high)}
        named |= {} if self.sums.odd is None else {"odd": self.sums.odd}
        return pa.StructArray.from_arrays([_to_arrow(self.component, lane) for lane in named.values()], list(named))

    def plain(self) -> Sequence[object]:
        """Return them as plain data."""
        return self.sums.plain()


@dataclass(frozen=True, slots=True)
class Collected:
    """Any number of values each.

    Attributes:
        component: What they are.
        values: The values, those of the first one first.
        counts: How many each has.
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
        """Return some of them."""
        return Collected(self.component, self.values[members_of(self.counts, places)], self.counts[places])

    def concat(self, more: Sequence[Collected]) -> Collected:
        """Return them and more."""
        every = (self, *more)
        values, counts = (
            np.concatenate(some) for some in zip(*((one.values, one.counts) for one in every), strict=True)
        )
        return Collected(self.component, values, counts)

    def reduce(self, codes: IntArray, size: int) -> Collected:
        """Return them side by side, by code."""
        of_values = np.repeat(codes, self.counts)
        values = self.values[stable_order(of_values, size)]
        return Collected(self.component, values, np.bincount(of_values, minlength=size))

    @property
    def is_summed(self) -> bool:
        """False."""
        return False

    def running(self, deltas: Deltas) -> Collected:
        """Refuse: they cannot be subtracted."""
        raise TypeError(f"{self.component} cannot be subtracted, in sums of {deltas.most}")

    def through(self, function: Callable[[Component, Array], Array], most: int) -> Collected:
        """Refuse: no function merges them."""
        raise TypeError(f"{self.component} is put side by side, not merged by {function}, {most} at most")

    @property
    def merged(self) -> Ragged:
        """The values of each in ascending order."""
        groups = np.repeat(np.arange(len(self.counts)), self.counts)
        return Ragged(self.values[np.lexsort((self.values, groups))], np.concatenate([[0], np.cumsum(self.counts)]))

    def to_arrow(self) -> pa.Array:
        """Return them as a column of lists."""
        offsets = np.concatenate([[0], np.cumsum(self.counts)])
        return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(_numbers(self.values)))

    def plain(self) -> Sequence[object]:
        """Return them as plain data."""
        flat, ends = plain_values(self.values), np.cumsum(self.counts).tolist()
        return [flat[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def lifted(component: Component, array: Array) -> ComponentValues:
    """Return the values that a form made of rows, each by itself."""
    if component.is_exact:
        return Exact(component, Sums.of(array))
    if component.merge is Merge.COLLECT:
        return Collected(component, array, np.ones(len(array), np.int64))
    return Dense(component, array)


def nothing(component: Component, count: int) -> ComponentValues:
    """Return so many values of no rows at all."""
    if component.merge is Merge.COLLECT:
        return Collected(component, identities(component, 0), np.zeros(count, np.int64))
    return lifted(component, identities(component, count))


def from_plain(component: Component, values: Sequence[object]) -> ComponentValues:
    """Undo `plain`."""
    if component.is_exact:
        return Exact(component, Sums.from_plain(values, component.shape))
    if component.merge is Merge.COLLECT:
        listed: Sequence[Sequence[object]] = values  # type: ignore[assignment]  # collected values are lists
        flat = component_array(component, [value for some in listed for value in some])
        return Collected(component, flat, np.array(list(map(len, listed)), np.int64))
    return Dense(component, component_array(component, list(values)))


def from_arrow(component: Component, column: pa.ChunkedArray) -> ComponentValues:
    """Undo `to_arrow`."""
    array = column.combine_chunks()
    if component.merge is Merge.COLLECT:
        values = array.flatten().to_numpy(zero_copy_only=False).view(component.dtype)
        return Collected(component, values, np.diff(array.offsets.to_numpy(zero_copy_only=False)))
    if not component.is_exact:
        return Dense(component, _from_arrow(component, array).view(component.dtype))
    arrays = {field.name: _from_arrow(component, array.field(field.name)) for field in array.type}
    lanes, high = (tuple(arrays[name] for name in arrays if name.startswith(kind)) for kind in ("lane", "high"))
    return Exact(component, Sums(lanes, high, arrays.get("odd")))


def _running_odd(deltas: Deltas, values: FloatArray) -> FloatArray:
    """Return the sums of values that are infinite, NaN or zero: these cannot be subtracted, but counted."""
    is_nan = np.isnan(values)
    above = deltas.sums((is_nan | (values == np.inf)).astype(np.int64)) > 0
    below = deltas.sums((is_nan | (values == -np.inf)).astype(np.int64)) > 0
    return np.where(above & below, np.nan, np.where(above, np.inf, np.where(below, -np.inf, 0.0)))


def _to_arrow(component: Component, array: Array) -> pa.Array:
    flat = pa.array(_numbers(array.reshape(-1)))
    return pa.FixedSizeListArray.from_arrays(flat, int(np.prod(component.shape))) if component.shape else flat


def _from_arrow(component: Component, array: pa.Array) -> Array:
    flat: Array = (array.flatten() if component.shape else array).to_numpy(zero_copy_only=False)
    return flat.reshape(len(array), *component.shape)


def _numbers(array: Array) -> Array:
    """Return times as integers."""
    return array.view(np.int64) if array.dtype.kind in "mM" else array
