"""Stretches of the axis as a table: partial states of many keys, each from one place to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from muntin import INFINITY, Component
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.stretches.bound_form import PAYLOADS, BoundForm
from muntin_engine.evaluators.arrays.stretches.coding import compress, first_places, number, product, reduce_codes
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED, Dense, Values

STATE: Final = "state"
"""The name of the part that is a module's Python states."""


class Part(NamedTuple):
    """One part of partial states.

    Attributes:
        form: The place of its module among those of the query; -1 if it belongs to none.
        name: The name of a component of the form; `PAYLOADS` for the number of payloads that the form did not leave
            out; or `STATE`.
    """

    form: int
    name: str


ROWS: Final = Part(-1, "rows")
"""The part that is the columns of rows: one row for each stretch."""

LISTS: Final = Part(-1, "lists")
"""The part that is a list of rows for each stretch."""

LISTS_ALONE: Final[Mapping[Part, Component | None]] = {LISTS: None}
"""Lists of rows as the only part of stretches. They have no component: None stands in its place."""


class Groups(NamedTuple):
    """The groups of stretches that are to be merged into one each.

    Attributes:
        codes: For each stretch the number of its group.
        keys: The key of each group.
        low: The first place of each group.
        high: The last place of each group; the very array `low` if each group is one place.
    """

    codes: IntArray
    keys: IntArray
    low: IntArray
    high: IntArray


def parts_of(forms: Sequence[BoundForm]) -> dict[Part, Component]:
    """Return the parts of partial states, in a fixed order."""
    parts: dict[Part, Component] = {}
    for place, form in enumerate(forms):
        for name, component in components_of(form).items():
            parts[Part(place, name)] = component
    return parts


def components_of(form: BoundForm) -> dict[str, Component]:
    """Return the components that partial states have of a form, with the number of payloads that the form took."""
    return {PAYLOADS: COUNTED, **form.stored}


@dataclass(frozen=True, slots=True)
class StretchTable:
    """n stretches of keys, each with the rows on it merged into one partial state.

    Places of the axis are numbers of slices, numbers of windows, or ticks: what the geometry of the query counts. Both
    ends of a stretch belong to it: the one slice of a point, the first and the last window of a range, the ticks of the
    two edges of a session, an event or a window. A stretch is dead when nothing up to its high end is live any more.

    Several stretches of a key may have the same ends. The part `PAYLOADS` of a form is missing where the form took all
    rows: then `weight` is the number of its payloads.

    Attributes:
        keys: n codes of keys.
        low: The first place of each stretch.
        high: The last place of each stretch; the very array `low` if each stretch is one place.
        weight: The number of rows that each stretch is made of.
        parts: n values of each part.
    """

    keys: IntArray
    low: IntArray
    high: IntArray
    weight: IntArray
    parts: Mapping[Part, Any]

    def __len__(self) -> int:
        return len(self.low)

    @property
    def are_points(self) -> bool:
        """True if each stretch is known to be one place."""
        return self.high is self.low

    @property
    def nbytes(self) -> int:
        """The bytes that the stretches take, roughly."""
        size: int = self.keys.nbytes + self.low.nbytes + self.weight.nbytes
        if not self.are_points:
            size += self.high.nbytes
        for values in self.parts.values():
            size += values.nbytes
        return size

    def take(self, places: IntArray | slice) -> StretchTable:
        """Select stretches by their places. A slice selects neighbours, without copying their numbers."""
        low = self.low[places]
        high = low if self.are_points else self.high[places]
        parts = {part: values.take(places) for part, values in self.parts.items()}
        return StretchTable(self.keys[places], low, high, self.weight[places], parts)

    def where(self, mask: BoolArray) -> StretchTable:
        """Select stretches by a mask; if it selects all, this very table is returned."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def alive(self, first_live: int) -> StretchTable:
        """Drop the stretches that end before the first live place of the axis; see `ends_before`."""
        return self.where(~ends_before(self.high, first_live))

    def moved(self, low: IntArray, high: IntArray) -> StretchTable:
        """Replace where stretches start and end."""
        return replace(self, low=low, high=high)

    def with_keys(self, keys: IntArray) -> StretchTable:
        """Replace the code of each stretch's key."""
        return replace(self, keys=keys)

    def without(self, part: Part) -> StretchTable:
        """Drop a part, if the stretches have it."""
        if part not in self.parts:
            return self
        return replace(self, parts={name: values for name, values in self.parts.items() if name != part})

    def payloads(self, form: int) -> IntArray:
        """Return for each stretch how many payloads a form took."""
        counts = self.parts.get(Part(form, PAYLOADS))
        return self.weight if counts is None else counts.array

    def reduce(self, groups: Groups) -> StretchTable:
        """Merge the stretches of each group into one, with their weights added up and their values merged."""
        codes = groups.codes
        size = len(groups.keys)
        weight = reduce_codes(COUNTED, codes, size, self.weight)
        parts = {part: values.reduce(codes, size) for part, values in self.parts.items()}
        return StretchTable(groups.keys, groups.low, groups.high, weight, parts)


