"""Batches of Python states as entries of a bucket's log, and rows as the states that modules make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import pyarrow as pa

from muntin import Axis, Window
from muntin.axis import AnyAxis
from muntin.columnar.arrays import IntArray
from muntin_engine.core.calls import RUNNING
from muntin_engine.core.changes import Key
from muntin_engine.core.evaluator_query import Binding
from muntin_engine.errors import StateError
from muntin_engine.evaluators.arrays.coding import distinct, stable_order
from muntin_engine.evaluators.arrays.entries import ENTRY_BYTES, Decoded, Entries
from muntin_engine.evaluators.arrays.fusing import Sessions
from muntin_engine.evaluators.arrays.lifting import NO_KEYS, python_values
from muntin_engine.evaluators.arrays.states import States
from muntin_engine.evaluators.arrays.stretch_table import ROWS, STATE, Part, StretchTable
from muntin_engine.evaluators.arrays.wire import from_blob, to_blob
from muntin_engine.evaluators.slices.modules import ModuleCallError, SlicedModule
from muntin_engine.state.codec import Codec
from muntin_engine.state.compatibility import is_outdated
from muntin_engine.state.log import Entry, StoredEntry
from muntin_engine.state.unstorable import find_unstorable, unstorable
from muntin_engine.state.value_columns import ValueColumn

ENTRY_STATES: Final = 1 << 14
"""Most states of a module in an entry."""


class StateEntries(Entries):
    """Reads and writes Python states, several modules to a stretch.

    Cost: for each module, `create_state` and `add_events` once per session that a batch has rows of; `combine` once
    more where that session was there before; `compute_result` once per session. A few passes over arrays besides, and
    the rows of a batch as Python values.
    """

    def __init__(
        self,
        bindings: Sequence[Binding],
        codec: Codec,
        axis: AnyAxis = Axis.TICKS,
        values_of: Callable[[pa.Array], list[Any]] = python_values,
    ) -> None:
        """Read and write for the modules of a query.

        Args:
            bindings: The modules; they see neither times nor windows.
            codec: Knows the records in which states come.
            axis: What ticks measure; only messages depend on it.
            values_of: Returns the values of an input column.

        Raises:
            ModuleDefinitionError: A module does not define `combine`.
        """
        super().__init__()
        self._modules = tuple(map(SlicedModule, bindings))
        self._codec = codec
        self._axis = axis
        self._values_of = values_of

    def arrived(self, blob: bytes) -> Decoded:
        """Return the rows that the map side sent."""
        return self._coded(*from_blob(blob, {})[:2])

    def lift(self, rows: StretchTable, found: Sessions) -> StretchTable:
        """Return the states of sessions, each with its rows added in one call."""
        size = len(found.keys)
        order = stable_order(found.codes, size)
        of_rows = rows.parts[ROWS].take(order).table if ROWS in rows.parts else pa.table({})
        columns = [self._values_of(column.combine_chunks()) for column in of_rows.columns]
        counts = np.bincount(found.codes, minlength=size)
        bounds = [0, *np.cumsum(counts).tolist()]
        parts, locate = {}, RUNNING.locate
        for place, module in enumerate(self._modules):
            RUNNING.many(module.label, locate)
            states = module.add_groups(module.create_states(size), module.payloads(columns, len(rows)), bounds)
            parts[Part(place, STATE)] = States.of(module, states, size)
        return StretchTable(found.keys, found.lows, found.highs, counts, parts)

    def results(self, ended: StretchTable) -> list[list[Any]]:
        """Return the results of each module; of an operator, the list of rows of each window."""
        with self.located(ended.keys, ended.low, ended.high):
            found, locate = [], RUNNING.locate
            for place, module in enumerate(self._modules):
                RUNNING.many(module.label, locate)
                found.append(module.results(ended.parts[Part(place, STATE)].objects.tolist()))
            return found

    @contextmanager
    def located(self, keys: IntArray, low: IntArray, high: IntArray) -> Iterator[None]:
        """Let a failure, and a watchdog, tell of which session a call is, by its place.

        Raises:
            ModuleFailedError: A module raised an exception.
        """

        def at(place: int) -> tuple[Key, Window]:
            row = self.keys.take(keys[place : place + 1])
            key = tuple(row.column(name)[0].as_py() for name in row.column_names if name != NO_KEYS)
            return key, Window(int(low[place]), int(high[place]))

        RUNNING.locate = at
        try:
            yield
        except ModuleCallError as failure:
            raise failure.located(*at(failure.place)) from failure.__cause__

    def read(self, entry: StoredEntry) -> StretchTable:
        """Return an entry, upgraded if an older schema version wrote it."""
        keys, batch, packed = from_blob(entry.data, {})
        batch = self._coded(keys, batch).batch
        parts: dict[Part, States] = {}
        with self.located(batch.keys, batch.low, batch.high):
            locate = RUNNING.locate
            for place, module in enumerate(self._modules):
                version = None if entry.schema_version is None else entry.schema_version.versions[place]
                if version is None or not is_outdated(module.module, version):
                    states = self._codec.unpack(packed[place])
                else:
                    RUNNING.many(module.label, locate)
                    states = module.upgrade(self._codec.reading_fields().unpack(packed[place]), version)
                parts[Part(place, STATE)] = States.of(module, states, len(batch))
        self._saw(len(entry.data), len(batch))
        return StretchTable(batch.keys, batch.low, batch.high, batch.weight, parts)

    def _written(self, live: StretchTable, packed: Sequence[bytes]) -> Iterator[Entry]:
        assert not packed, "states lie there"
        starts = range(0, len(live), ENTRY_STATES)
        return (entry for start in starts for entry in self._cut(live.take(slice(start, start + ENTRY_STATES))))

    def _cut(self, some: StretchTable) -> Iterator[Entry]:
        """Yield states as an entry, or as several if it were huge."""
        codes, places = distinct(some.keys)
        packed = [self._pack(place, module, some) for place, module in enumerate(self._modules)]
        bare = StretchTable(places, some.low, some.high, some.weight, {})
        data = to_blob(self.keys.take(codes), bare, packed)
        if len(data) > ENTRY_BYTES and len(some) > 1:
            half = len(some) // 2
            yield from self._cut(some.take(slice(0, half)))
            yield from self._cut(some.take(slice(half, len(some))))
        else:
            yield Entry(int(some.low.min()), int(some.high.max()), data)

    def _pack(self, place: int, module: SlicedModule, some: StretchTable) -> bytes:
        states = some.parts[Part(place, STATE)].objects.tolist()
        try:
            return self._codec.pack(ValueColumn(states))
        except StateError as error:
            found = find_unstorable(states, self._codec)
            if found is None:
                raise
            with self.located(some.keys, some.low, some.high):
                assert RUNNING.locate is not None
                key, window = RUNNING.locate(found[0])
            spelled = self._axis.spell_interval(window.start, window.end)
            raise unstorable(module.module, "a state", key, spelled, found[1]) from error
