"""The rows and states of a bucket's keys, slice by slice."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

from muntin_engine.core.calls import RUNNING
from muntin_engine.core.slice_grid import SliceGrid
from muntin_engine.evaluators.slices.adaptive import Monitor
from muntin_engine.evaluators.slices.entry_writer import EntryWriter
from muntin_engine.evaluators.slices.groups import Blob, Chunk, EntryKind, SliceGroups
from muntin_engine.evaluators.slices.key_names import key_of
from muntin_engine.evaluators.slices.modules import ModuleCallError, SlicedModule, State
from muntin_engine.evaluators.slices.sliced_query import SlicedQuery, is_in_window
from muntin_engine.state.compatibility import SchemaVersion, is_outdated
from muntin_engine.state.log import Entry


class Slice:
    """The keys of one slice. A key has a state of each module, or rows that wait to be added to it, or both.

    Attributes:
        states: By module, the states of keys; all of them know the same keys, in the same order.
        rows: The rows of keys.
        counts: How many rows keys have, waiting or not; kept only if memory decides.
    """

    __slots__ = ("counts", "rows", "states")

    def __init__(self, modules: int) -> None:
        self.states: list[dict[Hashable, State]] = [{} for _ in range(modules)]
        self.rows: dict[Hashable, list[Any]] = {}
        self.counts: dict[Hashable, int] = {}

    @property
    def names(self) -> Iterable[Hashable]:
        """The keys that have rows here."""
        states = self.states[0]
        return chain(states, (name for name in self.rows if name not in states)) if self.rows else states

    def add_states(
        self, modules: Sequence[SlicedModule], names: Sequence[Hashable], columns: Sequence[list[State]]
    ) -> None:
        """Merge states, which become this slice's own."""
        for place, (module, column) in enumerate(zip(modules, columns, strict=True)):
            if place:
                RUNNING.many(module.label, RUNNING.locate)
            if not self.states[place] and len(fresh := dict(zip(names, column, strict=True))) == len(names):
                self.states[place] = fresh
            else:
                module.combine_into(self.states[place], names, column)

    def add_rows(self, names: Sequence[Hashable], groups: Sequence[list[object]], most: int) -> dict[Hashable, None]:
        """Add rows; the lists become this slice's own. Return the keys of these that have more than so many now."""
        if not self.rows and len(fresh := dict(zip(names, groups, strict=True))) == len(names):
            self.rows = fresh
            return {name: None for name, group in fresh.items() if len(group) > most}
        rows, many = self.rows, dict[Hashable, None]()
        for name, group in zip(names, groups, strict=True):
            known = rows.get(name)
            if known is None:
                known = rows[name] = group
            else:
                known += group
            if len(known) > most:
                many[name] = None
        return many

    def take_rows(self, names: Sequence[Hashable] | None = None) -> dict[Hashable, list[object]]:
        """Remove the rows that wait, all or those of some keys, and return them."""
        if names is not None:
            return {name: self.rows.pop(name) for name in names}
        rows, self.rows = self.rows, {}
        return rows

    def count(self, names: Sequence[Hashable], counts: Sequence[int]) -> None:
        """Take note of how many rows came."""
        for name, count in zip(names, counts, strict=True):
            self.counts[name] = self.counts.get(name, 0) + count


class HeldCounts(NamedTuple):
    """The numbers of rows and states that a bucket holds in memory.

    Attributes:
        rows: The number of rows.
        states: The number of states, of any module.
    """

    rows: int
    states: int


