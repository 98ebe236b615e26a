"""Partial states, and rows, of a bucket in a checkpoint, read without the modules of their query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, cast

import numpy as np

from muntin import INFINITY, Component, Merge
from muntin.catalog.named_windows import from_dict
from muntin.columnar.arrays import BoolArray, IntArray
from muntin.windows import WindowKind
from muntin.windows.regular import RegularWindows
from muntin_engine.evaluators.arrays.geometry.sessions_and_snapshots import sessions_of
from muntin_engine.evaluators.arrays.stretches.bound_form import PAYLOADS
from muntin_engine.evaluators.arrays.stretches.component_values import COUNTED
from muntin_engine.evaluators.arrays.stretches.key_table import KeyTable, keys_in
from muntin_engine.evaluators.arrays.stretches.row_values import RowLists
from muntin_engine.evaluators.arrays.stretches.stretch_blobs import from_blob
from muntin_engine.evaluators.arrays.stretches.stretch_table import (
    LISTS,
    LISTS_ALONE,
    Part,
    StretchTable,
    alike,
    concat,
    ends_before,
)
from muntin_engine.plan.chosen_evaluator import Geometry
from muntin_engine.state.bucket_reader import BucketReader, DatedEntry, StateRow, payload_of
from muntin_engine.state.differences import QueryIdentity
from muntin_engine.state.schema_versions import SchemaVersion
from muntin_engine.time.inputs_progress import InputsProgress
from muntin_engine.time.slice_grid import SliceGrid
from muntin_engine.wire.python_values import values_in

_KINDS: Final = {
    Geometry.SLICES: "slice",
    Geometry.RUNS: "slices",
    Geometry.SESSIONS: "session",
    Geometry.SNAPSHOTS: "event",
}
"""What a stretch is called in the rows of a checkpoint, by the geometry of its query."""

_COMPONENTS: Final[Mapping[Merge, Callable[..., Component]]] = {
    Merge.ADD: Component.sum,
    Merge.MULTIPLY: Component.product,
    Merge.MIN: Component.min,
    Merge.MAX: Component.max,
    Merge.BIT_AND: Component.bit_and,
    Merge.BIT_OR: Component.bit_or,
    Merge.MEAN: Component.mean,
    Merge.COLLECT: Component.values,
}
"""Makes a component, by how its values are merged."""


class EntryStretches(NamedTuple):
    """Stretches that one schema version wrote.

    Attributes:
        version: The schema version.
        batches: For each stretch the micro-batch that wrote it.
        stretches: The stretches, whose keys are codes of the bucket.
        states: The states of each module, where stretches hold Python states.
    """

    version: SchemaVersion
    batches: IntArray
    stretches: StretchTable
    states: Sequence[Sequence[Any]] = ()

    def where(self, mask: BoolArray) -> EntryStretches:
        """Select stretches by a mask."""
        places = np.flatnonzero(mask)
        states: list[list[Any]] = []
        for module_states in self.states:
            states.append([module_states[place] for place in places.tolist()])
        return EntryStretches(self.version, self.batches[places], self.stretches.take(places), states)


class StretchReader:
    """The stretches of a bucket in a checkpoint: their places on the axis, and those that are live.

    Attributes:
        bucket: The bucket.
        geometry: The geometry of its query.
    """

    def __init__(self, bucket: BucketReader) -> None:
        """Read the windows of the bucket's query, and how far it has come."""
        self.bucket = bucket
        self.geometry = Geometry(bucket.identity["arrays"]["geometry"])
        self._keys = KeyTable()
        self._grids = _grids_of(bucket.identity)
        watermark = InputsProgress.from_data(bucket.progress).least.watermark
        self._first_live = watermark
        """The first tick, or slice on a grid, that an open window needs."""
        if self._grids:
            first_slices: list[int] = []
            for grid in self._grids:
                first_open = grid.windows.first_open(watermark)
                first_slices.append(grid.first_live(first_open))
            self._first_live = min(first_slices)

    def read(self, parts_of: Callable[[SchemaVersion], Mapping[Part, Component | None]]) -> list[EntryStretches]:
        """Return the live stretches of each log entry.

        The entries of several batches may hold parts of one session: each part then has the start and the end of the
        whole session.

        Args:
            parts_of: Returns the parts to read of the entries that a schema version wrote.
        """
        tables = [self._decode(dated, parts_of(dated.version)) for dated in self.bucket.entries]
        if self.geometry is Geometry.SESSIONS and tables:
            tables = _as_sessions(tables)
        return [table.where(~ends_before(table.stretches.high, self._first_live)) for table in tables]

    def rows(self, table: EntryStretches) -> Iterator[StateRow]:
        """Yield a row for each stretch, in which the caller fills in the module and its value."""
        stretches = table.stretches
        kind = _KINDS[self.geometry]
        keys = keys_in(self._keys.take(stretches.keys))
        lows = stretches.low.tolist()
        highs = stretches.high.tolist()
        weights = stretches.weight.tolist()
        batches = table.batches.tolist()
        for key, low, high, weight, batch in zip(keys, lows, highs, weights, batches, strict=True):
            start, end = self._extent(low, high)
            yield StateRow(kind, key, start, end, value=None, events=weight, batch=batch)

    def _extent(self, low: int, high: int) -> tuple[int, int]:
        """Return the start and the end of a stretch in ticks.

        Args:
            low: The first slice of the stretch; of a session or snapshot its start in ticks.
            high: The last slice of the stretch; of a session or snapshot its end in ticks.
        """
        if not self._grids:
            return low, high  # sessions and snapshots are stretches of ticks
        grid = self._grids[0]  # all grids have the same slices
        start = grid.extent(low).start
        end = INFINITY if high == INFINITY else grid.extent(high).end
        return start, end

    def _decode(self, dated: DatedEntry, parts: Mapping[Part, Component | None]) -> EntryStretches:
        """Return the stretches of an entry, with the parts asked for."""
        keys, entry_stretches, packed_states = from_blob(dated.entry.data, parts)
        # `from_blob` also returns the columns of rows, which nobody asked for here.
        selected_parts = {part: values for part, values in entry_stretches.parts.items() if part in parts}
        # The blob numbers its own keys from 0; here keys are numbered over all entries.
        key_codes = self._keys.codes(keys)[entry_stretches.keys]
        stretches = replace(entry_stretches, keys=key_codes, parts=selected_parts)
        batches = np.full(len(stretches), dated.batch)
        states = [self.bucket.codec.unpack(packed) for packed in packed_states]
        return EntryStretches(dated.version, batches, stretches, states)


