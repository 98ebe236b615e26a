"""Partial states of many keys and slices, as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from muntin import Component, Merge
from muntin.columnar import Sums
from muntin.columnar.arrays import Array, IntArray
from muntin_engine.evaluators.columnar.coding import compress, first_places, number, product
from muntin_engine.evaluators.columnar.reducing import collect_codes, reduce_codes, reduce_sums
from muntin_engine.exchange.bound_form import PAYLOADS, BoundForm

COUNTED: Final = Component.count()


@dataclass(frozen=True, slots=True)
class Part:
    """One component of one form. Form and name tell it from others.

    Attributes:
        form: The place of the form among those of the query.
        name: The component; `PAYLOADS` for how many payloads the form did not leave out.
        component: What it is.
    """

    form: int
    name: str
    component: Component = field(compare=False)

    @property
    def is_collected(self) -> bool:
        """True if all values are kept."""
        return self.component.merge is Merge.COLLECT


def parts_of(forms: Sequence[BoundForm]) -> tuple[Part, ...]:
    """Return the parts of partial states, in a fixed order."""
    found = []
    for place, form in enumerate(forms):
        found.append(Part(place, PAYLOADS, COUNTED))
        found += [Part(place, name, component) for name, component in form.stored.items()]
    return tuple(found)


class Collected(NamedTuple):
    """All values of n partial states, those of the first one first.

    Attributes:
        values: The values.
        counts: How many each partial state has.
    """

    values: Array
    counts: IntArray

    def take(self, places: IntArray) -> Collected:
        """Return the collected values of some partial states."""
        counts = self.counts[places]
        ends = np.cumsum(self.counts)[places]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return Collected(self.values[np.repeat(ends - counts, counts) + within], counts)

    def slice(self, start: int, stop: int) -> Collected:
        """Return the collected values of neighbouring partial states."""
        ends = np.concatenate([[0], np.cumsum(self.counts)])
        return Collected(self.values[ends[start] : ends[stop]], self.counts[start:stop])


Values: TypeAlias = Array | Sums | Collected
"""The values of a part for n partial states."""


@dataclass(frozen=True, slots=True)
class Partials:
    """The partial states of n pairs of a slice and a key, in the order of their slices.

    Where events have lifetimes, a slice is the first window of a range of windows, and the pair a triple with the last
    one (the range tags of Li's thesis, section 6.1). A pair may be there more than once. A part that is missing is the
    identity throughout; how many payloads a form took is missing where it took all rows.

    Attributes:
        slices: n slices, ascending.
        keys: n codes of keys.
        rows: How many rows each is made of.
        parts: Arrays of n values, `Collected` ones, or `Sums`.
        lasts: The last windows of n ranges; None where events are points.
    """

    slices: IntArray
    keys: IntArray
    rows: IntArray
    parts: Mapping[Part, Values]
    lasts: IntArray | None = None

    def __len__(self) -> int:
        return len(self.slices)

    @property
    def nbytes(self) -> int:
        """About how many bytes they take."""
        return int(sum(_nbytes(array) for array in (self.slices, self.keys, self.rows, *self.parts.values())))

    def slice(self, start: int, stop: int) -> Partials:
        """Return neighbouring ones, without copying numbers."""
        stop = min(stop, len(self))
        parts = {part: _slice(values, start, stop) for part, values in self.parts.items()}
        lasts = None if self.lasts is None else self.lasts[start:stop]
        return Partials(self.slices[start:stop], self.keys[start:stop], self.rows[start:stop], parts, lasts)

    def take(self, places: IntArray) -> Partials:
        """Return some of them, by ascending places."""
        parts = {part: take_part(values, places) for part, values in self.parts.items()}
        lasts = None if self.lasts is None else self.lasts[places]
        return Partials(self.slices[places], self.keys[places], self.rows[places], parts, lasts)

    def since(self, first: int) -> Partials:
        """Return the partial states of slices from a first one on."""
        start = int(np.searchsorted(self.slices, first))
        return self.slice(start, len(self)) if start else self

    def before(self, last: int) -> Partials:
        """Return the partial states of slices before a last one, which is excluded."""
        stop = int(np.searchsorted(self.slices, last))
        return self.slice(0, stop) if stop < len(self) else self

    def alive(self, first: int) -> Partials:
        """Return the partial states that belong to a first slice, or window, or a later one."""
        if self.lasts is None:
            return self.since(first)
        places = np.flatnonzero(self.lasts >= first)
        return self if len(places) == len(self) else self.take(places)

    @property
    def last(self) -> int:
        """The last slice, or window, that they say something of."""
        return int(self.slices[-1] if self.lasts is None else self.lasts.max())

    def shifted(self, shift: int) -> Partials:
        """Return them with slices counted from another one."""
        return replace(self, slices=self.slices - shift) if shift else self

    def with_keys(self, keys: IntArray) -> Partials:
        """Return them under other codes."""
        return replace(self, keys=keys)

    def payloads(self, form: int) -> IntArray:
        """Return the number of payloads that a form took, for each partial state."""
        payloads = self.parts.get(Part(form, PAYLOADS, COUNTED), self.rows)
        assert isinstance(payloads, np.ndarray)
        return payloads


def concat(tables: Sequence[Partials]) -> Partials:
    """Return partial states one after the other; the caller knows that slices ascend, or sorts."""
    if len(tables) == 1:
        return tables[0]
    parts = {part for table in tables for part in table.parts}
    joined = {part: _concat([_values(table, part) for table in tables]) for part in parts}
    return Partials(
        np.concatenate([table.slices for table in tables]),
        np.concatenate([table.keys for table in tables]),
        np.concatenate([table.rows for table in tables]),
        joined,
        None if tables[0].lasts is None else np.concatenate([table.lasts for table in tables]),
    )


def merge_alike(table: Partials) -> Partials:
    """Return one partial state per slice (and last window) and key, in the order of slices and then of keys."""
    if not len(table):
        return table
    places, count = compress(*number(table.slices))
    if table.lasts is not None:
        lasts, more = compress(*number(table.lasts))
        places, count = compress(places * more + lasts, product(count, more))
    keys = int(table.keys.max()) + 1
    codes, size = compress(places * keys + table.keys, product(count, keys))
    first = first_places(codes, size)
    rows = reduce_codes(COUNTED, codes, size, table.rows)
    parts = {part: reduce_part(part, codes, size, values) for part, values in table.parts.items()}
    some_lasts = None if table.lasts is None else table.lasts[first]
    return Partials(table.slices[first], table.keys[first], rows, parts, some_lasts)


def reduce_part(part: Part, codes: IntArray, size: int, values: Values) -> Values:
    """Return the values of a part merged by code."""
    if isinstance(values, Sums):
        return reduce_sums(part.component, codes, size, values)
    if isinstance(values, Collected):
        return Collected(*collect_codes(np.repeat(codes, values.counts), size, values.values))
    return reduce_codes(part.component, codes, size, values)


def take_part(values: Values, places: IntArray) -> Values:
    """Return the values of a part at some places."""
    return values.take(places) if isinstance(values, Collected | Sums) else values[places]


def _values(table: Partials, part: Part) -> Values:
    """Return the values of a part, also where it is missing."""
    if part in table.parts:
        return table.parts[part]
    if part.name == PAYLOADS:
        return table.rows
    return Collected(np.empty(0, part.component.dtype), np.zeros(len(table), np.int64))


def _concat(arrays: Sequence[Values]) -> Values:
    sums = [some for some in arrays if isinstance(some, Sums)]
    if sums:
        return Sums.concat(sums)
    collected = [some for some in arrays if isinstance(some, Collected)]
    if collected:
        return Collected(*(np.concatenate(both) for both in zip(*collected, strict=True)))
    return np.concatenate([some for some in arrays if isinstance(some, np.ndarray)])


def _slice(values: Values, start: int, stop: int) -> Values:
    if isinstance(values, Sums):
        return values.take(slice(start, stop))
    return values.slice(start, stop) if isinstance(values, Collected) else values[start:stop]


def _nbytes(values: Values) -> int:
    return sum(array.nbytes for array in values) if isinstance(values, Collected) else values.nbytes