_NO_NUMBERS: Final[IntArray] = np.empty(0, np.int64)

EMPTY: Final = StretchTable(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, {})
"""No stretches, and no parts."""


def ends_before(places: IntArray, first_live: int) -> BoolArray:
    """Return for each place on the axis whether it lies before the first live place.

    The first live place of a closed stream is `INFINITY`: then even places at infinity lie before it.
    """
    if first_live == INFINITY:
        return np.ones(len(places), np.bool_)
    is_before: BoolArray = places < first_live
    return is_before


def concat(tables: Sequence[StretchTable]) -> StretchTable:
    """Join tables of stretches, one after the other. Empty tables are left out: they may lack the parts of others."""
    tables = [table for table in tables if len(table)] or tables[:1]  # of empty tables alone, the first one
    if len(tables) == 1:
        return tables[0]
    keys = np.concatenate([table.keys for table in tables])
    low = np.concatenate([table.low for table in tables])
    weight = np.concatenate([table.weight for table in tables])
    high = low
    if not all(table.are_points for table in tables):
        high = np.concatenate([table.high for table in tables])

    part_names: dict[Part, None] = {}  # each once, in their order
    for table in tables:
        part_names |= dict.fromkeys(table.parts)
    parts: dict[Part, Any] = {}
    for part in part_names:
        first_values, *further_values = [_values(table, part) for table in tables]
        parts[part] = first_values.followed_by(further_values)
    return StretchTable(keys, low, high, weight, parts)


def alike(stretches: StretchTable) -> Groups:
    """Group stretches that have the same key and the same ends, in the order of ends and then of keys."""
    if not len(stretches):
        # No stretch has a code: the empty array of keys serves as that of codes.
        return Groups(codes=stretches.keys, keys=stretches.keys, low=stretches.low, high=stretches.high)
    # One number for both ends, and then one for the ends and the key. `number` makes codes from 0 on, which may have
    # gaps, and `compress` closes the gaps, so that the product with the next codes stays small.
    low_codes, low_limit = number(stretches.low)
    ends, count = compress(low_codes, low_limit)
    if not stretches.are_points:
        high_codes, high_limit = number(stretches.high)
        highs, high_count = compress(high_codes, high_limit)
        ends, count = compress(ends * high_count + highs, product(count, high_count))
    key_count = int(stretches.keys.max()) + 1
    codes, size = compress(ends * key_count + stretches.keys, product(count, key_count))

    # All members of a group have one key and the same ends, which are read from its first member.
    first = first_places(codes, size)
    low = stretches.low[first]
    high = low if stretches.are_points else stretches.high[first]
    return Groups(codes, stretches.keys[first], low, high)


def _values(stretches: StretchTable, part: Part) -> Values:
    """Return the values of a part of stretches.

    The part may be missing only if it is `PAYLOADS`: then the form took all rows, and their number is returned.
    """
    values: Values | None = stretches.parts.get(part)
    if values is None:
        return Dense(COUNTED, stretches.weight.astype(np.int64))
    return values
