"""Partial states, and rows, of a stored bucket, read without the modules of their query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

import numpy as np

from muntin import INFINITY, Component, Merge
from muntin.columnar.arrays import BoolArray, IntArray
from muntin.named_windows import from_dict
from muntin.windows import WindowKind
from muntin_engine.evaluators.arrays.geometry.edges import sessions_of
from muntin_engine.evaluators.arrays.stretches.bound_form import PAYLOADS
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable, keys_in
from muntin_engine.evaluators.arrays.stretches.row_values import RowLists
from muntin_engine.evaluators.arrays.stretches.stretch_blobs import from_blob
from muntin_engine.evaluators.arrays.stretches.stretch_table import (
    LISTS,
    Part,
    StretchTable,
    alike,
    concat,
    ends_before,
)
from muntin_engine.plan.choice import Geometry
from muntin_engine.state.compatibility import SchemaVersion
from muntin_engine.state.stored_bucket import HeldRow, StoredBucket, StoredPart, payload_of
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.wire.python_values import values_in

_KINDS: Final = {
    Geometry.SLICES: "slice",
    Geometry.RUNS: "slices",
    Geometry.SESSIONS: "session",
    Geometry.SNAPSHOTS: "event",
}

_MADE_BY: Final[Mapping[Merge, Callable[..., Component]]] = {
    Merge.ADD: Component.sum,
    Merge.MULTIPLY: Component.product,
    Merge.MIN: Component.min,
    Merge.MAX: Component.max,
    Merge.BIT_AND: Component.bit_and,
    Merge.BIT_OR: Component.bit_or,
    Merge.MEAN: Component.mean,
    Merge.COLLECT: Component.values,
}


class Pieces(NamedTuple):
    """Stretches that one schema version wrote.

    Attributes:
        version: The schema version.
        batches: For each stretch the micro-batch that wrote it.
        stretches: The stretches, whose keys are codes of the bucket.
        states: The states of each module, if they lie beside the stretches.
    """

    version: SchemaVersion
    batches: IntArray
    stretches: StretchTable
    states: Sequence[Sequence[Any]] = ()

    def where(self, is_wanted: BoolArray) -> Pieces:
        """Return some of them."""
        places = np.flatnonzero(is_wanted)
        states = [[some[place] for place in places.tolist()] for some in self.states]
        return Pieces(self.version, self.batches[places], self.stretches.take(places), states)


class StoredStretches:
    """The stretches of a bucket: their places on the axis, and those that are live."""

    def __init__(self, stored: StoredBucket) -> None:
        """Read what they are of."""
        self.stored, self.keys = stored, KeyTable()
        named = stored.identity["windows"].values() or [stored.identity["window"]]
        windows = [cast(WindowKind, from_dict(one)) for one in named]  # row windows have another evaluator
        steps = [steps for one in windows if (steps := one.grid() or one.growing()) is not None]
        self.grids = SliceGrid.shared(steps) if steps else ()
        self.geometry = Geometry(stored.identity["arrays"]["geometry"])
        self.watermark = InputsProgress.from_data(stored.tracked).least.watermark
        self.first_live = self.watermark
        if self.grids:
            opened = [grid.windows.first_open(self.watermark) for grid in self.grids]
            self.first_live = min(grid.first_live(first) for grid, first in zip(self.grids, opened, strict=True))

    def read(self, parts_of: Callable[[SchemaVersion], Mapping[Part, Component | None]]) -> list[Pieces]:
        """Return the live stretches of each entry, given the parts that entries have; sessions as far as they reach."""
        found = [self._pieces(part, parts_of(part.version)) for part in self.stored.parts]
        if self.geometry is Geometry.SESSIONS and found:
            found = _as_sessions(found)
        return [pieces.where(~ends_before(pieces.stretches.high, self.first_live)) for pieces in found]

    def extent(self, low: int, high: int) -> tuple[int, int]:
        """Return the start and the end of a stretch, in ticks."""
        if not self.grids:
            return low, high
        return self.grids[0].extent(low).start, self.grids[0].extent(high).end if high < INFINITY else INFINITY

    def rows(self, pieces: Pieces) -> Iterator[HeldRow]:
        """Yield a row for each stretch, which no module has filled in."""
        some, kind = pieces.stretches, _KINDS[self.geometry]
        columns = (some.low.tolist(), some.high.tolist(), some.weight.tolist(), pieces.batches.tolist())
        for key, low, high, weight, batch in zip(keys_in(self.keys.take(some.keys)), *columns, strict=True):
            yield HeldRow(kind, key, *self.extent(low, high), None, events=weight, batch=batch)

    def _pieces(self, part: StoredPart, parts: Mapping[Part, Component | None]) -> Pieces:
        keys, batch, packed = from_blob(part.entry.data, parts)
        named = batch.with_keys(self.keys.codes(keys)[batch.keys])
        bare = replace(named, parts={at: values for at, values in named.parts.items() if at in parts})
        states = [self.stored.codec.unpack(data) for data in packed]
        return Pieces(part.version, np.full(len(bare), part.batch), bare, states)


def rows_of_components(stored: StoredBucket) -> Iterator[HeldRow]:
    """Yield the components that each module keeps of each key and stretch, merged where that needs no module."""
    some = StoredStretches(stored)
    by_version: dict[int, list[Pieces]] = {}
    for pieces in some.read(_components):
        by_version.setdefault(id(pieces.version), []).append(pieces)
    for same in by_version.values():
        for pieces in _merged(some.geometry, same):
            parts = {part: values.plain() for part, values in pieces.stretches.parts.items()}
            means = [{name for name, merge, *_ in some if merge == Merge.MEAN} for some in pieces.version.components]
            for at, row in enumerate(some.rows(pieces)):
                for place in range(len(pieces.version.modules)):
                    module, version = stored.module(place, pieces.version)
                    kept = {part.name: values[at] for part, values in parts.items() if part.form == place}
                    events = kept.pop(PAYLOADS, row.events)
                    for name in means[place] & kept.keys():
                        kept[name] = kept[name] / events if events else None
                    yield row._replace(value=kept, module=module, version=version, events=events)


def rows_of_states(stored: StoredBucket) -> Iterator[HeldRow]:
    """Yield the states that modules keep of each key and stretch, as many as wait to be combined."""
    some = StoredStretches(stored)
    for pieces in some.read(lambda version: {}):
        for at, row in enumerate(some.rows(pieces)):
            for place, states in enumerate(pieces.states):
                module, version = stored.module(place, pieces.version)
                value, counted = stored.state(place, pieces.version, states[at])
                events = row.events if counted is None else counted
                yield row._replace(value=value, module=module, version=version, events=events)


def rows_of_lists(stored: StoredBucket) -> Iterator[HeldRow]:
    """Yield the rows that wait for their windows, one by one."""
    some = StoredStretches(stored)
    for pieces in some.read(lambda version: {LISTS: None}):
        lists: RowLists = pieces.stretches.parts[LISTS]
        places = lists.places()
        starts, ends, payloads = lists.rows(places, lists.payload(places, values_in))
        owners = np.repeat(np.arange(len(lists)), pieces.stretches.weight).tolist()
        given = {"inputs": pieces.version.inputs}
        of_stretches = list(some.rows(pieces))
        for owner, start, end, payload in zip(owners, starts, ends, payloads, strict=True):
            row = of_stretches[owner]._replace(kind="event", start=start, end=end, events=1)
            yield row._replace(value=payload_of(given, payload))


def _components(version: SchemaVersion) -> dict[Part, Component]:
    """Return the parts of what a schema version wrote; functions of a module's own that merge them are not known."""
    found: dict[Part, Component] = {}
    for place, components in enumerate(version.components):
        found[Part(place, PAYLOADS)] = COUNTED
        for name, merge, dtype, shape in components:
            component = component_of(Merge(merge), dtype, tuple(shape))
            if component.is_lifted:
                found[Part(place, name)] = component
    return found