class Slices:
    """The slices of a bucket.

    Attributes:
        by_number: The slices that have rows.
    """

    def __init__(self, query: SlicedQuery, monitor: Monitor) -> None:
        self.by_number: dict[int, Slice] = {}
        self._query = query
        self._monitor = monitor

    def numbers(self, grid: SliceGrid, first: int, last: int) -> list[int]:
        """Return the slices from a first up to a last one that are in windows of a specification, in order."""
        return sorted(number for number in self.by_number if first <= number < last and is_in_window(grid, number))

    def merge(self, blob: Blob, first: int, schema_version: SchemaVersion | None = None) -> tuple[int, int]:
        """Merge what a blob says of slices from a first one on; return how many rows that are, and how many others.

        Args:
            blob: The blob.
            first: The first slice.
            schema_version: The schema version of the query that wrote the blob, if it was another one.
        """
        merged = left_out = 0
        for chunk in blob.chunks:
            if chunk.last < first:
                left_out += chunk.rows
                continue
            whole = (
                chunk.decode(self._query.codec)
                if schema_version is None
                else self._upgraded(blob, chunk, schema_version)
            )
            groups = whole if chunk.first >= first else whole.since(first)
            rows = sum(groups.counts)
            merged, left_out = merged + rows, left_out + chunk.rows - rows
            if groups.kind is EntryKind.ROWS:
                self._monitor.saw(chunk.rows, len(chunk.body))
            if groups.kind is not EntryKind.GAPS:
                self._merge(groups, [blob.names[place] for place in groups.places])
        return merged, left_out

    def settle(self, number: int, names: Sequence[Hashable] | None = None) -> None:
        """Add the rows that wait in a slice to states: all, or those of some keys."""
        held = self.by_number[number]
        rows = held.take_rows(names)
        if not rows:
            return
        waiting, flat = list(rows), list(chain.from_iterable(rows.values()))
        bounds = [0, *accumulate(map(len, rows.values()))]
        columns = self._query.columns_of(flat)
        extent = self._query.extent(number)
        for module, states in zip(self._query.modules, held.states, strict=True):
            RUNNING.many(module.label, lambda place: (key_of(waiting[place]), extent))
            before = self._states_before(number, module, states, waiting)
            try:
                after = module.add_groups(before, module.payloads(columns, len(flat)), bounds)
            except ModuleCallError as failure:
                raise failure.located(waiting[failure.place], self._query.extent(number)) from failure.__cause__
            states.update(zip(waiting, after, strict=True))

    def states_of(self, place: int, numbers: Sequence[int], name: Hashable) -> list[State]:
        """Return a module's states of a key in some slices, with the rows that wait; none of these is changed."""
        some = [self.by_number[number] for number in numbers]
        if self._monitor.policy.keeps_rows and any(name in held.rows for held in some):
            return [self._state_of(place, number, name) for number in numbers]
        return [held.states[place][name] for held in some]

    def _state_of(self, place: int, number: int, name: Hashable) -> State:
        held, module = self.by_number[number], self._query.modules[place]
        rows = held.rows.get(name)
        if rows is None:
            return held.states[place][name]
        RUNNING.one(module.label, key_of(name), self._query.extent(number))
        try:
            fresh = module.create_state()
            if name in held.states[place]:
                fresh = module.combine(fresh, held.states[place][name])
            payloads = module.payloads(self._query.columns_of(rows), len(rows))
            (state,) = module.add_groups([fresh], payloads, [0, len(rows)])
        except ModuleCallError as failure:
            raise failure.located(name, self._query.extent(number)) from failure.__cause__
        return state

    def forget(self, first: int) -> None:
        """Drop the slices below a first one."""
        for number in [number for number in self.by_number if number < first]:
            del self.by_number[number]

    def entries(self, first: int) -> list[Entry]:
        """Return the slices from a first one on as entries.

        Raises:
            StateError: A state cannot be stored.
        """
        writer = EntryWriter(self._query)
        for number in sorted(number for number in self.by_number if number >= first):
            held = self.by_number[number]
            states, counts = list(held.states[0]), held.counts
            rows = [len(held.rows.get(name, ())) for name in states] if counts else []
            known = [counts[name] - waiting for name, waiting in zip(states, rows, strict=True)] if counts else None
            columns = [list(column.values()) for column in held.states]
            writer.add(EntryKind.STATES, number, states, known or [1] * len(states), columns)
            groups = list(held.rows.values())
            flat = list(chain.from_iterable(groups))
            writer.add(EntryKind.ROWS, number, list(held.rows), list(map(len, groups)), self._query.columns_of(flat))
        return writer.finish()

    def held(self) -> HeldCounts:
        """Return the numbers of rows and states."""
        every = self.by_number.values()
        rows = sum(len(group) for held in every for group in held.rows.values())
        return HeldCounts(rows, sum(len(states) for held in every for states in held.states))

    def _states_before(
        self, number: int, module: SlicedModule, states: dict[Hashable, State], names: list[Hashable]
    ) -> list[State]:
        """Return the states that rows are added to."""
        absent = [name for name in names if name not in states] if states else names
        try:
            fresh = module.create_states(len(absent))
        except ModuleCallError as failure:
            raise failure.located(absent[failure.place], self._query.extent(number)) from failure.__cause__
        if len(absent) == len(names):
            return fresh
        created = iter(fresh)
        return [states[name] if name in states else next(created) for name in names]

    def _merge(self, groups: SliceGroups, names: Sequence[Hashable]) -> None:
        is_states = groups.kind is EntryKind.STATES
        columns = groups.columns if is_states else [self._rows(groups)]
        start = 0
        for number, size in zip(groups.slices, groups.sizes, strict=True):
            stop = start + size
            self._merge_slice(
                number, is_states, names[start:stop], groups.counts[start:stop], [c[start:stop] for c in columns]
            )
            start = stop

    def _merge_slice(
        self, number: int, is_states: bool, names: Sequence[Hashable], counts: list[int], columns: list[list[Any]]
    ) -> None:
        held = self.by_number.get(number)
        if held is None:
            held = self.by_number[number] = Slice(len(self._query.modules))
        if self._monitor.policy.is_adaptive:
            held.count(names, counts)
        if is_states:
            RUNNING.many(self._query.modules[0].label, lambda place: (key_of(names[place]), self._query.extent(number)))
            try:
                held.add_states(self._query.modules, names, columns)
            except ModuleCallError as failure:
                raise failure.located(names[failure.place], self._query.extent(number)) from failure.__cause__
        else:
            many, eager = held.add_rows(names, columns[0], self._monitor.most_rows), self._monitor.eager
            if many or eager:
                self.settle(number, [name for name in dict.fromkeys(names) if name in many or name in eager])

    def _upgraded(self, blob: Blob, chunk: Chunk, schema_version: SchemaVersion) -> SliceGroups:
        """Return the groups of a chunk that another schema version wrote."""
        codec = self._query.codec
        outdated = {
            place: version
            for place, (module, version) in enumerate(zip(self._query.modules, schema_version.versions, strict=True))
            if chunk.kind == EntryKind.STATES and is_outdated(module.module, version)
        }
        groups = chunk.decode(codec, dict.fromkeys(outdated, codec.reading_fields()))
        for place, version in outdated.items():
            RUNNING.many(
                self._query.modules[place].label,
                lambda at: (key_of(blob.names[groups.places[at]]), self._query.extent(groups.numbers[at])),
            )
            try:
                groups.columns[place] = self._query.modules[place].upgrade(groups.columns[place], version)
            except ModuleCallError as failure:
                name = blob.names[groups.places[failure.place]]
                number = groups.numbers[failure.place]
                raise failure.located(name, self._query.extent(number)) from failure.__cause__
        return groups

    def _rows(self, groups: SliceGroups) -> list[list[Any]]:
        """Return the rows of each group."""
        bounds = groups.bounds
        rows = self._query.rows_of(groups.columns, bounds[-1])
        if groups.counts.count(1) == len(groups.counts):
            return [[row] for row in rows]
        return [rows[start:stop] for start, stop in pairwise(bounds)]