def _grids_of(identity: QueryIdentity) -> Sequence[SliceGrid]:
    """Return the slices of a query in a checkpoint; none of sessions and snapshots."""
    # A query has named specifications of windows, or a single one without a name.
    windows = identity["windows"].values() or [identity["window"]]
    regular_windows: list[RegularWindows] = []
    for data in windows:
        window = cast(WindowKind, from_dict(data))  # row windows have another evaluator
        regular = window.grid() or window.growing()  # sessions and snapshots have neither
        if regular is not None:
            regular_windows.append(regular)
    return SliceGrid.shared(regular_windows) if regular_windows else ()


def rows_of_components(bucket: BucketReader) -> Iterator[StateRow]:
    """Yield the components of each module for each key and stretch.

    Components of one stretch in several entries are merged, unless that takes a function of the module.
    """
    reader = StretchReader(bucket)
    # Only entries of one schema version have the same components. Versions have no hash: they are told apart by `id`.
    by_version: dict[int, list[EntryStretches]] = {}
    for table in reader.read(_components):
        by_version.setdefault(id(table.version), []).append(table)
    for tables in by_version.values():
        for table in _merged(reader.geometry, tables):
            yield from _component_rows(reader, table)


def _component_rows(reader: StretchReader, table: EntryStretches) -> Iterator[StateRow]:
    """Yield a row for each stretch and module, with the values of the module's components by their names."""
    version = table.version
    plain_parts = {part: values.plain() for part, values in table.stretches.parts.items()}
    for place, row in enumerate(reader.rows(table)):
        for module_place in range(len(version.modules)):
            components: dict[str, Any] = {}
            for part, values in plain_parts.items():
                if part.form == module_place:
                    components[part.name] = values[place]

            # A module that leaves out rows, such as nulls, has a count of its own; otherwise all rows are its events.
            events = components.pop(PAYLOADS, row.events)
            for name, merge, *_ in version.components[module_place]:
                # The state has the sum in place of a mean. A mean of no events is null.
                if merge == Merge.MEAN and name in components:
                    components[name] = components[name] / events if events else None
            module, module_version = reader.bucket.module(module_place, version)
            yield row._replace(value=components, module=module, version=module_version, events=events)