def _merged(geometry: Geometry, pieces: Sequence[Pieces]) -> Sequence[Pieces]:
    """Return the stretches of one schema version as the next micro-batch merges them, unless a module has to do it."""
    version = pieces[0].version
    merges = {Merge(merge) for components in version.components for _, merge, *_ in components}
    if geometry is Geometry.SNAPSHOTS or Merge.CUSTOM in merges:
        return pieces
    joined = concat([one.stretches for one in pieces])
    groups = alike(joined)
    batches = np.full(len(groups.keys), -1)
    np.maximum.at(batches, groups.codes, np.concatenate([one.batches for one in pieces]))
    return [Pieces(version, batches, joined.reduce(groups))]


def _as_sessions(pieces: Sequence[Pieces]) -> list[Pieces]:
    """Return stretches that reach as far as the session that each is part of."""
    sessions = sessions_of(concat([replace(one.stretches, parts={}) for one in pieces]))
    found, first = [], 0
    for one in pieces:
        codes = sessions.codes[first : first + len(one.stretches)]
        found.append(one._replace(stretches=one.stretches.moved(sessions.low[codes], sessions.high[codes])))
        first += len(one.stretches)
    return found


def component_of(merge: Merge, dtype: str, shape: tuple[int, ...]) -> Component:
    """Return a component as a checkpoint describes it; one with a function of its own merges nothing."""
    if merge is Merge.CUSTOM:
        return Component(merge, dtype, None, shape, lambda some, other: some)
    if merge is Merge.COUNT:
        return COUNTED
    return _MADE_BY[merge](dtype, shape) if shape else _MADE_BY[merge](dtype)
