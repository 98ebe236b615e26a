"""Stretches of the axis as a table: partial states of many keys, each from one place to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from muntin import INFINITY, Component
from muntin.columnar.arrays import BoolArray, IntArray
from muntin_engine.evaluators.arrays.bound_form import PAYLOADS, BoundForm
from muntin_engine.evaluators.arrays.coding import compress, first_places, number, product, reduce_codes
from muntin_engine.evaluators.arrays.values import COUNTED, Dense, Values

STATE: Final = "state"
"""The name of the part that is a module's Python states."""


class Part(NamedTuple):
    """One part of partial states.

    Attributes:
        form: The place of its module among those of the query; -1 of what belongs to none.
        name: The component; `PAYLOADS` for how many payloads the form did not leave out, or `STATE`.
    """

    form: int
    name: str


ROWS: Final = Part(-1, "rows")
"""The part that is the columns of rows, as they came."""

LISTS: Final = Part(-1, "lists")
"""The part that is lists of such rows."""


class Groups(NamedTuple):
    """The groups of stretches that are to be merged into one each.

    Attributes:
        codes: For each stretch the number of its group.
        keys: The key of each group.
        low: Where each group starts.
        high: Where it ends; the very array `low` where each is one place.
    """

    codes: IntArray
    keys: IntArray
    low: IntArray
    high: IntArray


def parts_of(forms: Sequence[BoundForm]) -> dict[Part, Component]:
    """Return the parts of partial states, in a fixed order."""
    found: dict[Part, Component] = {}
    for place, form in enumerate(forms):
        found[Part(place, PAYLOADS)] = COUNTED
        found |= {Part(place, name): component for name, component in form.stored.items()}
    return found


@dataclass(frozen=True, slots=True)
class StretchTable:
    """n stretches of keys, each with the rows on it merged into one partial state.

    Places of the axis are numbers of slices, numbers of windows, or ticks: what the geometry of the query counts. Both
    ends of a stretch belong to it: the one slice of a point, the first and the last window of a range, the ticks of the
    two edges of a session, an event or a window. A stretch is dead when nothing up to its high end is live any more.

    A pair of a key and a stretch may be there more than once. How many payloads a form took is missing where it took
    all rows.

    Attributes:
        keys: n codes of keys.
        low: The first place of each stretch.
        high: The last place; the very array `low` where each stretch is one place.
        weight: How many rows each is made of.
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
        """About how many bytes they take."""
        arrays: list[Any] = [self.keys, self.low, self.weight, *([] if self.are_points else [self.high])]
        return sum(some.nbytes for some in (*arrays, *self.parts.values()))

    def take(self, places: IntArray | slice) -> StretchTable:
        """Return some of them, by places; neighbours, by a slice, without copying numbers."""
        low = self.low[places]
        high = low if self.are_points else self.high[places]
        parts = {part: values.take(places) for part, values in self.parts.items()}
        return StretchTable(self.keys[places], low, high, self.weight[places], parts)

    def where(self, is_wanted: BoolArray) -> StretchTable:
        """Return some of them, or itself if that is all."""
        return self if is_wanted.all() else self.take(np.flatnonzero(is_wanted))

    def alive(self, first: int) -> StretchTable:
        """Return the stretches that reach to a place or beyond it."""
        return self.where(~ends_before(self.high, first))

    def moved(self, low: IntArray, high: IntArray) -> StretchTable:
        """Return them with other ends."""
        return replace(self, low=low, high=high)

    def with_keys(self, keys: IntArray) -> StretchTable:
        """Return them under other codes."""
        return replace(self, keys=keys)

    def payloads(self, form: int) -> IntArray:
        """Return the number of payloads that a form took, for each of them."""
        found = self.parts.get(Part(form, PAYLOADS))
        return self.weight if found is None else found.array

    def reduce(self, groups: Groups) -> StretchTable:
        """Return each group merged."""
        codes, size = groups.codes, len(groups.keys)
        weight = reduce_codes(COUNTED, codes, size, self.weight)
        parts = {part: values.reduce(codes, size) for part, values in self.parts.items()}
        return StretchTable(groups.keys, groups.low, groups.high, weight, parts)


_NO_NUMBERS: Final[IntArray] = np.empty(0, np.int64)

EMPTY: Final = StretchTable(_NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, _NO_NUMBERS, {})
"""No stretches, and no parts."""


def ends_before(places: IntArray, first: int) -> BoolArray:
    """Return for each place whether it lies before a live one; once the stream is closed, all do."""
    is_before: BoolArray = np.ones(len(places), np.bool_) if first == INFINITY else places < first
    return is_before


def concat(batches: Sequence[StretchTable]) -> StretchTable:
    """Return stretches one batch after the other; a batch without any may lack parts."""
    batches = [batch for batch in batches if len(batch)] or batches[:1]
    first, *more = batches
    if not more:
        return first
    keys, low, weight = (
        np.concatenate(some) for some in zip(*((one.keys, one.low, one.weight) for one in batches), strict=True)
    )
    high = low if all(one.are_points for one in batches) else np.concatenate([one.high for one in batches])
    names = {part: None for one in batches for part in one.parts}
    columns = {part: [_values(one, part) for one in batches] for part in names}
    parts = {part: column[0].concat(column[1:]) for part, column in columns.items()}
    return StretchTable(keys, low, high, weight, parts)


def alike(batch: StretchTable) -> Groups:
    """Return the groups of what is of the same key and stretch, in the order of stretches and then of keys."""
    if not len(batch):
        return Groups(batch.keys, batch.keys, batch.low, batch.high)
    places, count = compress(*number(batch.low))
    if not batch.are_points:
        highs, more = compress(*number(batch.high))
        places, count = compress(places * more + highs, product(count, more))
    keys = int(batch.keys.max()) + 1
    codes, size = compress(places * keys + batch.keys, product(count, keys))
    first = first_places(codes, size)
    low = batch.low[first]
    return Groups(codes, batch.keys[first], low, low if batch.are_points else batch.high[first])


def merge_alike(batch: StretchTable) -> StretchTable:
    """Return one partial state per stretch and key, in the order of stretches and then of keys."""
    return batch.reduce(alike(batch))


def _values(batch: StretchTable, part: Part) -> Values:
    """Return the values of a part; how many payloads a form took is missing where it took all rows."""
    found: Values | None = batch.parts.get(part)
    return Dense(COUNTED, batch.weight.astype(np.int64)) if found is None else found