def rows_of_states(bucket: BucketReader) -> Iterator[StateRow]:
    """Yield the states of modules for each key and stretch.

    A stretch that several entries have a state of has several rows: only its module could merge them.
    """
    reader = StretchReader(bucket)
    for table in reader.read(lambda version: {}):  # no parts: Python states lie beside these
        for place, row in enumerate(reader.rows(table)):
            for module_place, states in enumerate(table.states):
                module, version = bucket.module(module_place, table.version)
                value, count = bucket.state(module_place, table.version, states[place])
                events = row.events if count is None else count  # a module that skips rows counts those that it took
                yield row._replace(value=value, module=module, version=version, events=events)


def rows_of_lists(bucket: BucketReader) -> Iterator[StateRow]:
    """Yield the rows that wait for their windows, one by one."""
    reader = StretchReader(bucket)
    for table in reader.read(lambda version: LISTS_ALONE):  # whatever version wrote the lists
        lists: RowLists = table.stretches.parts[LISTS]
        places = lists.places()
        payload_columns = lists.payload(places, values_in)
        starts, ends, payloads = lists.rows(places, payload_columns)

        # The rows lie stretch by stretch, as many of each as its weight says.
        stretch_places = np.repeat(np.arange(len(lists)), table.stretches.weight).tolist()
        stretch_rows = list(reader.rows(table))
        identity = {"inputs": table.version.inputs}
        for stretch_place, start, end, payload in zip(stretch_places, starts, ends, payloads, strict=True):
            value = payload_of(identity, payload)
            stretch_row = stretch_rows[stretch_place]
            yield stretch_row._replace(kind="event", start=start, end=end, events=1, value=value)


def _components(version: SchemaVersion) -> dict[Part, Component]:
    """Return the component of each part of the stretches that a schema version wrote; see `component_of`."""
    parts: dict[Part, Component] = {}
    for place, components in enumerate(version.components):
        parts[Part(place, PAYLOADS)] = COUNTED
        for name, merge, dtype, shape in components:
            component = component_of(Merge(merge), dtype, tuple(shape))
            if component.is_lifted:  # others, such as counts, are not stored
                parts[Part(place, name)] = component
    return parts


def _merged(geometry: Geometry, tables: Sequence[EntryStretches]) -> Sequence[EntryStretches]:
    """Merge stretches of one key that have the same ends, as the next micro-batch would.

    Tables come back as they are in two cases: the stretches of snapshots are events, which are never merged; and a
    component that is merged by a function of its module cannot be merged here, where the function is missing.

    Args:
        geometry: The geometry of the query.
        tables: The stretches of log entries, all of one schema version.
    """
    version = tables[0].version
    merges: set[Merge] = set()
    for components in version.components:
        for _, merge, *_ in components:
            merges.add(Merge(merge))
    if geometry is Geometry.SNAPSHOTS or Merge.CUSTOM in merges:
        return tables

    stretches = concat([table.stretches for table in tables])
    groups = alike(stretches)
    # A merged stretch is of the last batch that wrote a part of it.
    batches = np.full(len(groups.keys), -1)
    np.maximum.at(batches, groups.codes, np.concatenate([table.batches for table in tables]))
    return [EntryStretches(version, batches, stretches.reduce(groups))]


def _as_sessions(tables: Sequence[EntryStretches]) -> list[EntryStretches]:
    """Extend each stretch to the session that it is part of."""
    # Tables of different schema versions have different parts; without these they can be put together.
    sessions = sessions_of(concat([replace(table.stretches, parts={}) for table in tables]))
    extended: list[EntryStretches] = []
    first = 0  # the place of a table's first stretch among those of all tables
    for table in tables:
        codes = sessions.codes[first : first + len(table.stretches)]
        stretches = table.stretches.moved(sessions.low[codes], sessions.high[codes])
        extended.append(table._replace(stretches=stretches))
        first += len(table.stretches)
    return extended


def component_of(merge: Merge, dtype: str, shape: tuple[int, ...]) -> Component:
    """Make a component from its description in a checkpoint.

    Args:
        merge: The way in which its values are merged.
        dtype: The NumPy type of its values.
        shape: The shape of each value; empty for numbers.
    """
    if merge is Merge.CUSTOM:
        # The module's function is not in the checkpoint. Its values are only read and never merged.
        return Component(merge, dtype, identity=None, shape=shape, function=lambda state, other: state)
    if merge is Merge.COUNT:
        return COUNTED
    component: Callable[..., Component] = _COMPONENTS[merge]
    return component(dtype, shape) if shape else component(dtype)
