"""The sessions of a bucket, as Python states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

from muntin import Axis, Window
from muntin.axis import AnyAxis
from muntin.columnar.arrays import IntArray
from muntin_engine.core.calls import RUNNING
from muntin_engine.core.changes import Key
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.errors import StateError
from muntin_engine.evaluators.columnar.coding import first_places, stable_order
from muntin_engine.evaluators.columnar.lifting import NO_KEYS
from muntin_engine.evaluators.fused.fusing import sessions_of
from muntin_engine.evaluators.fused.session_rows import SessionRows, concat_rows, rows_of_blob
from muntin_engine.evaluators.fused.session_store import Opened, SessionStore
from muntin_engine.evaluators.fused.state_sessions import States, StateSessions, concat_states, states_array
from muntin_engine.evaluators.slices.lifting import python_values
from muntin_engine.evaluators.slices.modules import ModuleCallError, SlicedModule, State
from muntin_engine.exchange import shuffle
from muntin_engine.exchange.numbers import codes_array, narrow_table, numbers_of
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import is_outdated
from muntin_engine.state.log import Entry, StoredEntry
from muntin_engine.state.unstorable import find_unstorable, unstorable
from muntin_engine.state.value_columns import ValueColumn

T = TypeVar("T")

ENTRY_BYTES: Final = 2 * 2**20
"""An entry larger than this is cut, if it has several sessions."""

ENTRY_SESSIONS: Final = 1 << 14
"""Most sessions of an entry."""


class ClosedStates(NamedTuple):
    """The results of complete sessions.

    Attributes:
        starts: Where they start.
        ends: Where they end.
        keys: A row of keys for each.
        values: By module, their results.
    """

    starts: IntArray
    ends: IntArray
    keys: pa.Table
    values: list[list[Any]]

    def window_count(self) -> int:
        """Return the number of sessions."""
        return len(self.ends)


class StateSessionStore(SessionStore[SessionRows, StateSessions, ClosedStates]):
    """A store of sessions whose partial states are Python states, several modules to a session.

    Cost: for each module, `create_state` and `add_events` once per session that a batch has rows of; `combine` once
    more where that session was there before; `compute_result` once per session. A few passes over arrays besides, and
    the rows of a batch as Python values.
    """

    def __init__(
        self,
        bindings: Sequence[Binding],
        codec: Codec,
        axis: AnyAxis = Axis.TICKS,
        *,
        at_end: bool,
        values_of: Callable[[pa.Array], list[Any]] = python_values,
    ) -> None:
        """Make an empty store.

        Args:
            bindings: The modules of the query; they see neither times nor windows.
            codec: Knows the records in which states come.
            axis: What ticks measure; only messages depend on it.
            at_end: True if results are points at the ends of sessions, so that one without an end has none.
            values_of: Returns the values of an input column.

        Raises:
            ModuleDefinitionError: A module does not define `combine`.
        """
        super().__init__(at_end=at_end)
        self._modules = tuple(map(SlicedModule, bindings))
        self._codec = codec
        self._axis = axis
        self._values_of = values_of
        self._written_bytes = self._written_sessions = 0

    @property
    def nbytes(self) -> int:
        """About how many bytes the sessions take with their keys: as many as those that were written or read."""
        return len(self._held) * self._written_bytes // max(1, self._written_sessions)

    def _open(self, blob: bytes) -> Opened[SessionRows]:
        keys, rows = rows_of_blob(blob, self._codec)
        codes = self._keys.codes(keys)
        return Opened(codes, rows.with_keys(codes[rows.keys]))

    def _lift(self, rows: Sequence[SessionRows]) -> StateSessions:
        whole = concat_rows(rows)
        found = sessions_of(whole.keys, whole.slices, whole.lasts)
        size = len(found.keys)
        order = pa.array(stable_order(found.codes, size))
        columns = [self._values_of(column.take(order)) for column in whole.inputs]
        bounds = [0, *np.cumsum(np.bincount(found.codes, minlength=size)).tolist()]

        def states(place: int) -> States:
            module = self._modules[place]
            added = module.add_groups(module.create_states(size), module.payloads(columns, len(whole)), bounds)
            return states_array(added, size)

        at = self._place_in(found.keys, found.lows, found.highs)
        return StateSessions(found.lows, found.keys, found.highs, tuple(self._of_each_module(states, at)))

    def _fuse(self, pieces: Sequence[StateSessions]) -> StateSessions:
        if len(pieces) == 1:
            return pieces[0]
        joined = concat_states(pieces)
        found = sessions_of(joined.keys, joined.slices, joined.lasts)
        first = first_places(found.codes, len(found.keys))
        is_more = np.ones(len(joined), np.bool_)
        is_more[first] = False
        more = np.flatnonzero(is_more)
        codes = found.codes[more]

        def states(place: int) -> States:
            column = joined.states[place]
            merged = {code: column[first[code]] for code in np.unique(codes).tolist()}
            self._modules[place].combine_into(merged, codes.tolist(), column[more].tolist())
            fused = column[first]
            fused[list(merged)] = states_array(merged.values(), len(merged))
            return fused

        at = self._place_in(found.keys[codes], found.lows[codes], found.highs[codes])
        return StateSessions(found.lows, found.keys, found.highs, tuple(self._of_each_module(states, at)))

    def _results(self, ended: StateSessions) -> ClosedStates:
        def results(place: int) -> list[Any]:
            return self._modules[place].results(ended.states[place].tolist())

        at = self._place_in(ended.keys, ended.slices, ended.lasts)
        values = self._of_each_module(results, at)
        return ClosedStates(ended.slices, ended.lasts, self._keys.take(ended.keys), values)

    def _entries_of(self, live: StateSessions) -> list[Entry]:
        starts = range(0, len(live), ENTRY_SESSIONS)
        return [entry for start in starts for entry in self._entry(live.slice(start, start + ENTRY_SESSIONS))]

    def _entry(self, some: StateSessions) -> Iterator[Entry]:
        """Yield sessions as an entry, or as several if it were huge."""
        codes, places = np.unique(some.keys, return_inverse=True)
        columns = {"key": codes_array(places, len(codes))}
        table = narrow_table({"start": some.slices, "length": some.lasts - some.slices}, columns)
        packed = [self._pack(place, some) for place in range(len(self._modules))]
        data = self._codec.pack([shuffle.to_blob(self._keys.take(codes)), shuffle.to_blob(table), *packed])
        if len(data) > ENTRY_BYTES and len(some) > 1:
            half = len(some) // 2
            yield from self._entry(some.slice(0, half))
            yield from self._entry(some.slice(half, len(some)))
        else:
            self._saw(data, some)
            yield Entry(int(some.slices.min()), int(some.lasts.max()), data)

    def _pack(self, place: int, some: StateSessions) -> bytes:
        states: list[State] = some.states[place].tolist()
        try:
            return self._codec.pack(ValueColumn(states))
        except StateError as error:
            found = find_unstorable(states, self._codec)
            if found is None:
                raise
            key, window = self._place_in(some.keys, some.slices, some.lasts)(found[0])
            spelled = self._axis.spell_interval(window.start, window.end)
            raise unstorable(self._modules[place].module, "a state", key, spelled, found[1]) from error

    def _read(self, entry: StoredEntry) -> StateSessions:
        key_blob, blob, *packed = self._codec.unpack(entry.data)
        table = shuffle.from_blob(blob)
        numbers = numbers_of(table)
        lows = numbers["start"]
        highs = lows + numbers["length"]
        keys = self._keys.codes(shuffle.from_blob(key_blob))[table.column("key").to_numpy()]

        def states(place: int) -> States:
            module = self._modules[place]
            version = None if entry.schema_version is None else entry.schema_version.versions[place]
            if version is None or not is_outdated(module.module, version):
                return states_array(self._codec.unpack(packed[place]), len(keys))
            old = self._codec.reading_fields().unpack(packed[place])
            return states_array(module.upgrade(old, version), len(keys))

        at = self._place_in(keys, lows, highs)
        read = StateSessions(lows, keys, highs, tuple(self._of_each_module(states, at)))
        self._saw(entry.data, read)
        return read

    def _saw(self, data: bytes, some: StateSessions) -> None:
        """Take note of what sessions take."""
        self._written_bytes += len(data)
        self._written_sessions += len(some)

    def _place_in(self, keys: IntArray, lows: IntArray, highs: IntArray) -> Callable[[int], tuple[Key, Window]]:
        """Return a function that says the key and the extent of a session by its place."""

        def at(place: int) -> tuple[Key, Window]:
            row = self._keys.take(keys[place : place + 1])
            key = tuple(row.column(name)[0].as_py() for name in row.column_names if name != NO_KEYS)
            return key, Window(int(lows[place]), int(highs[place]))

        return at

    def _of_each_module(self, call: Callable[[int], T], at: Callable[[int], tuple[Key, Window]]) -> list[T]:
        """Return the results of calls of each module, by its place; a failure says of which session it is."""
        found: list[T] = []
        for place, module in enumerate(self._modules):
            RUNNING.many(module.label, at)
            try:
                found.append(call(place))
            except ModuleCallError as failure:
                raise failure.located(*at(failure.place)) from failure.__cause__
        return found
